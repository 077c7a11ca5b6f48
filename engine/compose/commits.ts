/**
 * Commits of the running daemon: a text becomes the configuration in force by one transaction, what was before is kept as a revision,
 * the file is written last. A commit may have to be confirmed: until then the file holds what was before, so that a daemon that ends
 * comes back with it, and a clock runs that brings it back by itself.
 */
import { resolve } from 'node:path';
import type { Report } from '../bgp/port.ts';
import type {
  CheckedText,
  CommitAnswer,
  CommitRequest,
  ConfigControl,
  ConfigHistory,
  ConfigStatus,
} from '../command/config-control.ts';
import type { ConfigFault, ConfigWarning } from '../config/fault.ts';
import type { LoadResult } from '../config/load.ts';
import { printConfig } from '../config/text/print.ts';
import { prepareCommit } from '../config/revisions/commit-file.ts';
import { readMark, removeMark, type PendingMark, writeMark } from '../config/revisions/pending.ts';
import { codeOf } from '../config/revisions/safe-write.ts';
import { RevisionStore, versionOf } from '../config/revisions/store.ts';
import type { RunningConfig } from '../config/running.ts';
import type { Clock, Timer } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { readRegular } from '../core/regular-file.ts';
import { readSettled } from '../core/settled-file.ts';
import type { ConfigInForce } from './config-in-force.ts';
import { type Impact, impactFields, impactLines, impactOf } from './impact.ts';
import type { RouteChanges } from './config-routes.ts';
import { happened, type ReloadOutcome, type Transactions } from './transactions.ts';

export interface CommitParts {
  readonly configs: ConfigInForce;
  /** `undefined`: the configuration came by standard input. */
  readonly configPath: string | undefined;
  readonly limit: () => number;
  readonly transactions: Transactions;
  readonly clock: Clock;
  readonly log: Log;
  readonly report: (report: Report) => void;
  /** Reads a text as the daemon reads its file. */
  readonly read: (text: string) => Promise<LoadResult>;
  /** Names of peers with a session. */
  readonly established: () => Promise<ReadonlySet<string>>;
  readonly preview: (config: RunningConfig) => Promise<readonly RouteChanges[]>;
  /** One reload or commit at a time. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
}

interface Waiting extends PendingMark {
  /** What comes back, and what it was read from. */
  readonly before: RunningConfig;
  timer: Timer | undefined;
  /** When it fires, monotonic ms: the machine's time of day may be set meanwhile. */
  until: number;
}

/** A return that failed is tried again. */
const AGAIN_MS = 10_000;
const WAITING = 'config-unconfirmed';
const EDITED_BY_HAND =
  'the file was edited since the daemon read it, and would be overwritten: zest config diff shows how; zest config commit or zest daemon reload puts it in force first';
const NO_FILE = 'the configuration came by standard input: there is no file to write';

export class Commits implements ConfigControl {
  readonly #parts: CommitParts;
  #waiting: Waiting | undefined;
  /** What put the configuration of this version in force, where a commit did: for whoever began with another one. */
  #lastly = { version: '', what: '' };

  constructor(parts: CommitParts) {
    this.#parts = parts;
  }

  /** Why a reload may not be now; '' when it may. */
  get busy(): string {
    return this.#waiting === undefined ? '' : 'a commit waits for its confirmation: config confirm or config abort';
  }

  text(): { readonly text: string; readonly version: string } {
    const { text } = this.#parts.configs;
    return { text, version: versionOf(text) };
  }

