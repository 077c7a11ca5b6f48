/**
 * What plugins declare, asked without starting them (seed, "Query Mode"): an external program in query mode, a module or a built-in
 * by its `describe()`. The answer is the Stage 1 declaration, or why there is none.
 */
import { decodeInput, decodePayload } from '../../../sdk/rpc/decode.ts';
import { messageOf } from '../../../sdk/rpc/errors.ts';
import type { DeclareRegistrationInput } from '../../../yang/generated/methods.ts';
import type { DeclarationOutcome, DeclarationRow } from '../../config/schema/declared.ts';
import type { PluginSettings } from '../../config/settings/plugin-settings.ts';
import type { Clock } from '../../core/clock.ts';
import { nearest } from '../../core/nearest.ts';
import { visible } from '../../core/visible.ts';
import { isModulePath, loadPlugin, moduleUrlOf } from './load-plugin.ts';
import { findBinder, shellCommand } from '../external/parent-death.ts';
import type { BuiltinPlugin } from './plan.ts';
import { askChild, type ChildAnswer, type Identity, queryEnvironment } from '../external/query-child.ts';
import { clamp, quote } from '../quote.ts';
import { policyOf } from '../registry/registration.ts';
import { checkDeclaration } from '../registry/registration-checks.ts';

export interface DeclarationAnswer {
  readonly plugin: string;
  readonly outcome: DeclarationOutcome;
  /** Of `declared` and `declared-none`. */
  readonly declaration: DeclareRegistrationInput | undefined;
  /** Why there is no declaration; or why Stage 1 would refuse the one there is; '' when all is well. */
  readonly reason: string;
}

export interface QueryOptions {
  readonly builtins: readonly BuiltinPlugin[];
  /** Where `run` runs and `use` paths begin. */
  readonly folder: string;
  /** Folder of the daemon's own command. */
  readonly binFolder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Of each plugin (`ze.plugin.query.timeout`). */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** As whom programs run; as the daemon where there is none. */
  readonly identity?: Identity | undefined;
}

export function declarationRow({ plugin, outcome, declaration, reason }: DeclarationAnswer): DeclarationRow {
  return {
    plugin,
    outcome,
    families: (declaration?.families ?? []).map((family) => family.name),
    commands: (declaration?.commands ?? []).map((command) => command.name),
    roots: declaration?.['wants-config'] ?? [],
    schema: declaration?.schema?.module ?? '',
    policy: declaration === undefined ? '' : policyOf(declaration),
    reason,
  };
}

/** Programs that run at the same time. */
const PARALLEL = 8;
const REASON_LENGTH = 300;

/** Asks every plugin; the answers stand in the order of `plugins`. Never rejects. */
export async function queryDeclarations(
  plugins: readonly PluginSettings[],
  options: QueryOptions,
): Promise<readonly DeclarationAnswer[]> {
  const answers = new Array<DeclarationAnswer>(plugins.length);
  const binder = plugins.some(({ run }) => run !== '') ? await findBinder() : undefined;
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < plugins.length; index = next++)
      answers[index] = await queryOne(plugins[index]!, options, binder);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, plugins.length) }, worker));
  return answers;
}

async function queryOne(plugin: PluginSettings, options: QueryOptions, binder: string | undefined): Promise<DeclarationAnswer> {
  if (plugin.run === '') return await queryModule(plugin, options);
  const answer = await askChild({
    command: shellCommand(plugin.run, binder),
    folder: options.folder,
    environment: queryEnvironment(options.environment, options.binFolder),
    clock: options.clock,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
    identity: options.identity,
  });
  return ofChild(plugin.name, answer, options.timeoutMs);
}

function ofChild(plugin: string, answer: ChildAnswer, timeoutMs: number): DeclarationAnswer {
  switch (answer.kind) {
    case 'line':
      try {
        return declared(plugin, decodePayload('ze-plugin-engine:declare-registration', answer.payload));
      } catch (error) {
        return none(plugin, 'no-answer', `its declaration cannot be read: ${clamp(messageOf(error))}`);
      }
    case 'too-long':
      return none(plugin, 'no-answer', 'a line of its output is longer than 16 MiB');
    case 'unstartable':
      return none(plugin, 'unstartable', answer.reason);
    case 'timeout':
      return none(plugin, 'timeout', `nothing within ${timeoutMs / 1000} s${lastLine(answer.stderr)}`);
    case 'ended': {
      const how = answer.signal === undefined ? `exit code ${answer.code ?? 0}` : `ended by ${answer.signal}`;
      // What a shell says when it finds no program, or may not run it.
      if (answer.code === 127 || answer.code === 126) return none(plugin, 'unstartable', `${how}${lastLine(answer.stderr)}`);
      return none(plugin, 'no-answer', `it sent nothing (${how})${lastLine(answer.stderr)}`);
    }
  }
}

async function queryModule(plugin: PluginSettings, options: QueryOptions): Promise<DeclarationAnswer> {
  const { use, name } = plugin;
  const builtin = options.builtins.find((one) => one.name === use);
  if (builtin === undefined && !isModulePath(use)) {
    const near = nearest(
      use,
      options.builtins.map((one) => one.name),
    );
    return none(name, 'unstartable', `no built-in plugin ${quote(use)}${near === undefined ? '' : ` (did you mean "${near}"?)`}`);
  }
  const url = builtin?.moduleUrl ?? moduleUrlOf(use, options.folder);
  const late = none(name, 'timeout', `nothing within ${options.timeoutMs / 1000} s`);
  return await within(options.clock, options.timeoutMs, late, describe(name, url));
}

async function describe(name: string, url: string): Promise<DeclarationAnswer> {
  let definition: Awaited<ReturnType<typeof loadPlugin>>;
  try {
    definition = await loadPlugin(url);
  } catch (error) {
    return none(name, 'unstartable', messageOf(error));
  }
  if (definition.describe === undefined) return none(name, 'no-answer', 'the module does not say what it declares (describe)');
  try {
    // As it would come over the wire: no more than the declaration's own fields, of the right kinds.
    const plain = JSON.parse(JSON.stringify(await definition.describe())) as unknown;
    return declared(name, decodeInput('ze-plugin-engine:declare-registration', plain));
  } catch (error) {
    return none(name, 'no-answer', messageOf(error));
  }
}

function declared(plugin: string, declaration: DeclareRegistrationInput): DeclarationAnswer {
  const something = Object.values(declaration).some((value) =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false && value !== 0 && value !== '',
  );
  const reason = checkDeclaration(plugin, declaration) ?? '';
  return { plugin, outcome: something ? 'declared' : 'declared-none', declaration, reason };
}

function none(plugin: string, outcome: DeclarationOutcome, reason: string): DeclarationAnswer {
  const line = visible(reason.replaceAll(/\s+/g, ' '));
  const short = line.length > REASON_LENGTH ? `${line.slice(0, REASON_LENGTH)}…` : line;
  return { plugin, outcome, declaration: undefined, reason: short };
}

/** The last line of stderr that says something. */
function lastLine(stderr: string): string {
  const line = stderr
    .split('\n')
    .map((one) => one.trim())
    .findLast((one) => one !== '');
  return line === undefined ? '' : `: ${line}`;
}

function within<T>(clock: Clock, ms: number, late: T, work: Promise<T>): Promise<T> {
  return new Promise((resolve) => {
    const timer = clock.after(ms, () => resolve(late));
    void work.then((value) => {
      timer.cancel();
      resolve(value);
    });
  });
}
