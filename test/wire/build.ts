// Messages for tests, from hex: each piece is written as the RFC draws it, lengths are filled in.
import { fromHex, toHex } from '../../sdk/wire/bytes.ts';

export function hex(text: string): Uint8Array {
  const bytes = fromHex(text.replace(/[\s:]/g, ''));
  if (bytes === undefined) throw new Error(`not hex: ${text}`);
  return bytes;
}

export function u8(value: number): string {
  return value.toString(16).padStart(2, '0');
}

export function u16(value: number): string {
  return value.toString(16).padStart(4, '0');
}

/** A message of any type around a body in hex. */
export function message(type: number, body: string, length: number = 19 + bytesOf(body)): Uint8Array {
  return hex(`${'ff'.repeat(16)}${u16(length)}${u8(type)}${body}`);
}

/** One attribute: flags and code as `4001`, then its value; the extended length is used when the flags ask for it. */
export function attribute(head: string, value: string): string {
  const extended = (Number.parseInt(head.slice(0, 2), 16) & 0x10) !== 0;
  const length = bytesOf(value);
  return `${head}${extended ? u16(length) : u8(length)}${value}`;
}

export interface UpdateParts {
  readonly withdrawn?: string;
  readonly attributes?: string;
  readonly nlri?: string;
}

export function update({ withdrawn = '', attributes = '', nlri = '' }: UpdateParts): Uint8Array {
  return message(2, `${u16(bytesOf(withdrawn))}${withdrawn}${u16(bytesOf(attributes))}${attributes}${nlri}`);
}

/** An OPEN of AS 64512, hold time 90, identifier 192.0.2.77, with optional parameters in hex, their length octet included. */
export function open(parameters: string, fixed = '04fc00005ac000024d'): Uint8Array {
  return message(1, `${fixed}${parameters}`);
}

function bytesOf(text: string): number {
  return text.replace(/[\s:]/g, '').length / 2;
}

export { toHex };

/** The usual attributes from AS 64512 and the usual prefix 198.51.100.0/24. */
export const ORIGIN = '40010100';
export const AS_PATH = '40020602010000fc00';
export const NEXT_HOP = '400304c0000201';
export const MANDATORY: string = ORIGIN + AS_PATH + NEXT_HOP;
export const PREFIX = '18c63364';
