/**
 * What plugins keep over a restart of the daemon (plugin-rpc-types §5.13): small values by key, one folder a plugin below the state
 * directory, one file a value. A file is written beside its place, synced and renamed, so that a crash leaves the old value or the new
 * one; it carries its key and a checksum, so that damage is seen (`corrupt`). File names are hashes of keys: no key can leave the folder.
 *
 * Work of one plugin is done in the order it was asked for, which makes `increment` atomic; plugins do not wait for each other.
 */
import { createHash } from 'node:crypto';
import { open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../core/folders.ts';

export type StateStatus = 'ok' | 'absent' | 'unavailable' | 'corrupt' | 'read-failed' | 'persist-failed';

export interface StateAnswer {
  readonly status: StateStatus;
  readonly message?: string;
}

/** Keys a plugin may have, and bytes of all its values. */
export const MAX_KEYS = 16_384;
export const MAX_TOTAL = 64 << 20;
/** Bytes of one value. */
export const MAX_VALUE = 1 << 20;
/** Keys one `list` answers: the first in order; narrower prefixes give the rest. */
export const MAX_LISTED = 4096;
export const MAX_KEY = 512;

const KEY = /^meta\/[A-Za-z0-9_.:/-]*$/;
const SUFFIX = '.value';
/** First line of a file: this word, the key, the length of the value, its SHA-256. Then the value. */
const MAGIC = 'zest-state-1';
/** Bytes a first line never exceeds. */
const HEAD = 1024;

/** Why the text is no key; undefined when it is one. `prefix`: of a `list`, where `meta/` alone and nothing at all will do. */
export function keyFault(key: string, prefix = false): string | undefined {
  if (prefix && key === '') return undefined;
  if (key.length > MAX_KEY) return `key is longer than ${MAX_KEY} characters`;
  if (!key.startsWith('meta/')) return `key must begin with meta/: "${key.slice(0, 64)}"`;
  if (!KEY.test(key)) return 'key may hold letters, digits and _ . : / - only';
  return key.length === 'meta/'.length && !prefix ? 'key has nothing after meta/' : undefined;
}

export class StateStore {
  readonly #directory: string | undefined;
  readonly #shelves = new Map<string, Shelf>();

  /** `directory`: the daemon's state directory; undefined = there is none, and every call answers `unavailable`. */
  constructor(directory: string | undefined) {
    this.#directory = directory;
  }

  get(plugin: string, key: string): Promise<StateAnswer & { readonly data?: Uint8Array }> {
    return this.#on(plugin, (shelf) => shelf.get(key));
  }

  put(plugin: string, key: string, data: Uint8Array): Promise<StateAnswer> {
    return this.#on(plugin, (shelf) => shelf.put(key, data));
  }

  remove(plugin: string, key: string): Promise<StateAnswer> {
    return this.#on(plugin, (shelf) => shelf.remove(key));
  }

  list(plugin: string, prefix: string): Promise<StateAnswer & { readonly keys?: readonly string[] }> {
    return this.#on(plugin, (shelf) => Promise.resolve(shelf.list(prefix)));
  }

  /** The counter is decimal text, 1 after the first call; text that is no number below 2^53 - 1 is `corrupt`. */
  increment(plugin: string, key: string): Promise<StateAnswer & { readonly value?: number }> {
    return this.#on(plugin, (shelf) => shelf.increment(key));
  }

  #on<T extends StateAnswer>(plugin: string, work: (shelf: Shelf) => Promise<T>): Promise<T | StateAnswer> {
    if (this.#directory === undefined)
      return Promise.resolve({ status: 'unavailable', message: 'the daemon has no state directory' });
    let shelf = this.#shelves.get(plugin);
    if (shelf === undefined) {
      shelf = new Shelf(join(this.#directory, 'plugins', folderName(plugin)));
      this.#shelves.set(plugin, shelf);
    }
    return shelf.inTurn(work);
  }
}

interface Failure {
  readonly ok: false;
  readonly answer: StateAnswer;
}

/** One plugin's folder, and how much each key holds. */
class Shelf {
  readonly #folder: string;
  readonly #sizes = new Map<string, number>();
  #total = 0;
  #read = false;
  #last: Promise<unknown> = Promise.resolve();
  #serial = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  inTurn<T extends StateAnswer>(work: (shelf: Shelf) => Promise<T>): Promise<T | StateAnswer> {
    const turn = this.#last.then(async () => (await this.#open()) ?? (await work(this)));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async get(key: string): Promise<StateAnswer & { readonly data?: Uint8Array }> {
    const found = await this.#load(key);
    return found.ok ? { status: 'ok', data: found.data } : found.answer;
  }

  async put(key: string, data: Uint8Array): Promise<StateAnswer> {
    const before = this.#sizes.get(key);
    if (before === undefined && this.#sizes.size >= MAX_KEYS) return failed(`a plugin keeps at most ${MAX_KEYS} keys`);
    const total = this.#total - (before ?? 0) + data.length;
    if (total > MAX_TOTAL) return failed(`a plugin keeps at most ${MAX_TOTAL} bytes`);
    const path = this.#path(key);
    const beside = `${path}.${process.pid}-${++this.#serial}.tmp`;
    try {
      const file = await open(beside, 'wx', 0o600);
      try {
        await file.writeFile(Buffer.concat([Buffer.from(headOf(key, data)), data]));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(beside, path);
      await syncFolder(this.#folder);
    } catch (error) {
      await unlink(beside).catch(() => undefined);
      return failed(reasonOf(error));
    }
    this.#sizes.set(key, data.length);
    this.#total = total;
    return { status: 'ok' };
  }

  async remove(key: string): Promise<StateAnswer> {
    try {
      await unlink(this.#path(key));
      await syncFolder(this.#folder);
    } catch (error) {
      if (isAbsent(error)) {
        this.#forget(key);
        return { status: 'absent' };
      }
      return failed(reasonOf(error));
    }
    this.#forget(key);
    return { status: 'ok' };
  }

  list(prefix: string): StateAnswer & { readonly keys: readonly string[] } {
    const keys = [...this.#sizes.keys()].filter((key) => key.startsWith(prefix)).sort();
    return { status: 'ok', keys: keys.slice(0, MAX_LISTED) };
  }

  async increment(key: string): Promise<StateAnswer & { readonly value?: number }> {
    const found = await this.#load(key);
    if (!found.ok && found.answer.status !== 'absent') return found.answer;
    const text = found.ok ? Buffer.from(found.data).toString('latin1') : '0';
    const value = /^\d{1,16}$/.test(text) ? Number(text) + 1 : NaN;
    if (!Number.isSafeInteger(value)) return { status: 'corrupt', message: 'the value is no counter' };
    const put = await this.put(key, Buffer.from(String(value)));
    return put.status === 'ok' ? { status: 'ok', value } : put;
  }

  async #load(key: string): Promise<{ readonly ok: true; readonly data: Uint8Array } | Failure> {
    let bytes: Buffer;
    try {
      bytes = await readFile(this.#path(key));
    } catch (error) {
      if (isAbsent(error)) return { ok: false, answer: { status: 'absent' } };
      return { ok: false, answer: { status: 'read-failed', message: reasonOf(error) } };
    }
    const end = bytes.indexOf(10);
    const data = bytes.subarray(end + 1);
    if (end < 0 || bytes.toString('utf8', 0, end + 1) !== headOf(key, data))
      return { ok: false, answer: { status: 'corrupt', message: 'the stored value does not meet its checksum' } };
    return { ok: true, data };
  }

  /** Makes the folder and learns which keys there are. Why not, or undefined; what cannot be opened now may be later. */
  async #open(): Promise<StateAnswer | undefined> {
    if (this.#read) return undefined;
    try {
      makeFolders(this.#folder, 0o700);
      for (const name of await readdir(this.#folder)) await this.#learn(name);
    } catch (error) {
      return { status: 'unavailable', message: reasonOf(error) };
    }
    this.#read = true;
    return undefined;
  }

  async #learn(name: string): Promise<void> {
    const path = join(this.#folder, name);
    // What a write left behind that a crash cut short.
    if (name.endsWith('.tmp')) await unlink(path).catch(() => undefined);
    if (!name.endsWith(SUFFIX)) return;
    const found = await headAt(path);
    if (found === undefined || nameOf(found.key) !== name) return;
    this.#sizes.set(found.key, found.length);
    this.#total += found.length;
  }

  #forget(key: string): void {
    this.#total -= this.#sizes.get(key) ?? 0;
    this.#sizes.delete(key);
  }

  #path(key: string): string {
    return join(this.#folder, nameOf(key));
  }
}

function failed(message: string): StateAnswer {
  return { status: 'persist-failed', message };
}

function headOf(key: string, data: Uint8Array): string {
  return `${MAGIC} ${key} ${data.length} ${createHash('sha256').update(data).digest('hex')}\n`;
}

/** Key and length in a file's first line; undefined when it has none, or cannot be read. */
async function headAt(path: string): Promise<{ readonly key: string; readonly length: number } | undefined> {
  const head = Buffer.alloc(HEAD);
  try {
    const file = await open(path, 'r');
    try {
      await file.read(head, 0, HEAD, 0);
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
  const [magic, key, length] = head.toString('latin1').split(' ', 3);
  if (magic !== MAGIC || key === undefined || keyFault(key) !== undefined || !/^\d{1,7}$/.test(length ?? '')) return undefined;
  return { key, length: Number(length) };
}

function nameOf(key: string): string {
  return createHash('sha256').update(key).digest('hex') + SUFFIX;
}

/** Names of plugins are the operator's: one that is no plain file name gets a hash. */
function folderName(plugin: string): string {
  return /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(plugin) ? plugin : `~${createHash('sha256').update(plugin).digest('hex')}`;
}

/** Makes a rename last over a loss of power. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
