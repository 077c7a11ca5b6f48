// Attribute blocks for the tests of the RIB: written from a plain object, 4-octet AS numbers.

export interface Attributes {
  readonly origin?: number;
  /** Numbers are a sequence's, arrays are sets. */
  readonly path?: readonly (number | readonly number[])[];
  readonly nextHop?: string | undefined;
  readonly med?: number;
  readonly localPreference?: number;
  readonly communities?: readonly number[];
  readonly originator?: number;
  readonly clusters?: number;
}

/** The block, ascending by code; ORIGIN and AS_PATH always there. */
export function block(attributes: Attributes): Uint8Array {
  const out: number[] = [0x40, 1, 1, attributes.origin ?? 0];
  const path = segments(attributes.path ?? []);
  out.push(0x50, 2, path.length >>> 8, path.length & 255, ...path);
  if (attributes.nextHop !== undefined) out.push(0x40, 3, 4, ...attributes.nextHop.split('.').map(Number));
  if (attributes.med !== undefined) out.push(0x80, 4, 4, ...u32(attributes.med));
  if (attributes.localPreference !== undefined) out.push(0x40, 5, 4, ...u32(attributes.localPreference));
  const communities = attributes.communities ?? [];
  if (communities.length > 0) out.push(0xc0, 8, 4 * communities.length, ...communities.flatMap(u32));
  if (attributes.originator !== undefined) out.push(0x80, 9, 4, ...u32(attributes.originator));
  if (attributes.clusters !== undefined) {
    out.push(0x80, 10, 4 * attributes.clusters);
    for (let i = 0; i < attributes.clusters; i++) out.push(...u32(i + 1));
  }
  return Uint8Array.from(out);
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function segments(path: readonly (number | readonly number[])[]): number[] {
  const out: number[] = [];
  let sequence: number[] = [];
  const flush = (): void => {
    if (sequence.length > 0) out.push(2, sequence.length, ...sequence.flatMap(u32));
    sequence = [];
  };
  for (const part of path) {
    if (typeof part === 'number') {
      sequence.push(part);
    } else {
      flush();
      out.push(1, part.length, ...part.flatMap(u32));
    }
  }
  flush();
  return out;
}

function u32(value: number): number[] {
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
}
