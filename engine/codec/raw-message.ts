/** `raw [TYPE] hex|b64 BYTES` (daemon-cli §10): bytes sent as they are, or with a header in front. Nothing is judged. */
import {
  HEADER_LENGTH,
  KEEPALIVE,
  MAX_EXTENDED_MESSAGE,
  NOTIFICATION,
  OPEN,
  ROUTE_REFRESH,
  UPDATE,
  writeHeader,
} from '../../sdk/wire/message.ts';
import { CommandScan, shown } from './command-scan.ts';
import type { Parsed } from './fault.ts';
import { refuse } from './fault.ts';
import { wordBytes } from './update-wire.ts';

export interface RawMessage {
  /** undefined: the bytes are a full packet. */
  readonly type: string | undefined;
  readonly bytes: Uint8Array;
}

const TYPES: ReadonlyMap<string, number> = new Map([
  ['open', OPEN],
  ['update', UPDATE],
  ['notification', NOTIFICATION],
  ['keepalive', KEEPALIVE],
  ['route-refresh', ROUTE_REFRESH],
]);

/** `command` begins with `raw`. */
export function parseRaw(command: string): Parsed<RawMessage> {
  const scan = new CommandScan().over(command);
  if (!scan.next() || !scan.is('raw')) return refuse('expected "raw"', scan.column);
  scan.next();
  const name = scan.word;
  const type = TYPES.get(name);
  if (type !== undefined) scan.next();
  if (!scan.is('hex') && !scan.is('b64')) {
    return refuse(`expected ${type === undefined ? 'a message type, ' : ''}hex or b64, got ${shown(scan.word)}`, scan.column);
  }
  const encoding = scan.is('hex') ? 'hex' : 'b64';
  const present = scan.next();
  const data = present ? wordBytes(scan.word, encoding) : new Uint8Array(0);
  if (data === undefined || (data.length === 0 && type !== KEEPALIVE)) return refuse(`expected ${encoding} bytes`, scan.column);
  const { column } = scan;
  if (present && scan.next()) return refuse(`unexpected word: ${shown(scan.word)}`, scan.column);
  const length = data.length + (type === undefined ? 0 : HEADER_LENGTH);
  if (length > MAX_EXTENDED_MESSAGE) return refuse(`a message has at most ${MAX_EXTENDED_MESSAGE} bytes`, column);
  if (type === undefined) return { ok: true, value: { type: undefined, bytes: data } };
  const bytes = new Uint8Array(length);
  bytes.set(data, writeHeader(bytes, 0, length, type));
  return { ok: true, value: { type: name, bytes } };
}
