/**
 * `peer SEL raw [TYPE] hex|b64 BYTES` (daemon-cli §10): bytes as they are, or the body of a message that gets its header
 * (RFC 4271 §4.1). Nothing is validated but that the result is a length a message can have.
 */
import { CommandError } from '../fault.ts';

const TYPES: Readonly<Record<string, number>> = { open: 1, update: 2, notification: 3, keepalive: 4, 'route-refresh': 5 };
const HEADER_LENGTH = 19;
const MAXIMUM_MESSAGE = 65_535;

export interface RawMessage {
  readonly bytes: Uint8Array;
  /** '' when the bytes are a full message of their own. */
  readonly type: string;
}

/** `column` is where the first word stands, for faults. Throws `CommandError`. */
export function buildRaw(words: readonly string[], column: number): RawMessage {
  const first = words[0]?.toLowerCase() ?? '';
  const typed = Object.hasOwn(TYPES, first);
  const [encoding = '', ...parts] = typed ? words.slice(1) : words;
  const bare = typed && encoding === '' && first === 'keepalive';
  if (!bare && encoding !== 'hex' && encoding !== 'b64') {
    throw new CommandError(
      'argument',
      `expected [open|update|notification|keepalive|route-refresh] hex|b64 BYTES, not "${encoding.slice(0, 32)}"`,
      column,
    );
  }
  const body = bare ? new Uint8Array() : decodeBytes(encoding, parts.join(''), column);
  if (!typed) {
    if (body.length === 0) throw new CommandError('argument', 'no bytes to send', column);
    if (body.length > MAXIMUM_MESSAGE)
      throw new CommandError('argument', `a message has at most ${MAXIMUM_MESSAGE} bytes`, column);
    return { bytes: body, type: '' };
  }
  const length = HEADER_LENGTH + body.length;
  if (length > MAXIMUM_MESSAGE) throw new CommandError('argument', `a message has at most ${MAXIMUM_MESSAGE} bytes`, column);
  const bytes = new Uint8Array(length).fill(0xff, 0, 16);
  const view = new DataView(bytes.buffer);
  view.setUint16(16, length);
  view.setUint8(18, TYPES[first] ?? 0);
  bytes.set(body, HEADER_LENGTH);
  return { bytes, type: first };
}

export function decodeBytes(encoding: string, text: string, column: number): Uint8Array {
  if (encoding === 'hex') {
    if (!/^(?:[0-9a-f]{2})*$/i.test(text)) throw new CommandError('argument', 'invalid hexadecimal', column);
    return Uint8Array.from(Buffer.from(text, 'hex'));
  }
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) throw new CommandError('argument', 'invalid base64', column);
  return Uint8Array.from(Buffer.from(text, 'base64'));
}
