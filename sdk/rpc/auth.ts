/** The line that opens a connect-back link: `#0 auth {"token","name"}`, answered `#0 ok` or `#0 error …` and a close. */
import type { Duplex } from 'node:stream';
import { errorPayload, messageOf, RpcError } from './errors.ts';
import { parseLine } from './frame.ts';

/** Bytes of the auth line, and of its answer, LF excluded. */
export const AUTH_LINE_LIMIT = 4096;
export const PLUGIN_NAME = /^[a-zA-Z0-9][a-zA-Z0-9-]{0,63}$/;
export const AUTH_OK = '#0 ok\n';

export function authLine(token: string, name: string): string {
  return `#0 auth ${JSON.stringify({ token, name })}\n`;
}

export function authError(message: string): string {
  return `#0 error ${errorPayload(new RpcError('error', message))}\n`;
}

export type AuthClaim =
  | { readonly ok: true; readonly token: string; readonly name: string }
  | { readonly ok: false; readonly fault: string };

/** Reads the claim; the token is for the caller to compare. Checks in order: line, method, params, name. */
export function parseAuth(line: Buffer): AuthClaim {
  const request = parseLine(line);
  if (request.kind !== 'request' || request.id !== '0') return { ok: false, fault: 'malformed auth request' };
  if (request.method !== 'auth') return { ok: false, fault: 'expected auth' };
  const params = claimParams(request.payload.toString('utf8'));
  if (params === undefined) return { ok: false, fault: 'malformed auth params' };
  if (!PLUGIN_NAME.test(params.name)) return { ok: false, fault: 'invalid plugin name' };
  return { ok: true, ...params };
}

function claimParams(text: string): { readonly token: string; readonly name: string } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const members = new Map(Object.entries(value as Record<string, unknown>).map(([key, member]) => [key.toLowerCase(), member]));
  const token = members.get('token') ?? '';
  const name = members.get('name') ?? '';
  return typeof token === 'string' && typeof name === 'string' ? { token, name } : undefined;
}

/**
 * Takes one line off a stream and nothing behind it: what came with it is put back for the protocol that follows.
 * Rejects with RpcError: `too-large`, `deadline`, `closed`.
 */
export function readFirstLine(stream: Duplex, limitBytes: number, deadlineMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let held = Buffer.alloc(0);
    const finish = (error: RpcError | undefined, line?: Buffer): void => {
      clearTimeout(timer);
      stream.off('readable', onReadable);
      stream.off('end', onEnd);
      stream.off('close', onEnd);
      stream.off('error', onError);
      if (line === undefined) reject(error ?? new RpcError('closed', 'connection closed'));
      else resolve(line);
    };
    const onReadable = (): void => {
      for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null) {
        held = Buffer.concat([held, chunk]);
        const lf = held.indexOf(0x0a);
        if (lf > limitBytes || (lf < 0 && held.length > limitBytes)) {
          finish(new RpcError('too-large', `first line exceeds ${limitBytes} bytes`));
          return;
        }
        if (lf >= 0) {
          const rest = held.subarray(lf + 1);
          if (rest.length > 0) stream.unshift(rest);
          finish(undefined, held.subarray(0, lf));
          return;
        }
      }
    };
    const onEnd = (): void => finish(new RpcError('closed', 'connection closed before its first line'));
    const onError = (error: Error): void => finish(new RpcError('closed', messageOf(error), { cause: error }));
    const timer = setTimeout(() => finish(new RpcError('deadline', `no line within ${deadlineMs} ms`)), deadlineMs);
    stream.on('readable', onReadable);
    stream.on('end', onEnd);
    stream.on('close', onEnd);
    stream.on('error', onError);
  });
}
