// Labelled and VPN prefixes, VPLS, EVPN, MVPN and MUP routes from their words.
import {
  fail,
  joined,
  labelBytes,
  numberOf,
  octets,
  prefixBytes,
  shortened,
  sizedAddress,
  u16,
  u32,
  WordFields,
} from './fields.ts';

/** In place of a label where a route is withdrawn without one (RFC 8277 §2.4). */
const NO_LABEL = Uint8Array.of(0x80, 0, 0);
const NO_SEGMENT = new Uint8Array(10);

export type AddressLength = 4 | 16;

/** `[rd X] [label L] [prefix] P` (RFC 8277 §2, RFC 4364 §4.3.4). Without a label it is a withdrawal's. */
export function labelledPrefix(words: readonly string[], length: AddressLength, vpn: boolean): Uint8Array {
  const names = vpn ? ['rd', 'label', 'labels', 'prefix'] : ['label', 'labels', 'prefix'];
  const fields = new WordFields(words, names, [], false, 'prefix');
  const name = fields.has('labels') ? 'labels' : 'label';
  const labels = fields.has(name) ? labelBytes(fields.labels(name)) : NO_LABEL;
  const rd = vpn ? fields.distinguisher() : new Uint8Array(0);
  const { bytes, bits } = fields.prefix('prefix', length);
  const total = 8 * (labels.length + rd.length) + bits;
  if (total > 255) fail(-1, 'too many labels for one route');
  return joined(Uint8Array.of(total), labels, rd, prefixBytes(bytes, bits));
}

/** RFC 4761 §3.2.2. */
export function vplsRoute(words: readonly string[]): Uint8Array {
  const fields = new WordFields(words, ['rd', 've-id', 've-block-offset', 've-block-size', 'label-base']);
  return joined(
    u16(17),
    fields.distinguisher(),
    u16(fields.number('ve-id', 0xffff)),
    u16(fields.number('ve-block-offset', 0xffff)),
    u16(fields.number('ve-block-size', 0xffff)),
    labelBytes([fields.number('label-base', 0xfffff)]),
  );
}

const EVPN_TYPES = ['ethernet-ad', 'mac-ip', 'multicast', 'ethernet-segment', 'ip-prefix'];
const EVPN_NAMES = ['rd', 'mac', 'ip', 'esi', 'etag', 'label', 'prefix', 'gateway'];

/** RFC 7432 §7, RFC 9136 §3.1. */
export function evpnRoute(words: readonly string[]): Uint8Array {
  const fields = new WordFields(words, EVPN_NAMES, EVPN_TYPES);
  const type = fields.type(EVPN_TYPES);
  const rd = fields.distinguisher();
  const segment = fields.has('esi') ? segmentOf(fields) : NO_SEGMENT;
  const tag = u32(fields.has('etag') ? fields.number('etag', 0xffffffff) : 0);
  switch (type) {
    case 'ethernet-ad':
      return evpn(1, rd, segment, tag, labelBytes(fields.labels('label').slice(0, 1)));
    case 'mac-ip': {
      const mac = octets(fields.text('mac'), 6);
      if (mac === undefined) return fail(fields.index('mac'), `mac: "${shortened(fields.text('mac'))}" is not a MAC address`);
      const ip = fields.has('ip') ? sizedAddress(fields.address('ip')) : [Uint8Array.of(0)];
      const labels = fields.labels('label');
      if (labels.length > 2) fail(fields.index('label'), 'label: at most two labels');
      const stacks = labels.map((label) => labelBytes([label]));
      return evpn(2, rd, segment, tag, Uint8Array.of(48), mac, ...ip, ...stacks);
    }
    case 'multicast':
      return evpn(3, rd, tag, ...sizedAddress(fields.address('ip')));
    case 'ethernet-segment':
      return evpn(4, rd, segment, ...sizedAddress(fields.address('ip')));
    default: {
      const { bytes, bits } = fields.prefix('prefix');
      const length = bytes.length === 4 ? 4 : 16;
      const gateway = fields.has('gateway') ? fields.address('gateway', length) : new Uint8Array(length);
      return evpn(5, rd, segment, tag, Uint8Array.of(bits), bytes, gateway, labelBytes(fields.labels('label').slice(0, 1)));
    }
  }
}

