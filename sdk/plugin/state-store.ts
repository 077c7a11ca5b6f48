/**
 * The engine's state store as a plugin uses it: bytes by key, kept over restarts of the plugin and of the daemon. Keys begin with
 * `meta/`, at most 512 characters of `A-Z a-z 0-9 _ . : / -`; a value is at most 1 MiB (plugin-rpc-types §5.13).
 *
 * Every call rejects with `RpcError`: code `unavailable`, `corrupt`, `read-failed` or `persist-failed` when the store says so,
 * `unknown-method` when the engine has no store.
 */
import { RpcError } from '../rpc/errors.ts';
import type { EngineCalls } from './engine-calls.ts';

const KEY = /^meta\/[A-Za-z0-9_.:/-]{0,507}$/;
/** Octets of a value. */
const MAX_VALUE = 1024 * 1024;

export class StateStore {
  readonly #calls: EngineCalls;

  constructor(calls: EngineCalls) {
    this.#calls = calls;
  }

  /** The value, or `undefined` when there is none. */
  async get(key: string, signal?: AbortSignal): Promise<Uint8Array | undefined> {
    const output = await this.#calls.stateGet(checked(key), signal);
    if (output.status === 'absent') return undefined;
    refuse('get', key, output.status, output.message);
    return Buffer.from(output.data ?? '', 'base64');
  }

  /** The value as UTF-8 text. */
  async getText(key: string, signal?: AbortSignal): Promise<string | undefined> {
    const value = await this.get(key, signal);
    return value === undefined ? undefined : Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8');
  }

  /** Resolves when the value is stored. Text is stored as UTF-8. */
  async put(key: string, value: Uint8Array | string, signal?: AbortSignal): Promise<void> {
    const bytes =
      typeof value === 'string' ? Buffer.from(value, 'utf8') : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    if (bytes.length > MAX_VALUE)
      throw new RpcError('too-large', `a stored value has at most ${MAX_VALUE} bytes, not ${bytes.length}`);
    const output = await this.#calls.statePut(checked(key), bytes.toString('base64'), signal);
    refuse('put', key, output.status, output.message);
  }

  /** Resolves to whether there was such a value. */
  async remove(key: string, signal?: AbortSignal): Promise<boolean> {
    const output = await this.#calls.stateRemove(checked(key), signal);
    if (output.status === 'absent') return false;
    refuse('remove', key, output.status);
    return true;
  }

  /** Keys that begin with the prefix, at most 4096. */
  async list(prefix = 'meta/', signal?: AbortSignal): Promise<readonly string[]> {
    const output = await this.#calls.stateList(checked(prefix), signal);
    if (output.status === 'absent') return [];
    refuse('list', prefix, output.status);
    return output.keys ?? [];
  }

  /** Adds one to a counter, which begins at 0; resolves to what it is then. */
  async increment(key: string, signal?: AbortSignal): Promise<number> {
    const output = await this.#calls.stateIncrement(checked(key), signal);
    refuse('increment', key, output.status);
    return output.value ?? 0;
  }
}

function checked(key: string): string {
  if (!KEY.test(key)) throw new RpcError('invalid-params', `not a key of the state store: ${JSON.stringify(key.slice(0, 64))}`);
  return key;
}

function refuse(what: string, key: string, status: string, message = ''): void {
  if (status !== 'ok') throw new RpcError(status, `state ${what} ${key}: ${message === '' ? status : message}`);
}
