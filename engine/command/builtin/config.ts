/** `config …`: check, commit, compare and take back the running configuration (daemon-config §13). */
import { faultText } from '../../config/validate-report.ts';
import type { ConfigFault, ConfigWarning } from '../../config/fault.ts';
import { pluginOf } from '../access.ts';
import type { CheckedText, CommitAnswer, ConfigControl } from '../config-control.ts';
import type { Call, Handler } from '../dispatch.ts';
import { CommandError } from '../fault.ts';

export const configCommands: Readonly<Record<string, Handler>> = {
  'config-show': show,
  'config-text': text,
  'config-check': async (call) => checked(await control(call).check(given(call))),
  'config-diff': diff,
  'config-history': history,
  'config-status': status,
  'config-commit': (call) => commit(call, given(call), undefined),
  'config-commit-confirmed': (call) => commit(call, given(call), call.args.number('seconds')),
  'config-rollback': rollback,
  'config-confirm': async (call) => committed(await control(call).confirm(), 'confirmed'),
  'config-abort': async (call) => committed(await control(call).abort(call.caller.user), 'aborted'),
};

function control({ context }: Call): ConfigControl {
  const { config } = context;
  if (config === undefined) throw new CommandError('failed', 'the daemon is still starting');
  return config;
}

/** The text of the line; `undefined`: the file is meant. */
function given({ args }: Call): string | undefined {
  return args.has('text') ? args.text('text') : undefined;
}

async function show(call: Call): Promise<unknown> {
  const number = call.args.number('revision');
  const shown = await control(call).shown(number);
  if (shown === undefined) throw noRevision(call);
  return { ...(number === undefined ? {} : { revision: number }), config: shown };
}

/** Secrets and all: for editors of the operator, never for a plugin. */
async function text(call: Call): Promise<unknown> {
  if (pluginOf(call.caller) !== undefined) throw new CommandError('denied', 'the text of the configuration is not for plugins');
  const number = call.args.number('revision');
  if (number === undefined) return { ...control(call).text(), declared: call.context.plugins.declared() };
  const found = await control(call).revision(number);
  if (found === undefined) throw noRevision(call);
  return { text: found };
}

/** From what runs to the file, or to a revision. */
async function diff(call: Call): Promise<unknown> {
  const number = call.args.number('revision');
  const other = number === undefined ? given(call) : await control(call).revision(number);
  if (number !== undefined && other === undefined) throw noRevision(call);
  const to = number === undefined ? (other === undefined ? 'file' : 'text') : `revision ${number}`;
  return { from: 'running', to, ...checked(await control(call).check(other)) };
}

async function history(call: Call): Promise<unknown> {
  const { revisions, faults, current, folder } = await control(call).history();
  return {
    revisions: revisions.map(({ number, time, author, comment }) => ({
      revision: number,
      time,
      author,
      comment,
      'in-force': number === current,
    })),
    folder,
    ...(faults.length === 0 ? {} : { unreadable: faults.map(({ file, reason }) => ({ file, reason })) }),
  };
}

async function status(call: Call): Promise<unknown> {
  const { path, version, file, pending } = await control(call).status();
  const waiting = pending && { author: pending.author, comment: pending.comment, 'seconds-left': pending.secondsLeft };
  return { config: path, version, file, ...(waiting === undefined ? {} : { pending: waiting }) };
}

async function commit(call: Call, candidate: string | undefined, confirmSeconds: number | undefined): Promise<unknown> {
  const { args } = call;
  const request = {
    text: candidate,
    base: args.has('base') ? args.text('base') : undefined,
    author: author(call),
    comment: args.text('comment'),
    confirmSeconds,
  };
  return committed(await control(call).commit(request), confirmSeconds === undefined ? 'committed' : 'committed-until-confirmed');
}

async function rollback(call: Call): Promise<unknown> {
  const number = call.args.number('revision') ?? 0;
  const found = await control(call).revision(number);
  if (found === undefined) throw noRevision(call);
  const comment = call.args.has('comment') ? call.args.text('comment') : `rollback to ${number}`;
  const request = { text: found, base: undefined, author: author(call), comment, confirmSeconds: undefined };
  return committed(await control(call).commit(request), 'committed');
}

/** A plugin cannot sign for somebody else. */
function author({ args, caller }: Call): string {
  return pluginOf(caller) === undefined && args.has('author') ? args.text('author') : caller.user;
}

function checked(result: CheckedText): Readonly<Record<string, unknown>> {
  if (!result.ok)
    return { valid: false, error: result.message, errors: result.faults.map(fault), warnings: result.warnings.map(warning) };
  return { valid: true, accepted: result.refused === '', warnings: result.warnings.map(warning), ...result.fields };
}

function committed(answer: CommitAnswer, done: string): unknown {
  if (!answer.ok) {
    const why = answer.faults.map(faultText);
    throw new CommandError('failed', [`${answer.reason}: ${answer.message}`, ...why].join('; '));
  }
  const { saved, revision, version, notes, report } = answer;
  return {
    status: done,
    ...(revision === undefined ? {} : { revision }),
    ...(saved === undefined ? {} : { 'saved-as': saved }),
    version,
    notes,
    ...report,
    warnings: [...new Set([...answer.warnings.map((one) => one.message), ...warningsOf(report)])],
  };
}

function warningsOf(report: Readonly<Record<string, unknown>>): readonly string[] {
  const { warnings } = report;
  return Array.isArray(warnings) ? warnings.map(String) : [];
}

function fault(one: ConfigFault): Readonly<Record<string, unknown>> {
  const { path, line, column, message, expected, hint } = one;
  return {
    line,
    column,
    path,
    message,
    ...(expected === undefined ? {} : { expected }),
    ...(hint === undefined ? {} : { hint }),
  };
}

function warning({ path, line, column, message }: ConfigWarning): Readonly<Record<string, unknown>> {
  return { line, column, path, message };
}

function noRevision({ args }: Call): CommandError {
  return new CommandError('failed', `there is no revision ${args.text('revision')} (config history)`, args.column('revision'));
}