function evpn(type: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const body = joined(...parts);
  return joined(Uint8Array.of(type, body.length), body);
}

/** Ten octets; `0` is none. */
function segmentOf(fields: WordFields): Uint8Array {
  const text = fields.text('esi');
  if (text === '0') return NO_SEGMENT;
  return octets(text, 10) ?? fail(fields.index('esi'), `esi: "${shortened(text)}" is not ten octets`);
}

const MVPN_TYPES = ['source-ad', 'shared-join', 'source-join'];
const MVPN_NAMES = ['rd', 'source', 'group', 'rp', 'source-as'];

/** RFC 6514 §4.5, §4.6: source active, shared and source tree joins. */
export function mvpnRoute(words: readonly string[], length: AddressLength): Uint8Array {
  const fields = new WordFields(words, MVPN_NAMES, MVPN_TYPES);
  const type = fields.type(MVPN_TYPES);
  const rd = fields.distinguisher();
  const group = sizedAddress(fields.address('group', length));
  const from = (name: string): readonly Uint8Array[] => sizedAddress(fields.address(name, length));
  if (type === 'source-ad') return mvpn(5, rd, ...from('source'), ...group);
  const as = u32(fields.number('source-as', 0xffffffff));
  return type === 'shared-join' ? mvpn(6, rd, as, ...from('rp'), ...group) : mvpn(7, rd, as, ...from('source'), ...group);
}

function mvpn(type: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const body = joined(...parts);
  return joined(Uint8Array.of(type, body.length), body);
}

const MUP_TYPES = ['mup-isd', 'mup-dsd', 'mup-t1st', 'mup-t2st'];
const MUP_NAMES = ['rd', 'teid', 'qfi', 'endpoint', 'source'];

/** draft-mpmz-bess-mup-safi-06 §3.1, architecture 3gpp-5g. */
export function mupRoute(words: readonly string[], length: AddressLength): Uint8Array {
  const fields = new WordFields(words, MUP_NAMES, MUP_TYPES, true);
  const type = fields.type(MUP_TYPES);
  const rd = fields.distinguisher();
  switch (type) {
    case 'mup-isd': {
      const { bytes, bits } = fields.prefix(type, length);
      return mup(1, rd, Uint8Array.of(bits), prefixBytes(bytes, bits));
    }
    case 'mup-dsd':
      return mup(2, rd, fields.address(type, length));
    case 'mup-t1st': {
      const { bytes, bits } = fields.prefix(type, length);
      const session = joined(u32(fields.number('teid', 0xffffffff, 1)), Uint8Array.of(fields.number('qfi', 0xff)));
      const source = fields.has('source') ? sizedAddress(fields.address('source')) : [Uint8Array.of(0)];
      const ends = joined(...sizedAddress(fields.address('endpoint')), ...source);
      return mup(3, rd, Uint8Array.of(bits), prefixBytes(bytes, bits), session, ends);
    }
    default: {
      const endpoint = fields.address(type, length);
      const { value, bits } = tunnel(fields);
      return mup(4, rd, Uint8Array.of(length * 8 + bits), endpoint, prefixBytes(u32(value), bits));
    }
  }
}

/** `12345/32`: an identifier and how many bits of it count. */
function tunnel(fields: WordFields): { readonly value: number; readonly bits: number } {
  if (!fields.has('teid')) return { value: 0, bits: 0 };
  const [id = '', length = '32'] = fields.text('teid').split('/');
  const value = numberOf(id, 0xffffffff);
  const bits = numberOf(length, 32);
  if (value < 1 || bits < 0) return fail(fields.index('teid'), `teid: "${shortened(fields.text('teid'))}" is not ID/LENGTH`);
  return { value: bits === 0 ? 0 : (value & (-1 << (32 - bits))) >>> 0, bits };
}

function mup(type: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const body = joined(...parts);
  return joined(Uint8Array.of(1), u16(type), Uint8Array.of(body.length), body);
}
