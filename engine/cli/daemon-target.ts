/** A running daemon as what an editing session commits to: its own `config` commands, asked over the control socket. */
import { basename } from 'node:path';
import type { ConfigFault, ConfigWarning } from '../config/fault.ts';
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
} from '../config/edit/commit-target.ts';
import { messageOf, RpcError } from '../../sdk/rpc/errors.ts';
import { ask } from './client.ts';
import { isMap, textOf } from './table.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A commit asks every plugin; each has its own deadline in the daemon. */
const ANSWER_MS = 300_000;
const REASONS: readonly CommitRefusal[] = ['changed', 'invalid', 'pending', 'refused', 'unsupported'];

export class DaemonTarget implements CommitTarget {
  readonly name: string;
  readonly #socket: string;
  readonly #uid: number;

  constructor(socket: string, uid: number, configPath: string) {
    this.name = configPath === '' || configPath === '-' ? 'the running daemon' : `the running daemon (${basename(configPath)})`;
    this.#socket = socket;
    this.#uid = uid;
  }

  async load(signal?: AbortSignal): Promise<LoadedConfig> {
    const answer = await this.#ask('config text', [], signal);
    return { text: textOf(answer['text']), version: textOf(answer['version']) };
  }

  async check(text: string, signal?: AbortSignal): Promise<CheckResult> {
    const answer = await this.#ask('config check', ['text', text], signal);
    const warnings = listOf(answer['warnings']).map(warningOf);
    if (answer['valid'] === false) {
      const faults = listOf(answer['errors']).map(faultOf);
      const message = textOf(answer['error']);
      return { ok: false, warnings, faults: faults.length > 0 ? faults : [{ path: '', line: 0, column: 0, message }] };
    }
    return { ok: true, warnings, impact: impactOf(answer) };
  }

  async commit(text: string, options: CommitOptions, signal?: AbortSignal): Promise<CommitResult> {
    const { base, comment, author, confirmSeconds } = options;
    const words = ['text', text, 'author', author];
    if (base !== undefined) words.push('base', base);
    if (comment !== '') words.push('comment', comment);
    try {
      const answer =
        confirmSeconds === undefined
          ? await this.#ask('config commit', words, signal)
          : await this.#ask('config commit confirmed', [String(confirmSeconds), ...words], signal);
      const saved = answer['saved-as'];
      const waits = confirmSeconds === undefined ? [] : [`taken back in ${confirmSeconds} s unless confirmed: confirm`];
      return {
        ok: true,
        saved: typeof saved === 'number' ? saved : undefined,
        version: textOf(answer['version']),
        warnings: listOf(answer['warnings']).map(warningOf),
        notes: [...textsOf(answer['notes']), ...impactOf(answer), ...waits],
      };
    } catch (error) {
      if (!(error instanceof RpcError) || error.code === 'closed') throw error;
      const [, reason = 'refused', message = error.message] = /^([a-z]+): ([^]*)$/.exec(error.message) ?? [];
      const known = REASONS.find((one) => one === reason);
      return {
        ok: false,
        reason: known ?? 'refused',
        message: known === undefined ? error.message : message,
        faults: faultsIn(known, message),
      };
    }
  }

  async history(signal?: AbortSignal): Promise<readonly RevisionInfo[]> {
    const answer = await this.#ask('config history', [], signal);
    return listOf(answer['revisions'])
      .filter(isMap)
      .map((one) => ({
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
    const waiting = (await this.#ask('config status', [], signal))['pending'];
    if (!isMap(waiting)) return undefined;
    return {
      secondsLeft: Number(waiting['seconds-left']),
      author: textOf(waiting['author']),
      comment: textOf(waiting['comment']),
    };
  }

  confirm(signal?: AbortSignal): Promise<ConfirmResult> {
    return this.#decide('config confirm', signal);
  }

  abort(signal?: AbortSignal): Promise<ConfirmResult> {
    return this.#decide('config abort', signal);
  }

  async #decide(command: string, signal?: AbortSignal): Promise<ConfirmResult> {
    try {
      await this.#ask(command, [], signal);
      return { ok: true };
    } catch (error) {
      if (!(error instanceof RpcError) || error.code === 'closed') throw error;
      return { ok: false, message: messageOf(error) };
    }
  }

  async #ask(command: string, words: readonly string[], signal?: AbortSignal): Promise<Fields> {
    const deadline = AbortSignal.timeout(ANSWER_MS);
    const data = await ask(
      this.#socket,
      this.#uid,
      command,
      words,
      signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    );
    return isMap(data) ? data : {};
  }
}

function faultsIn(reason: CommitRefusal | undefined, message: string): readonly ConfigFault[] {
  if (reason !== 'invalid') return [];
  return message.split('; ').map((one) => ({ path: '', line: 0, column: 0, message: one }));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function textsOf(value: unknown): readonly string[] {
  return listOf(value).map(textOf);
}

function warningOf(value: unknown): ConfigWarning {
  if (!isMap(value)) return { path: '', line: 0, column: 0, message: textOf(value) };
  return {
    path: textOf(value['path']),
    line: Number(value['line'] ?? 0),
    column: Number(value['column'] ?? 0),
    message: textOf(value['message']),
  };
}

function faultOf(value: unknown): ConfigFault {
  const hint = isMap(value) && value['hint'] !== undefined ? { hint: textOf(value['hint']) } : {};
  return { ...warningOf(value), ...hint };
}

/** The lists of a report, a line each: `peers-reset: edge, core`. */
function impactOf(answer: Fields): readonly string[] {
  const known = new Set([
    'valid',
    'accepted',
    'warnings',
    'status',
    'version',
    'notes',
    'revision',
    'saved-as',
    'errors',
    'error',
  ]);
  return Object.entries(answer).flatMap(([key, value]) => {
    if (known.has(key) || value === '' || value === null || value === undefined || value === 0) return [];
    if (Array.isArray(value)) return value.length === 0 ? [] : [`${key}: ${value.map((one) => summaryOf(one)).join(', ')}`];
    if (isMap(value)) return Object.keys(value).length === 0 ? [] : [`${key}: ${summaryOf(value)}`];
    return [`${key}: ${textOf(value)}`];
  });
}

function summaryOf(value: unknown): string {
  if (!isMap(value)) return textOf(value);
  return Object.values(value)
    .filter((one) => one !== '' && one !== undefined)
    .map((one) => (Array.isArray(one) || isMap(one) ? JSON.stringify(one) : textOf(one)))
    .join(' ');
}