  async check(text: string | undefined): Promise<CheckedText> {
    const { configs } = this.#parts;
    const candidate = text ?? (await this.#file());
    if (candidate === undefined) return invalid([], [], 'there is no configuration file');
    const read = await this.#parts.read(candidate);
    if (!read.ok) return invalid(read.faults, read.warnings, 'the configuration is invalid');
    const impact = await this.#impact(configs.active, read.config);
    const { warnings } = read;
    return { ok: true, warnings, refused: impact.refused, fields: impactFields(impact), lines: impactLines(impact) };
  }

  async revision(number: number): Promise<string | undefined> {
    return (await (await this.#store())?.read(number))?.text;
  }

  async history(): Promise<ConfigHistory> {
    const store = await this.#store();
    const { revisions, faults } = store === undefined ? { revisions: [], faults: [] } : await store.list();
    const { version } = this.text();
    const current = revisions.find((one) => one.version === version)?.number;
    return { revisions, faults, current, folder: store?.folder ?? '' };
  }

  async status(): Promise<ConfigStatus> {
    const { text, version } = this.text();
    const file = await this.#file();
    const waiting = this.#waiting;
    return {
      path: this.#parts.configPath === undefined ? '-' : resolve(this.#parts.configPath),
      version,
      file: file === undefined ? 'missing' : file === text ? 'in force' : 'differs',
      pending: waiting === undefined ? undefined : { ...waiting, secondsLeft: this.#left(waiting) },
    };
  }

  async shown(number: number | undefined): Promise<string | undefined> {
    if (number === undefined) return printConfig(this.#parts.configs.active.syntax, { secrets: false });
    const text = await this.revision(number);
    if (text === undefined) return undefined;
    const read = await this.#parts.read(text);
    if (!read.ok) throw new Error(`revision ${number} does not hold under this version: ${read.faults[0]?.message ?? ''}`);
    return printConfig(read.config.syntax, { secrets: false });
  }

  commit(request: CommitRequest): Promise<CommitAnswer> {
    return this.#parts.inTurn(() => this.#commit(request));
  }

  confirm(): Promise<CommitAnswer> {
    return this.#parts.inTurn(() => this.#confirm());
  }

  abort(by: string): Promise<CommitAnswer> {
    return this.#parts.inTurn(async () => {
      const waiting = this.#waiting;
      if (waiting === undefined) return refusal('refused', 'no commit waits for a confirmation');
      const errors = await this.#giveBack(waiting, `aborted by ${by}`);
      if (errors.length > 0) return refusal('refused', errors.join('; '));
      return {
        ok: true,
        saved: undefined,
        revision: undefined,
        version: this.text().version,
        warnings: [],
        notes: [],
        report: {},
      };
    });
  }

  /** The next start after one that ended with a commit unconfirmed: the file is what it was, which is said. */
  static async heed(configPath: string, text: string, limit: number, clock: Clock, log: Log): Promise<void> {
    try {
      const store = await RevisionStore.of(configPath, limit);
      const found = await readMark(store);
      if (found.kind === 'none') return;
      if (found.kind === 'torn')
        log.warn({ reason: found.reason }, 'the mark of a commit that waited for its confirmation is torn');
      else if (found.mark.text === text)
        log.info({ author: found.mark.author }, 'a commit was confirmed just before the daemon ended');
      else {
        const { author, comment, deadline } = found.mark;
        const { number } = await store.save({ text: found.mark.text, author, comment: unconfirmed(comment), time: clock.wall() });
        log.warn(
          { author, comment, deadline: new Date(deadline).toISOString(), revision: number },
          'a commit was not confirmed before the daemon ended: the configuration before it is in force',
        );
      }
      await removeMark(store);
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the revisions of the configuration cannot be read');
    }
  }

  /** The daemon stops: the mark stays, and the next start heeds it. */
  close(): void {
    this.#waiting?.timer?.cancel();
  }

  async #commit(request: CommitRequest): Promise<CommitAnswer> {
    const { configs, configPath, clock, transactions } = this.#parts;
    if (configPath === undefined) return refusal('unsupported', NO_FILE);
    if (this.#waiting !== undefined) return refusal('pending', this.busy);
    const file = request.text === undefined ? await this.#settled(configPath) : await this.#file();
    const running = this.text();
    const text = request.text ?? file;
    if (text === undefined) return refusal('refused', 'there is no configuration file');
    if (text.trim() === '') return refusal('invalid', 'the configuration is empty');
    if (request.base !== undefined && request.base !== running.version)
      return refusal('changed', `another configuration is in force since this one was loaded${this.#lastOf(running.version)}`);
    if (request.base !== undefined && file !== undefined && file !== running.text) return refusal('refused', EDITED_BY_HAND);
    const read = await this.#parts.read(text);
    if (!read.ok) return { ...refusal('invalid', 'the configuration is invalid'), faults: read.faults };
    const { author, comment, confirmSeconds } = request;
    const { config, warnings } = read;
    if (text === running.text && text === file)
      return {
        ok: true,
        saved: undefined,
        revision: undefined,
        version: running.version,
        warnings,
        notes: ['nothing has changed'],
        report: {},
      };
    configs.note(config, text);
    const store = await RevisionStore.of(configPath, this.#parts.limit());
    // What a commit of the file itself takes the place of is what ran.
    const before = request.text === undefined || file === undefined ? running.text : file;
    const prepared = await prepareCommit({ configPath, store, before, text, author, comment, clock });
    const texts = warnings.map((warning) => warning.message);
    if (confirmSeconds !== undefined) {
      await prepared.discard();
      return await this.#commitForNow(store, config, texts, {
        author,
        comment,
        text,
        confirmSeconds,
        saved: prepared.saved,
        warnings,
      });
    }
    let revision: number | undefined;
    let outcome: ReloadOutcome;
    try {
      outcome = await transactions.run(config, texts, async () => {
        revision = (await prepared.write()).number;
      });
    } finally {
      if (revision === undefined) await prepared.discard();
    }
    if (!outcome.ok) return refusal('refused', outcome.errors.join('; '), outcome.detail);
    const notes = [...prepared.notes, ...(revision === undefined ? ['in force, but the file could not be written'] : [])];
    this.#lastly = { version: versionOf(text), what: `a commit of ${author}` };
    this.#parts.log.info({ revision, author, comment, ...happened(outcome.report) }, 'configuration committed');
    return { ok: true, saved: prepared.saved, revision, version: versionOf(text), warnings, notes, report: outcome.report };
  }

  async #commitForNow(
    store: RevisionStore,
    config: RunningConfig,
    texts: readonly string[],
    commit: {
      readonly author: string;
      readonly comment: string;
      readonly text: string;
      readonly confirmSeconds: number;
      readonly saved: number | undefined;
      readonly warnings: readonly ConfigWarning[];
    },
  ): Promise<CommitAnswer> {
    const { configs, clock, transactions, log, report } = this.#parts;
    const { author, comment, text, confirmSeconds, saved, warnings } = commit;
    const before = configs.active;
    const mark = { deadline: clock.wall() + confirmSeconds * 1000, author, comment, text };
    await writeMark(store, mark);
    const outcome = await transactions.run(config, texts).catch(async (error: unknown) => {
      // Nothing waits: the next start must not be told that something did.
      await removeMark(store).catch(() => undefined);
      throw error;
    });
    if (!outcome.ok) {
      await removeMark(store);
      return refusal('refused', outcome.errors.join('; '), outcome.detail);
    }
    const waiting: Waiting = { ...mark, before, timer: undefined, until: 0 };
    this.#waiting = waiting;
    this.#lastly = { version: versionOf(text), what: `a commit of ${author}` };
    this.#arm(waiting, confirmSeconds * 1000);
    log.warn({ author, comment, seconds: confirmSeconds }, 'configuration committed until it is confirmed');
    const message = `a commit of ${author} comes back at ${new Date(mark.deadline).toISOString()} unless it is confirmed`;
    report({ severity: 'warning', code: WAITING, source: 'config', subject: 'commit', message });
    const notes = [`comes back in ${confirmSeconds} s unless it is confirmed`];
    return { ok: true, saved, revision: undefined, version: versionOf(text), warnings, notes, report: outcome.report };
  }

  #arm(waiting: Waiting, ms: number): void {
    const { clock, inTurn, log } = this.#parts;
    waiting.until = clock.now() + ms;
    waiting.timer = clock.after(ms, () => {
      void inTurn(async () => {
        if (this.#waiting !== waiting) return;
        const errors = await this.#giveBack(waiting, 'not confirmed in time');
        if (errors.length > 0) this.#arm(waiting, AGAIN_MS);
      }).catch((error: unknown) => log.error({ error: messageOf(error) }, 'the configuration before could not be brought back'));
    });
  }

  /** Returns why not. */
  async #giveBack(waiting: Waiting, reason: string): Promise<readonly string[]> {
    const { transactions, log, report, clock } = this.#parts;
    const { author, comment, text } = waiting;
    const outcome = await transactions.run(waiting.before, []);
    if (!outcome.ok) {
      log.error({ errors: outcome.errors, reason }, 'the configuration before could not be brought back');
      report({
        severity: 'error',
        code: 'config-return-failed',
        source: 'config',
        subject: 'commit',
        message: outcome.errors.join('; '),
      });
      return outcome.errors;
    }
    waiting.timer?.cancel();
    this.#waiting = undefined;
    this.#lastly = { version: this.text().version, what: `the commit of ${author} was taken back, ${reason}` };
    report({ severity: 'warning', code: WAITING, source: 'config', subject: 'commit', message: '', clear: true });
    log.warn({ reason, author, comment }, 'the commit is taken back, the configuration before it is in force');
    try {
      const store = await this.#store();
      if (store === undefined) return [];
      await store.save({ text, author, comment: unconfirmed(comment), time: clock.wall() });
      await removeMark(store);
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the commit that was taken back could not be kept');
    }
    return [];
  }

