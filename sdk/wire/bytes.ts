// Bytes without an owner: views, copies, hashes, hex and UTF-8. The room has no Buffer and no TextDecoder, so that it runs anywhere.

/** A view with the same offsets as `bytes`: index `i` of one is offset `i` of the other. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Copies `length` bytes; for a few a loop beats the view and the call that `set` and `subarray` cost. Areas of one array may overlap (but not
 * those of two arrays over one buffer: to ask for the buffer costs more than the copy).
 */
export function copyBytes(from: Uint8Array, fromAt: number, length: number, to: Uint8Array, toAt: number): void {
  if (length > 16 || from === to) {
    to.set(from.subarray(fromAt, fromAt + length), toAt);
    return;
  }
  for (let i = 0; i < length; i++) to[toAt + i] = from[fromAt + i]!;
}

/**
 * Hash of a run of bytes, unsigned 32 bits: multiply and xor, four bytes a step. Not for untrusted keys where chains are unbounded: a
 * table that uses it compares length and bytes as well, and bounds its probes.
 */
export function hashBytes(view: DataView, at: number, length: number): number {
  let hash = length ^ 0x5bd1e995;
  const end = at + length;
  let i = at;
  for (; i + 4 <= end; i += 4) {
    hash = Math.imul(hash ^ view.getInt32(i, true), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  for (; i < end; i++) {
    hash = Math.imul(hash ^ view.getUint8(i), 0x85ebca6b);
    hash ^= hash >>> 13;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0xc2b2ae35);
  return (hash ^ (hash >>> 13)) >>> 0;
}

/** True when the two runs hold the same bytes. */
export function equalBytes(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[aAt + i] !== b[bAt + i]) return false;
  return true;
}

const HEX = '0123456789abcdef';

/** Lower-case hex of `length` bytes from `at`. */
export function toHex(bytes: Uint8Array, at = 0, length: number = bytes.length - at): string {
  let text = '';
  for (let i = at; i < at + length; i++) {
    const byte = bytes[i]!;
    text += HEX.charAt(byte >>> 4) + HEX.charAt(byte & 15);
  }
  return text;
}

/** Bytes of a hex text of even length, either case; undefined when it is not one. Blanks and colons are not accepted. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) return undefined;
  const out = new Uint8Array(text.length / 2);
  for (let i = 0; i < out.length; i++) out[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return out;
}
