/**
 * The revisions of one configuration file, in the folder `<file>.zest/` beside it: one file a revision, `000007.conf`, which is the text
 * with one comment line before it that says number, time, author, comment and checksum. So a revision can be read, compared and run by
 * itself. Numbers rise by one and are never used again; the oldest go when there are more than the limit.
 *
 * A file that is torn, or none of ours, is named and left alone.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readRegular } from '../../core/regular-file.ts';
import { codeOf, realFile, stageFile, syncFolder, unread } from './safe-write.ts';

/** Revisions kept unless the store is told otherwise (`ze.config.revisions`). */
export const DEFAULT_LIMIT = 100;
/** Characters of an author and of a comment that are kept. */
export const MAXIMUM_COMMENT = 1024;
/** Bytes of a first line; a longer one is none of ours. */
const MAXIMUM_HEAD = 16 << 10;

export interface Revision {
  readonly number: number;
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly author: string;
  /** '' when none was given. */
  readonly comment: string;
  /** Of the text: `versionOf`. */
  readonly version: string;
}

export interface NewRevision {
  readonly text: string;
  readonly author: string;
  readonly comment: string;
  /** ms since the epoch */
  readonly time: number;
}

/** A file in the store that cannot be taken for a revision. */
export interface StoreFault {
  readonly file: string;
  readonly reason: string;
}

export interface Listing {
  /** Newest first. */
  readonly revisions: readonly Revision[];
  readonly faults: readonly StoreFault[];
}

const MAGIC = '# zest-revision ';
const NAME = /^(\d{6,9})\.conf$/;
const MAXIMUM_NUMBER = 999_999_999;
/** Files of the store that are no revisions. */
export const PENDING_NAME = 'pending';

/** Equal texts have equal versions. */
export function versionOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export class RevisionStore {
  /** `<file>.zest`, beside the file that links lead to. */
  readonly folder: string;
  readonly limit: number;

  private constructor(folder: string, limit: number) {
    this.folder = folder;
    this.limit = limit;
  }

  /** Touches nothing. Rejects when the file's folder does not exist. */
  static async of(configPath: string, limit = DEFAULT_LIMIT): Promise<RevisionStore> {
    const real = await realFile(configPath);
    return new RevisionStore(join(dirname(real), `${basename(real)}.zest`), Math.max(1, limit));
  }

  /** Makes the folder when it is not there. Rejects with the system's error when revisions could not be kept in it. */
  async prepare(): Promise<void> {
    try {
      await mkdir(this.folder, { mode: 0o700 });
      await syncFolder(dirname(this.folder));
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }

  /** Never rejects for what is in the store; no store is an empty one. */
  async list(): Promise<Listing> {
    const revisions: Revision[] = [];
    const faults: StoreFault[] = [];
    for (const name of await this.#names()) {
      if (isOurs(name)) continue;
      const number = numberOf(name);
      const found: Found =
        number === undefined ? { ok: false, reason: 'not a revision' } : await readRevision(join(this.folder, name));
      if (found.ok && found.revision.number === number) revisions.push(found.revision);
      else faults.push({ file: name, reason: found.ok ? `says it is revision ${found.revision.number}` : found.reason });
    }
    revisions.sort((a, b) => b.number - a.number);
    return { revisions, faults };
  }

  /** `undefined`: there is none of that number, or it is torn. */
  async read(number: number): Promise<(Revision & { readonly text: string }) | undefined> {
    const found = await readRevision(join(this.folder, nameOf(number)));
    return found.ok && found.revision.number === number ? { ...found.revision, text: found.text } : undefined;
  }

  /** The newest that holds this text. */
  async holding(text: string): Promise<Revision | undefined> {
    const version = versionOf(text);
    return (await this.list()).revisions.find((one) => one.version === version);
  }

  /** Keeps a text; the oldest go. Rejects with the system's error, and has kept nothing then. */
  async save(revision: NewRevision): Promise<Revision> {
    await this.prepare();
    for (;;) {
      const names = await this.#names();
      const number = 1 + names.reduce((most, name) => Math.max(most, numberOf(name) ?? 0), 0);
      if (number > MAXIMUM_NUMBER)
        throw new Error(`no number is left for a revision: ${nameOf(MAXIMUM_NUMBER)} stands in ${this.folder}`);
      const kept: Revision = {
        number,
        time: new Date(revision.time).toISOString(),
        author: clip(revision.author),
        comment: clip(revision.comment),
        version: versionOf(revision.text),
      };
      const staged = await stageFile(join(this.folder, nameOf(number)), fileText(kept, revision.text));
      try {
        await staged.commitNew();
      } catch (error) {
        // Somebody else has kept a revision meanwhile.
        if (codeOf(error) === 'EEXIST') continue;
        throw error;
      }
      await this.#rotate([...names, nameOf(number)]);
      return kept;
    }
  }

  /** Takes a revision out again that never came into force. */
  async forget(number: number): Promise<void> {
    await unlink(join(this.folder, nameOf(number))).catch(() => undefined);
  }

  /** What is beyond the limit goes, oldest first, torn ones among them; what is none of ours stays. */
  async #rotate(names: readonly string[]): Promise<void> {
    const numbers = names.flatMap((name) => numberOf(name) ?? []).sort((a, b) => b - a);
    for (const number of numbers.slice(this.limit)) await unlink(join(this.folder, nameOf(number))).catch(() => undefined);
  }

  async #names(): Promise<readonly string[]> {
    try {
      return await readdir(this.folder);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }
}

type Found =
  | { readonly ok: true; readonly revision: Revision; readonly text: string }
  | { readonly ok: false; readonly reason: string };

async function readRevision(path: string): Promise<Found> {
  let content: string;
  try {
    content = await readRegular(path);
  } catch (error) {
    return { ok: false, reason: unread(error) };
  }
  const end = content.indexOf('\n');
  if (end < 0 || end > MAXIMUM_HEAD || !content.startsWith(MAGIC))
    return { ok: false, reason: 'has no first line of a revision' };
  const revision = revisionOf(content.slice(MAGIC.length, end));
  if (revision === undefined) return { ok: false, reason: 'its first line cannot be read' };
  const text = content.slice(end + 1);
  return versionOf(text) === revision.version
    ? { ok: true, revision, text }
    : { ok: false, reason: 'its text does not meet its checksum' };
}

function revisionOf(json: string): Revision | undefined {
  try {
    const value = JSON.parse(json) as Readonly<Record<string, unknown>> | null;
    const { number, time, author, comment, sha256 } = value ?? {};
    if (typeof number !== 'number' || !Number.isSafeInteger(number)) return undefined;
    const texts = [time, author, comment, sha256];
    if (!texts.every((one) => typeof one === 'string')) return undefined;
    return { number, time: time as string, author: author as string, comment: comment as string, version: sha256 as string };
  } catch {
    return undefined;
  }
}

function fileText({ version, ...rest }: Revision, text: string): string {
  return `${MAGIC}${JSON.stringify({ ...rest, sha256: version })}\n${text}`;
}

function nameOf(number: number): string {
  return `${String(number).padStart(6, '0')}.conf`;
}

function numberOf(name: string): number | undefined {
  const match = NAME.exec(name);
  return match === null ? undefined : Number(match[1]);
}

function isOurs(name: string): boolean {
  return name === PENDING_NAME || (name.startsWith('.') && name.endsWith('.tmp'));
}

function clip(text: string): string {
  return text.slice(0, MAXIMUM_COMMENT);
}