  async #confirm(): Promise<CommitAnswer> {
    const { configPath, clock, log, report } = this.#parts;
    const waiting = this.#waiting;
    if (waiting === undefined || configPath === undefined) return refusal('refused', 'no commit waits for a confirmation');
    const { author, comment, text } = waiting;
    const store = await RevisionStore.of(configPath, this.#parts.limit());
    const prepared = await prepareCommit({ configPath, store, before: await this.#file(), text, author, comment, clock });
    const { number } = await prepared.write();
    waiting.timer?.cancel();
    this.#waiting = undefined;
    report({ severity: 'warning', code: WAITING, source: 'config', subject: 'commit', message: '', clear: true });
    await removeMark(store).catch((error: unknown) => log.warn({ error: messageOf(error) }, 'the mark of the commit stays'));
    log.info({ revision: number, author, comment }, 'the commit is confirmed');
    return {
      ok: true,
      saved: prepared.saved,
      revision: number,
      version: versionOf(text),
      warnings: [],
      notes: prepared.notes,
      report: {},
    };
  }

  async #impact(before: RunningConfig, after: RunningConfig): Promise<Impact> {
    const { transactions, established, preview } = this.#parts;
    const check = await this.#parts.inTurn(() => transactions.check(after));
    // A candidate that is refused already is tried no further.
    const trial = check.ok ? await transactions.tryNew(after, check.diff) : [];
    return impactOf({ before, after, check, routes: await preview(after), trial, up: await established() });
  }

  #lastOf(version: string): string {
    return this.#lastly.version === version ? `: ${this.#lastly.what}` : '';
  }

