/**
 * `zest doctor [FILE]`: what is wrong, by exit code. A daemon that answers runs its own checks and those of its plugins; without
 * one, or with a FILE, the checks that need none run here.
 */
import { existsSync } from 'node:fs';
import { RpcError, messageOf } from '../../../sdk/rpc/errors.ts';
import { loadConfig } from '../../config/load.ts';
import { ownChecks } from '../../config/own-checks.ts';
import { type DoctorLine, isClean, runDoctor } from '../../core/doctor.ts';
import { systemClock } from '../../core/clock.ts';
import { Connection, NoDaemon } from '../client.ts';
import { visible, visibleJson } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { subcommandOptions, UsageError, type GlobalOptions } from '../options.ts';
import { targetOf, useColour } from '../run-command.ts';
import { isMap, textOf } from '../answers/table.ts';

export const DOCTOR_HELP = `zest doctor [-v] [--json] [FILE] — look for what is wrong

  With a daemon running: its own checks and those its plugins declare. With a FILE, or without a daemon: the machine, the
  configuration, and what the configuration wants of the machine; nothing is changed, and plugins are asked what they declare
  where the configuration holds names that nobody else knows, as zest config validate asks them.

  -v, --verbose    the checks that are not for here as well
  --json           one JSON document: status, checks, errors, warnings, failed, skipped

Exit codes: 0 clean, 1 something was found or a check failed, 2 there is no configuration to look at.
`;

/** A daemon whose plugins all hang says a line every 5 s; more than this is no answer. */
const SILENCE_MS = 60_000;

type Line = Omit<DoctorLine, 'undeclared'> & { readonly undeclared?: boolean };

export async function doctorCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  if (args.includes('--help')) {
    io.stdout.write(DOCTOR_HELP);
    return EXIT.done;
  }
  const { values, positionals } = subcommandOptions(args, { verbose: { type: 'boolean', short: 'v' } } as const);
  const [file, ...more] = positionals;
  if (more.length > 0) throw new UsageError('zest doctor takes one FILE at most');
  const report = new Report(io, options, values.verbose === true);
  try {
    if (file === undefined && (await fromDaemon(io, options, report))) return report.end('daemon', '');
    await locally(file ?? '', io, options, report);
    return report.end('local', file ?? '');
  } catch (error) {
    return report.end('daemon', '', messageOf(error));
  }
}

/** `false` when no daemon answers. */
async function fromDaemon(io: CliIo, options: GlobalOptions, report: Report): Promise<boolean> {
  const target = targetOf(io, options);
  let connection: Connection;
  try {
    connection = await Connection.open(target.path, io.uid);
  } catch (error) {
    if (error instanceof NoDaemon) return false;
    throw error;
  }
  const silence = new AbortController();
  const limit = options.timeout === undefined ? SILENCE_MS : options.timeout * 1000;
  const late = (): void => silence.abort(new RpcError('deadline', `no answer within ${limit / 1000} s`));
  let timer = limit > 0 ? setTimeout(late, limit) : undefined;
  try {
    const reader = connection.run('doctor', AbortSignal.any([silence.signal, io.interrupted]));
    for await (const row of reader) {
      clearTimeout(timer);
      timer = limit > 0 ? setTimeout(late, limit) : undefined;
      if (isMap(row)) report.line(lineOf(row));
    }
    const verdict = await reader.verdict;
    if (verdict.outcome !== 'done') throw new Error(verdict.message === '' ? verdict.outcome : verdict.message);
    return true;
  } finally {
    clearTimeout(timer);
    connection.close();
  }
}

async function locally(file: string, io: CliIo, options: GlobalOptions, report: Report): Promise<void> {
  const checks = ownChecks({
    configPath: file,
    env: io.environment,
    flags: options.socket === undefined ? {} : { 'control.socket': options.socket },
    uid: io.uid,
    clock: systemClock,
    builtins: await io.autoloaded(),
    running: false,
    read: async (text, loading) => {
      const plugins = await io.plugins();
      return loadConfig(text, await plugins.prepare(text, { ...loading, usable: plugins.usable }));
    },
  });
  const hasConfig = file !== '' && existsSync(file);
  const scene = { clock: systemClock, platform: process.platform, hasConfig, signal: io.interrupted };
  for await (const line of runDoctor(checks, scene)) report.line(line);
}

