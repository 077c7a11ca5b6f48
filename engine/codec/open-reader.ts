/**
 * An OPEN message as its events show it (events.md §4.2). Reads in place and never past the message: a malformed optional
 * parameter ends the list, what was read before it stands.
 */
import { formatIpv4 } from '../../sdk/wire/address.ts';
import { toHex } from '../../sdk/wire/bytes.ts';
import { afiName, familyName, familyOf } from '../../sdk/wire/family.ts';

export interface ShownCapability {
  readonly code: number;
  readonly name: string;
  readonly value?: string;
}

export interface ShownOpen {
  readonly version: number;
  /** Four octets where capability 65 says so. */
  readonly asn: number;
  readonly holdTimeSeconds: number;
  readonly routerId: string;
  readonly capabilities: readonly ShownCapability[];
}

const ADD_PATH_MODES = ['', 'receive', 'send', 'send-receive'] as const;

/** The body of `length` bytes at `at`, without the header; undefined when it is shorter than an OPEN can be. */
export function readOpen(bytes: Uint8Array, at: number, length: number): ShownOpen | undefined {
  if (length < 10) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, length);
  const capabilities: ShownCapability[] = [];
  let asn = view.getUint16(1);
  for (const tlv of capabilityTlvs(view)) {
    if (tlv.code === 65 && tlv.length === 4) asn = view.getUint32(tlv.at);
    show(view, tlv.code, tlv.at, tlv.length, capabilities);
  }
  return {
    version: view.getUint8(0),
    asn,
    holdTimeSeconds: view.getUint16(3),
    routerId: formatIpv4(view.getUint32(5)),
    capabilities,
  };
}

interface Tlv {
  readonly code: number;
  readonly at: number;
  readonly length: number;
}

/** Capabilities in wire order, over all optional parameters of type 2 (RFC 5492), in the long form too (RFC 9072). */
export function capabilityTlvs(view: DataView): readonly Tlv[] {
  const found: Tlv[] = [];
  const long = view.byteLength >= 13 && view.getUint8(9) !== 0 && view.getUint8(10) === 255;
  const wide = long ? 2 : 1;
  let at = long ? 13 : 10;
  const stated = long ? view.getUint16(11) : view.getUint8(9);
  const end = Math.min(view.byteLength, at + stated);
  while (at + 1 + wide <= end) {
    const type = view.getUint8(at);
    const size = long ? view.getUint16(at + 1) : view.getUint8(at + 1);
    const valueAt = at + 1 + wide;
    if (valueAt + size > end) break;
    if (type === 2) {
      for (let i = valueAt; i + 2 <= valueAt + size; ) {
        const length = view.getUint8(i + 1);
        if (i + 2 + length > valueAt + size) break;
        found.push({ code: view.getUint8(i), at: i + 2, length });
        i += 2 + length;
      }
    }
    at = valueAt + size;
  }
  return found;
}

function show(view: DataView, code: number, at: number, length: number, out: ShownCapability[]): void {
  if (code === 1 && length === 4) {
    out.push({ code, name: 'multiprotocol', value: familyName(familyOf(view.getUint16(at), view.getUint8(at + 3))) });
  } else if (code === 65 && length === 4) {
    out.push({ code, name: 'asn4', value: String(view.getUint32(at)) });
  } else if (code === 6 && length === 0) {
    out.push({ code, name: 'extended-message' });
  } else if (code === 69 && length > 0 && length % 4 === 0) {
    for (let i = at; i < at + length; i += 4) {
      const family = familyName(familyOf(view.getUint16(i), view.getUint8(i + 2)));
      const mode = view.getUint8(i + 3);
      out.push({ code, name: 'addpath', value: `${family} ${ADD_PATH_MODES[mode] ?? `mode-${mode}`}` });
    }
  } else if (code === 5 && length > 0 && length % 6 === 0) {
    for (let i = at; i < at + length; i += 6) {
      const family = familyName(familyOf(view.getUint16(i), view.getUint16(i + 2) & 0xff));
      out.push({ code, name: 'extended-nexthop', value: `${family} ${afiName(view.getUint16(i + 4))}` });
    }
  } else {
    const value = toHex(new Uint8Array(view.buffer, view.byteOffset + at, length));
    out.push(value === '' ? { code, name: `unknown-${code}` } : { code, name: `unknown-${code}`, value });
  }
}
