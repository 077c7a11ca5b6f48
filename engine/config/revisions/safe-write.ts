/**
 * A file replaced whole or not at all: written beside its place, synced, renamed over it, the folder synced. Whoever is killed in
 * between leaves the old file or the new one, and at worst a `.tmp` that the next write takes away. Symbolic links are followed, so that
 * the link stays one; mode and owner are kept.
 *
 * In two steps, so that what can fail (a full disk, a folder that may not be written) fails before anything else is done.
 */
import { type FileHandle, link, open, readdir, readlink, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { NoFile } from '../../core/regular-file.ts';

/** A file that does not exist yet: secrets may stand in it. */
const NEW_MODE = 0o600;
const MAXIMUM_LINKS = 32;

export interface StagedFile {
  /** Where it goes, links followed. */
  readonly path: string;
  /** What of the old file could not be kept. */
  readonly notes: readonly string[];
  /** The new text stands from here on, or the old one does and it rejects. */
  commit(): Promise<void>;
  /** The same where no file may be yet: rejects with EEXIST when there is one. */
  commitNew(): Promise<void>;
  /** Takes the unfinished file away; never rejects. */
  discard(): Promise<void>;
}

/** The file behind links; of one that does not exist, where it would be made. Rejects when links lead in a circle. */
export async function realFile(path: string): Promise<string> {
  let at = resolve(path);
  for (let links = 0; links < MAXIMUM_LINKS; links++) {
    try {
      return await realpath(at);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      const target = await readlink(at).catch(() => undefined);
      if (target === undefined) return join(await realpath(dirname(at)), basename(at));
      at = resolve(dirname(at), target);
    }
  }
  throw new Error(`${path}: too many symbolic links`);
}

/** Writes the text beside `path` and syncs it. Rejects with the system's error and leaves nothing behind. */
export async function stageFile(path: string, text: string, mode = NEW_MODE): Promise<StagedFile> {
  const real = await realFile(path);
  const folder = dirname(real);
  const before = await stat(real).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (before?.isFile() === false) throw new Error(`${real} is not a file`);
  await sweep(folder, basename(real));
  const beside = join(folder, temporaryName(basename(real)));
  const notes: string[] = [];
  const file = await open(beside, 'wx', NEW_MODE);
  try {
    try {
      await file.writeFile(text);
      // Last, so that nobody reads it who could not read the old one.
      await keepOwner(file, before, before === undefined ? mode : before.mode & 0o7777, notes);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await unlink(beside).catch(() => undefined);
    throw error;
  }
  const discard = async (): Promise<void> => unlink(beside).catch(() => undefined);
  const placed = async (place: Promise<void>): Promise<void> => {
    try {
      await place;
    } catch (error) {
      await discard();
      throw error;
    }
    await syncFolder(folder);
  };
  return {
    path: real,
    notes,
    commit: () => placed(rename(beside, real)),
    commitNew: () => placed(link(beside, real).then(() => unlink(beside))),
    discard,
  };
}

/** Both steps at once. */
export async function writeSafely(path: string, text: string, mode = NEW_MODE): Promise<readonly string[]> {
  const staged = await stageFile(path, text, mode);
  await staged.commit();
  return staged.notes;
}

/** Makes a rename or an unlink last over a loss of power. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Where owner or group cannot be given to the new file, their rights are not given to others. */
async function keepOwner(
  file: FileHandle,
  before: { readonly uid: number; readonly gid: number } | undefined,
  mode: number,
  notes: string[],
): Promise<void> {
  let kept = mode;
  if (before !== undefined) {
    const own = await file.stat();
    if (own.gid !== before.gid && !(await chowned(file, own.uid, before.gid))) {
      kept &= ~0o070;
      notes.push(`the group ${before.gid} could not be kept`);
    }
    if (own.uid !== before.uid && !(await chowned(file, before.uid, before.gid)))
      notes.push(`the owner ${before.uid} could not be kept`);
  }
  await file.chmod(kept);
}

async function chowned(file: FileHandle, uid: number, gid: number): Promise<boolean> {
  return file.chown(uid, gid).then(
    () => true,
    () => false,
  );
}

let serial = 0;

function temporaryName(name: string): string {
  return `.${name}.${process.pid}-${++serial}.tmp`;
}

/** What writers that are no more left unfinished. */
async function sweep(folder: string, name: string): Promise<void> {
  for (const one of await readdir(folder)) {
    if (!one.startsWith(`.${name}.`)) continue;
    const writer = /^(\d+)-\d+\.tmp$/.exec(one.slice(name.length + 2));
    if (writer === null || isAlive(Number(writer[1]))) continue;
    await unlink(join(folder, one)).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** Why a file could not be read, for people. */
export function unread(error: unknown): string {
  return error instanceof NoFile ? error.reason : `cannot be read (${codeOf(error) ?? String(error)})`;
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}
