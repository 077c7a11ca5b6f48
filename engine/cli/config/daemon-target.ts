/** What an editing session commits to where a daemon runs: its configuration in force, over the control socket. */
import { basename } from 'node:path';
import { decodeInput } from '../../../sdk/rpc/decode.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import type {
  CheckResult,
  CommitOptions,
  CommitRefusal,
  CommitResult,
  CommitTarget,
  ConfirmResult,
  LoadedConfig,
  PendingCommit,
  RevisionInfo,
} from '../../config/edit/commit-target.ts';
import type { ConfigFault, ConfigWarning } from '../../config/fault.ts';
import type { DeclaredPlugin } from '../../config/schema/declared.ts';
import { ask } from '../client.ts';
import { isMap } from '../answers/table.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A commit asks every plugin; each has its own deadline in the daemon. */
const ANSWER_MS = 300_000;
const REFUSALS: readonly CommitRefusal[] = ['changed', 'invalid', 'pending', 'refused', 'unsupported'];

/** Every call rejects with `NoDaemon` when nobody answers. */
export class DaemonTarget implements CommitTarget {
  readonly name: string;
  readonly configPath: string;
  /** What its plugins have added to the configuration, as of the last load. */
  declared: readonly DeclaredPlugin[] = [];
  readonly #socket: string;
  readonly #uid: number;

  constructor(socket: string, uid: number, configPath: string) {
    this.name = configPath === '' || configPath === '-' ? 'the running daemon' : `the running daemon (${basename(configPath)})`;
    this.configPath = configPath;
    this.#socket = socket;
    this.#uid = uid;
  }

  async load(signal?: AbortSignal): Promise<LoadedConfig> {
    const { text, version, declared } = await this.#ask('config text', [], signal);
    this.declared = list(declared).flatMap(declaredPlugin);
    return { text: textOf(text), version: textOf(version) };
  }

  async check(text: string, signal?: AbortSignal): Promise<CheckResult> {
    const answer = await this.#ask('config check', ['text', text], signal);
    const warnings = list(answer['warnings']).map(warning);
    if (answer['valid'] !== true) return { ok: false, warnings, faults: list(answer['errors']).map(fault) };
    return { ok: true, warnings, impact: texts(answer['impact']), refused: textOf(answer['refused']) };
  }

  async commit(text: string, options: CommitOptions, signal?: AbortSignal): Promise<CommitResult> {
    const { base, comment, author, confirmSeconds } = options;
    const words = ['text', text, 'author', author, 'comment', comment, ...(base === undefined ? [] : ['base', base])];
    try {
      const answer =
        confirmSeconds === undefined
          ? await this.#ask('config commit', words, signal)
          : await this.#ask('config commit confirmed', [String(confirmSeconds), ...words], signal);
      const saved = answer['saved-as'];
      const warnings = texts(answer['warnings']).map((message): ConfigWarning => ({ line: 0, column: 0, path: '', message }));
      const notes = [...texts(answer['notes']), ...deeds(answer)];
      return {
        ok: true,
        saved: typeof saved === 'number' ? saved : undefined,
        version: textOf(answer['version']),
        warnings,
        notes,
      };
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== 'error') throw error;
      const [word = '', ...rest] = error.message.split(': ');
      const reason = REFUSALS.find((one) => one === word) ?? 'refused';
      const message = reason === word ? rest.join(': ') : error.message;
      if (reason !== 'invalid') return { ok: false, reason, message, faults: [] };
      const checked = await this.check(text, signal);
      return { ok: false, reason, message: 'the configuration is invalid', faults: checked.ok ? [] : checked.faults };
    }
  }

  async history(signal?: AbortSignal): Promise<readonly RevisionInfo[]> {
    const { revisions } = await this.#ask('config history', [], signal);
    return list(revisions).map((one) => ({
      number: Number(one['revision']),
      time: textOf(one['time']),
      author: textOf(one['author']),
      comment: textOf(one['comment']),
    }));
  }

  async revision(number: number, signal?: AbortSignal): Promise<string | undefined> {
    try {
      return textOf((await this.#ask('config text', [String(number)], signal))['text']);
    } catch (error) {
      if (error instanceof RpcError && error.message.includes('there is no revision')) return undefined;
      throw error;
    }
  }

  async pending(signal?: AbortSignal): Promise<PendingCommit | undefined> {
    const { pending } = await this.#ask('config status', [], signal);
    if (!isMap(pending)) return undefined;
    return {
      secondsLeft: Number(pending['seconds-left']),
      author: textOf(pending['author']),
      comment: textOf(pending['comment']),
    };
  }

  confirm(signal?: AbortSignal): Promise<ConfirmResult> {
    return this.#done('config confirm', signal);
  }

  abort(signal?: AbortSignal): Promise<ConfirmResult> {
    return this.#done('config abort', signal);
  }

  async #done(command: string, signal: AbortSignal | undefined): Promise<ConfirmResult> {
    try {
      await this.#ask(command, [], signal);
      return { ok: true };
    } catch (error) {
      if (error instanceof RpcError && error.code === 'error')
        return { ok: false, message: error.message.replace(/^refused: /, '') };
      throw error;
    }
  }

  async #ask(command: string, words: readonly string[], signal?: AbortSignal): Promise<Fields> {
    const deadline = AbortSignal.timeout(ANSWER_MS);
    const until = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    const answer = await ask(this.#socket, this.#uid, command, words, until);
    return isMap(answer) ? answer : {};
  }
}

/** What a commit did, in words. */
export function deeds(answer: Fields): readonly string[] {
  const named = (key: string, says: string): string[] => {
    const names = texts(answer[key]);
    return names.length === 0 ? [] : [`${says}: ${names.join(', ')}`];
  };
  const revision = answer['revision'];
  return [
    ...(typeof revision === 'number' ? [`revision ${revision}`] : []),
    ...named('peers-added', 'peers added'),
    ...named('peers-removed', 'peers removed'),
    ...named('peers-changed', 'peers changed'),
    ...named('peers-reset', 'sessions reset'),
    ...named('peers-refreshed', 'routes asked for again'),
    ...named('peers-to-clear', 'without route refresh, old routes stay until zest peer NAME teardown'),
    ...named('plugins-added', 'plugins started'),
    ...named('plugins-changed', 'plugins started anew'),
    ...named('plugins-stopped', 'plugins stopped'),
  ];
}

/** The daemon's texts as they are: whoever prints them makes them visible. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isMap) : [];
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map((one) => textOf(one)) : [];
}

/** The declaration is checked against the protocol's shape, as if the plugin itself had sent it. */
function declaredPlugin({ plugin, run, use, declaration }: Fields): readonly DeclaredPlugin[] {
  try {
    const { schema, families } = decodeInput('ze-plugin-engine:declare-registration', declaration);
    const said = { ...(schema === undefined ? {} : { schema }), ...(families === undefined ? {} : { families }) };
    return [{ plugin: textOf(plugin), run: textOf(run), use: textOf(use), declaration: said }];
  } catch {
    return [];
  }
}

function warning(one: Fields): ConfigWarning {
  return { line: Number(one['line']), column: Number(one['column']), path: textOf(one['path']), message: textOf(one['message']) };
}

function fault(one: Fields): ConfigFault {
  const { expected, hint } = one;
  return {
    ...warning(one),
    ...(expected === undefined ? {} : { expected: textOf(expected) }),
    ...(hint === undefined ? {} : { hint: textOf(hint) }),
  };
}