/** The daemon's words are data: what is none of ours is shown as an error. */
function lineOf(row: Readonly<Record<string, unknown>>): Line {
  const statuses = ['ok', 'warning', 'error', 'failed', 'skipped'] as const;
  const status = statuses.find((one) => one === row['status']) ?? 'error';
  const [phase, owner, check, code, message] = ['phase', 'owner', 'check', 'code', 'message'].map((key) => textOf(row[key]));
  return {
    phase: phase as DoctorLine['phase'],
    owner: owner ?? '',
    check: check ?? '',
    status,
    code: code ?? '',
    message: message ?? '',
    ...(row['undeclared'] === true ? { undeclared: true } : {}),
  };
}

const COLOURS: Readonly<Record<string, string>> = { ok: '32', warning: '33', error: '31', failed: '31', skipped: '2' };

class Report {
  readonly #io: CliIo;
  readonly #json: boolean;
  readonly #verbose: boolean;
  readonly #colour: boolean;
  readonly #lines: Line[] = [];
  #phase = '';

  constructor(io: CliIo, options: GlobalOptions, verbose: boolean) {
    this.#io = io;
    this.#json = options.json || options.format === 'json' || options.format === 'json-compact';
    this.#verbose = verbose;
    this.#colour = useColour(io, options);
  }

  line(line: Line): void {
    this.#lines.push(line);
    if (this.#json || (line.status === 'skipped' && !this.#verbose)) return;
    if (line.phase !== this.#phase) {
      this.#phase = line.phase;
      this.#io.stdout.write(`${visible(line.phase)}\n`);
    }
    const status = line.status.padEnd(8);
    const mark = this.#colour ? `\u001b[${COLOURS[line.status] ?? '0'}m${status}\u001b[0m` : status;
    const name = visible(line.owner === 'zest' ? line.check : `${line.owner}/${line.check}`);
    const undeclared = line.undeclared === true ? ' (a code the check does not declare)' : '';
    const code = line.code === '' ? '' : `${line.code}${undeclared}: `;
    this.#io.stdout.write(`  ${mark} ${name.padEnd(24)} ${visible(code + line.message)}`.trimEnd() + '\n');
  }

  end(from: 'daemon' | 'local', file: string, fault?: string): number {
    const count = (status: Line['status']): number => this.#lines.filter((line) => line.status === status).length;
    const [errors, warnings, failed, skipped] = [count('error'), count('warning'), count('failed'), count('skipped')];
    const clean = fault === undefined && isClean(this.#lines);
    const status = clean ? 'clean' : errors + failed > 0 || fault !== undefined ? 'error' : 'warning';
    if (this.#json) {
      const document = {
        status,
        from,
        ...(file === '' ? {} : { file }),
        checks: this.#lines,
        errors,
        warnings,
        failed,
        skipped,
        ...(fault === undefined ? {} : { error: fault }),
      };
      this.#io.stdout.write(`${visibleJson(JSON.stringify(document, null, 2))}\n`);
    } else {
      const ran = new Set(this.#lines.filter((line) => line.status !== 'skipped').map((line) => `${line.owner}/${line.check}`));
      const counted = [
        `${ran.size} checks`,
        ...(errors > 0 ? [`${errors} error${errors === 1 ? '' : 's'}`] : []),
        ...(warnings > 0 ? [`${warnings} warning${warnings === 1 ? '' : 's'}`] : []),
        ...(failed > 0 ? [`${failed} failed`] : []),
        ...(clean ? ['clean'] : []),
      ];
      this.#io.stdout.write(`\n${counted.join(', ')}\n`);
      if (fault !== undefined) this.#io.stderr.write(`error: ${visible(fault)}\n`);
    }
    if (this.#lines.some((line) => line.code === 'doctor-config-missing')) return EXIT.nothing;
    return clean ? EXIT.done : EXIT.failed;
  }
}