  #left(waiting: Waiting): number {
    return Math.max(0, Math.ceil((waiting.until - this.#parts.clock.now()) / 1000));
  }

  async #store(): Promise<RevisionStore | undefined> {
    const { configPath, limit } = this.#parts;
    return configPath === undefined ? undefined : await RevisionStore.of(configPath, limit());
  }

  /** The same when nobody is just writing it. */
  async #settled(configPath: string): Promise<string | undefined> {
    const read = await readSettled(configPath, this.#parts.clock);
    return read.ok ? read.text : await this.#file();
  }

  /** What the file holds now. */
  async #file(): Promise<string | undefined> {
    const { configPath } = this.#parts;
    if (configPath === undefined) return undefined;
    try {
      return await readRegular(configPath);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }
}

function invalid(faults: readonly ConfigFault[], warnings: readonly ConfigWarning[], message: string): CheckedText {
  return { ok: false, faults, warnings, message };
}

function refusal(
  reason: (CommitAnswer & { readonly ok: false })['reason'],
  message: string,
  detail?: Readonly<Record<string, unknown>>,
): CommitAnswer & { readonly ok: false } {
  return { ok: false, reason, message, faults: [], detail };
}

function unconfirmed(comment: string): string {
  return comment === '' ? 'not confirmed' : `not confirmed: ${comment}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
