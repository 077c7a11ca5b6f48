/** What an editing session commits to where no daemon runs: a file with its revisions. */
import { basename } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { readRegular } from '../../core/regular-file.ts';
import type {
  CheckResult,
  CommitOptions,
  CommitResult,
  CommitTarget,
  ConfirmResult,
  LoadedConfig,
  PendingCommit,
  RevisionInfo,
} from '../edit/commit-target.ts';
import type { LoadResult } from '../load.ts';
import { prepareCommit } from './commit-file.ts';
import { codeOf } from './safe-write.ts';
import { RevisionStore, versionOf } from './store.ts';

export interface FileTargetOptions {
  readonly path: string;
  /** Reads a text with what its plugins bring. */
  readonly read: (text: string) => Promise<LoadResult>;
  readonly clock: Clock;
  /** Revisions kept. */
  readonly limit?: number | undefined;
}

const NO_DAEMON = 'needs a running daemon: a file alone cannot come back by itself';

export class FileTarget implements CommitTarget {
  readonly name: string;
  readonly #options: FileTargetOptions;

  constructor(options: FileTargetOptions) {
    this.name = basename(options.path);
    this.#options = options;
  }

  async load(): Promise<LoadedConfig> {
    const text = (await this.#text()) ?? '';
    return { text, version: versionOf(text) };
  }

  async check(text: string): Promise<CheckResult> {
    const result = await this.#options.read(text);
    const { warnings } = result;
    return result.ok ? { ok: true, warnings, impact: [], refused: '' } : { ok: false, warnings, faults: result.faults };
  }

  async commit(text: string, options: CommitOptions): Promise<CommitResult> {
    if (options.confirmSeconds !== undefined) return refusal('unsupported', `commit confirmed ${NO_DAEMON}`);
    const { path, clock } = this.#options;
    const checked = await this.check(text);
    if (!checked.ok) return { ok: false, reason: 'invalid', message: 'the configuration is invalid', faults: checked.faults };
    const before = await this.#text();
    if (options.base !== undefined && options.base !== versionOf(before ?? ''))
      return refusal('changed', `${this.name} was changed by somebody else since it was loaded`);
    const version = versionOf(text);
    const { warnings } = checked;
    if (before === text) return { ok: true, saved: undefined, version, warnings, notes: ['nothing has changed'] };
    const store = await this.#store();
    const { author, comment } = options;
    const prepared = await prepareCommit({ configPath: path, store, before, text, author, comment, clock });
    const { number } = await prepared.write();
    const notes = [...prepared.notes, `${this.name} is written, revision ${number}`];
    return { ok: true, saved: prepared.saved, version, warnings, notes };
  }

  async history(): Promise<readonly RevisionInfo[]> {
    const { revisions } = await (await this.#store()).list();
    return revisions.map(({ number, time, author, comment }) => ({ number, time, author, comment }));
  }

  async revision(number: number): Promise<string | undefined> {
    return (await (await this.#store()).read(number))?.text;
  }

  pending(): Promise<PendingCommit | undefined> {
    return Promise.resolve(undefined);
  }

  confirm(): Promise<ConfirmResult> {
    return Promise.resolve({ ok: false, message: 'no commit waits for a confirmation' });
  }

  abort(): Promise<ConfirmResult> {
    return this.confirm();
  }

  #store(): Promise<RevisionStore> {
    return RevisionStore.of(this.#options.path, this.#options.limit);
  }

  async #text(): Promise<string | undefined> {
    try {
      return await readRegular(this.#options.path);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }
}

function refusal(reason: 'changed' | 'unsupported', message: string): CommitResult {
  return { ok: false, reason, message, faults: [] };
}
