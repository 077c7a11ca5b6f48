/**
 * Faults of a call, and their one form on the wire.
 *
 * A line carries `{"code":"error","message":"<text>"}`: whatever the code was, it is folded into the text in front of a
 * colon. This file alone folds and unfolds; everyone else matches `RpcError.code`.
 */

/** Codes this room raises. A peer's own codes may be any kebab-case word in front of its message. */
export const RPC_CODES = [
  'error',
  'unknown-method',
  'unknown-command',
  'invalid-params',
  'busy',
  'closed',
  'deadline',
  'aborted',
  'queue-full',
  'too-large',
  'unreadable',
] as const;
export type RpcCode = (typeof RPC_CODES)[number];

export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: string;

  constructor(code: RpcCode | (string & {}), message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Codes whose message already says the code, so that nothing is put in front of it. */
const SELF_EVIDENT: ReadonlySet<string> = new Set(['', 'error', 'unknown-method', 'unknown-command', 'invalid-params', 'busy']);

export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message === '' ? error.name : error.message;
  return typeof error === 'string' && error !== '' ? error : 'unknown error';
}

/** The text of an `error` line's `message`. */
export function foldMessage(error: unknown): string {
  const message = messageOf(error);
  if (!(error instanceof RpcError) || SELF_EVIDENT.has(error.code) || message.startsWith(`${error.code}: `)) return message;
  return `${error.code}: ${message}`;
}

/** The payload of an `error` line. */
export function errorPayload(error: unknown): string {
  return JSON.stringify({ code: 'error', message: foldMessage(error) });
}

/** Takes an `error` payload apart: a JSON object, the counted tail of a `nay`, raw text, or nothing at all. */
export function errorFromPayload(payload: Buffer): RpcError {
  const text = payload.toString('utf8');
  if (text === '') return new RpcError('error', '(no message)');
  const object = jsonObject(text);
  if (object !== undefined) {
    const code = member(object, 'code');
    const message = member(object, 'message');
    return unfold(code === '' ? 'error' : code, message === '' ? '(no message)' : message);
  }
  const counted = countedPair(payload);
  if (counted !== undefined)
    return unfold(counted[0] === '' ? 'error' : counted[0], counted[1] === '' ? '(no message)' : counted[1]);
  return unfold('error', text);
}

/** Finds the code that was folded into a message. The message stays whole: it is for people. */
export function unfold(code: string, message: string): RpcError {
  if (code !== 'error') return new RpcError(code, message);
  if (message.startsWith('unknown method: ')) return new RpcError('unknown-method', message);
  if (message.startsWith('unknown command: ')) return new RpcError('unknown-command', message);
  if (/^invalid [a-z-]+ params: /.test(message)) return new RpcError('invalid-params', message);
  const word = /^([a-z]+(?:-[a-z]+)*): /.exec(message)?.[1];
  if (word !== undefined && (RPC_CODES as readonly string[]).includes(word)) return new RpcError(word, message);
  return new RpcError('error', message);
}

/** How a fault reads to a person whose call failed: `rpc error: code: message`. */
export function describeRpcError(error: unknown): string {
  if (!(error instanceof RpcError)) return messageOf(error);
  if (error.code === '' || error.code === 'error' || error.message.startsWith(`${error.code}: `))
    return `rpc error: ${error.message}`;
  return SELF_EVIDENT.has(error.code) ? `rpc error: ${error.message}` : `rpc error: ${error.code}: ${error.message}`;
}

function jsonObject(text: string): Record<string, unknown> | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function member(object: Record<string, unknown>, name: string): string {
  const direct = object[name] ?? Object.entries(object).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof direct === 'string' ? direct : '';
}

function countedPair(bytes: Buffer): readonly [string, string] | undefined {
  const first = countedText(bytes, 0);
  if (first === undefined || bytes[first.end] !== 0x20) return undefined;
  const second = countedText(bytes, first.end + 1);
  return second?.end === bytes.length ? [first.text, second.text] : undefined;
}

/** One TEXT (`digits ":" octets`) at `at`. `undefined` when it is none or is cut short. */
export function countedText(bytes: Buffer, at: number): { readonly text: string; readonly end: number } | undefined {
  let width = 0;
  let i = at;
  for (; i < bytes.length && i - at < 20; i++) {
    const digit = bytes[i]! - 0x30;
    if (digit < 0 || digit > 9) break;
    width = width * 10 + digit;
  }
  if (i === at || bytes[i] !== 0x3a || i + 1 + width > bytes.length) return undefined;
  return { text: bytes.toString('utf8', i + 1, i + 1 + width), end: i + 1 + width };
}
