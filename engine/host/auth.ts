/**
 * The auth line: the first line of a TLS connection, id 0, at most 4096 bytes (plugin-wire §10). It is read byte-exactly:
 * what follows its LF goes back to the socket, where the protocol goes on with ids from 1.
 */
import type { Duplex } from 'node:stream';

export const MAX_AUTH_BYTES = 4096;

export interface Claim {
  readonly name: string;
  readonly token: string;
}

export type AuthFault =
  | 'malformed auth request'
  | 'expected auth'
  | 'malformed auth params'
  | 'invalid plugin name'
  | 'auth failed';

export const PLUGIN_NAME = /^[a-zA-Z0-9][a-zA-Z0-9-]{0,63}$/;

/** Shape, method, params, name, in this order; the token is the caller's to check. */
export function parseAuthLine(line: string): Claim | AuthFault {
  const request = /^#(\d{1,20}) ([^ ]*)(?: (.*))?$/s.exec(line);
  if (request === null || BigInt(request[1] ?? '1') !== 0n) return 'malformed auth request';
  if (request[2] !== 'auth') return 'expected auth';
  let params: unknown;
  try {
    params = JSON.parse(request[3] ?? '');
  } catch {
    return 'malformed auth params';
  }
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return 'malformed auth params';
  const [token, name] = [member(params, 'token'), member(params, 'name')];
  if (token === undefined || name === undefined) return 'malformed auth params';
  return PLUGIN_NAME.test(name) ? { name, token } : 'invalid plugin name';
}

/** A text member, its key in any case; absent is '', another kind of value `undefined`. */
function member(params: object, key: string): string | undefined {
  const entries = Object.entries(params) as [string, unknown][];
  const found = entries.find(([name]) => name === key) ?? entries.find(([name]) => name.toLowerCase() === key);
  const value = found?.[1] ?? '';
  return typeof value === 'string' ? value : undefined;
}

/**
 * Reads the line. `undefined` when the stream ends, fails, or shows no LF within the limit. The stream is left paused, its
 * next byte the one after the LF.
 */
export function readAuthLine(stream: Duplex, signal: AbortSignal): Promise<string | 'too-long' | undefined> {
  return new Promise((resolve) => {
    let held: Buffer = Buffer.alloc(0);
    const done = (line: string | undefined, rest?: Buffer): void => {
      stream.off('readable', onReadable);
      stream.off('end', onEnd);
      stream.off('close', onEnd);
      signal.removeEventListener('abort', onEnd);
      if (rest !== undefined && rest.length > 0) stream.unshift(rest);
      resolve(line);
    };
    const onEnd = (): void => done(undefined);
    const onReadable = (): void => {
      for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null) {
        held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
        const end = held.indexOf(0x0a);
        if (end > MAX_AUTH_BYTES || (end < 0 && held.length > MAX_AUTH_BYTES)) {
          done('too-long');
          return;
        }
        if (end >= 0) {
          done(held.toString('utf8', 0, end), held.subarray(end + 1));
          return;
        }
      }
    };
    stream.on('readable', onReadable);
    stream.once('end', onEnd);
    stream.once('close', onEnd);
    signal.addEventListener('abort', onEnd, { once: true });
    if (signal.aborted || stream.destroyed) onEnd();
  });
}
