/**
 * Extended communities (RFC 4360) between bytes and text. A community whose name does not say every bit of it is written
 * `0x<type><subtype>:<value>`, so that what is read back is what was written.
 */
import { formatIpv4, parseIpv4 } from '../../sdk/wire/address.ts';
import { fromHex, toHex } from '../../sdk/wire/bytes.ts';

const FLOAT = new DataView(new ArrayBuffer(4));

/** The 8 bytes at `at` as text: `target:64500:9`, `rate-limit:0`, … */
export function formatExtendedCommunity(view: DataView, at: number): string {
  const type = view.getUint16(at);
  const high = view.getUint16(at + 2);
  const low = view.getUint32(at + 4);
  switch (type) {
    case 0x0002:
      return `target:${high}:${low}`;
    case 0x0003:
      return `origin:${high}:${low}`;
    case 0x0102:
      return `target:${formatIpv4(view.getUint32(at + 2))}:${view.getUint16(at + 6)}`;
    case 0x0103:
      return `origin:${formatIpv4(view.getUint32(at + 2))}:${view.getUint16(at + 6)}`;
    case 0x0202:
    case 0x0203: {
      // A small AS number in the four-octet form would read back as the two-octet form.
      const as = view.getUint32(at + 2);
      if (as > 0xffff) return `${type === 0x0202 ? 'target' : 'origin'}:${as}:${view.getUint16(at + 6)}`;
      break;
    }
    case 0x8006: {
      const rate = view.getFloat32(at + 4);
      if (high === 0 && Number.isFinite(rate) && rate >= 0 && !Object.is(rate, -0)) return `rate-limit:${rate}`;
      break;
    }
    case 0x8007:
      if (high === 0 && low <= 3) return `action:${['none', 'terminal', 'sample', 'sample-terminal'][low] ?? ''}`;
      break;
    case 0x8008:
      return `redirect:${high}:${low}`;
    case 0x8009:
      if (high === 0 && low <= 63) return `mark:${low}`;
      break;
    case 0x800a:
      return `l2info:${view.getUint8(at + 2)}:${view.getUint8(at + 3)}:${view.getUint16(at + 4)}:${view.getUint16(at + 6)}`;
    case 0x0800:
      if (high === 0 && low <= 1) return low === 0 ? 'redirect-to-nexthop' : 'copy-to-nexthop';
      break;
    default:
  }
  const bytes = new Uint8Array(view.buffer, view.byteOffset + at, 8);
  return `0x${toHex(bytes, 0, 2)}:${toHex(bytes, 2, 6)}`;
}

/** Reads what `formatExtendedCommunity` writes, and `0x` with 16 digits. Writes 8 bytes at `out[at]`; false when it is none. */
export function parseExtendedCommunity(text: string, out: Uint8Array, at: number): boolean {
  const view = new DataView(out.buffer, out.byteOffset, out.byteLength);
  if (text.startsWith('0x') || text.startsWith('0X')) {
    const bytes = fromHex(text.slice(2).replace(':', ''));
    if (bytes?.length !== 8) return false;
    out.set(bytes, at);
    return true;
  }
  const [name, first = '', second = '', ...more] = text.split(':');
  switch (name) {
    case 'target':
    case 'origin':
      return more.length === 0 && writeRouteTarget(view, at, name === 'target' ? 2 : 3, first, second);
    case 'redirect':
      return more.length === 0 && writeTwoOctet(view, at, 0x8008, number(first, 0xffff), number(second, 0xffffffff));
    case 'rate-limit':
      return second === '' && writeRate(view, at, first);
    case 'action': {
      const low = ['none', 'terminal', 'sample', 'sample-terminal'].indexOf(first);
      return second === '' && writeTwoOctet(view, at, 0x8007, 0, low);
    }
    case 'mark':
      return second === '' && writeTwoOctet(view, at, 0x8009, 0, number(first, 63));
    case 'l2info':
      return writeL2Info(view, at, [first, second, ...more]);
    case 'redirect-to-nexthop':
    case 'copy-to-nexthop':
      return first === '' && writeTwoOctet(view, at, 0x0800, 0, name === 'copy-to-nexthop' ? 1 : 0);
    default:
      return false;
  }
}

/** Route target or origin: the form (two-octet AS, IPv4, four-octet AS) follows from what is written. */
function writeRouteTarget(view: DataView, at: number, subtype: number, administrator: string, assigned: string): boolean {
  if (administrator.includes('.')) {
    const address = parseIpv4(administrator);
    const value = number(assigned, 0xffff);
    if (address < 0 || value < 0) return false;
    view.setUint16(at, 0x0100 | subtype);
    view.setUint32(at + 2, address);
    view.setUint16(at + 6, value);
    return true;
  }
  const as = number(administrator, 0xffffffff);
  if (as < 0) return false;
  if (as <= 0xffff) return writeTwoOctet(view, at, subtype, as, number(assigned, 0xffffffff));
  const value = number(assigned, 0xffff);
  if (value < 0) return false;
  view.setUint16(at, 0x0200 | subtype);
  view.setUint32(at + 2, as);
  view.setUint16(at + 6, value);
  return true;
}

function writeTwoOctet(view: DataView, at: number, type: number, high: number, low: number): boolean {
  if (high < 0 || low < 0) return false;
  view.setUint16(at, type);
  view.setUint16(at + 2, high);
  view.setUint32(at + 4, low);
  return true;
}

function writeRate(view: DataView, at: number, text: string): boolean {
  if (!/^\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return false;
  FLOAT.setFloat32(0, Number(text));
  if (!Number.isFinite(FLOAT.getFloat32(0))) return false;
  return writeTwoOctet(view, at, 0x8006, 0, FLOAT.getUint32(0));
}

function writeL2Info(view: DataView, at: number, parts: readonly string[]): boolean {
  if (parts.length !== 4) return false;
  const values = parts.map((part, index) => number(part, index < 2 ? 0xff : 0xffff));
  if (values.some((value) => value < 0)) return false;
  view.setUint16(at, 0x800a);
  view.setUint8(at + 2, values[0]!);
  view.setUint8(at + 3, values[1]!);
  view.setUint16(at + 4, values[2]!);
  view.setUint16(at + 6, values[3]!);
  return true;
}

function number(text: string, maximum: number): number {
  if (!/^\d{1,10}$/.test(text)) return -1;
  const value = Number(text);
  return value <= maximum ? value : -1;
}
