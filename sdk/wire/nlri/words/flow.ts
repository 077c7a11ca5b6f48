// FlowSpec rules from their words (RFC 8955 §4, RFC 8956 §3): match words, each with its values. Values of a component are alternatives;
// `&` joins those that hold together. Numbers take `= > >= < <= !=`; flags `=` (all of them and no others counted), `!` (none), bare (any).
import { type AddressLength } from './routes.ts';
import { distinguisherBytes, fail, joined, numberOf, prefixOf, shortened, u16, u32 } from './fields.ts';

type Kind = 'prefix' | 'number' | 'flags';

interface Component {
  readonly type: number;
  readonly kind: Kind;
  readonly maximum: number;
  /** Words for numbers, or bits of flags. */
  readonly values: Readonly<Record<string, number>>;
  /** Bytes a value takes at least. */
  readonly width: 1 | 2 | 4;
}

const PROTOCOLS = {
  icmp: 1,
  igmp: 2,
  ipip: 4,
  tcp: 6,
  egp: 8,
  udp: 17,
  rsvp: 46,
  gre: 47,
  esp: 50,
  ah: 51,
  icmpv6: 58,
  ospf: 89,
  pim: 103,
  sctp: 132,
};
const ICMP_TYPES = {
  'echo-reply': 0,
  unreachable: 3,
  redirect: 5,
  'echo-request': 8,
  'router-advertisement': 9,
  'router-solicit': 10,
  'time-exceeded': 11,
  'parameter-problem': 12,
  timestamp: 13,
  'timestamp-reply': 14,
};
const ICMP6_TYPES = {
  unreachable: 1,
  'packet-too-big': 2,
  'time-exceeded': 3,
  'parameter-problem': 4,
  'echo-request': 128,
  'echo-reply': 129,
  'router-solicit': 133,
  'router-advertisement': 134,
  'neighbor-solicit': 135,
  'neighbor-advertisement': 136,
  redirect: 137,
};
const ICMP_CODES = {
  'network-unreachable': 0,
  'host-unreachable': 1,
  'protocol-unreachable': 2,
  'port-unreachable': 3,
  'fragmentation-needed': 4,
  'source-route-failed': 5,
};
const TCP_FLAGS = { fin: 1, syn: 2, rst: 4, push: 8, ack: 16, urgent: 32, ece: 64, cwr: 128, ns: 256 };
const TCP_ALIASES = { psh: 8, urg: 32 };
const FRAGMENTS = { 'dont-fragment': 1, 'is-fragment': 2, 'first-fragment': 4, 'last-fragment': 8 };
const NOTHING = {};

const number = (
  type: number,
  maximum: number,
  values: Component['values'] = NOTHING,
  width: Component['width'] = 1,
): Component => ({
  type,
  kind: 'number',
  maximum,
  values,
  width,
});
const prefix = (type: number): Component => ({ type, kind: 'prefix', maximum: 0, values: NOTHING, width: 1 });
const flags = (type: number, maximum: number, values: Component['values']): Component => ({
  type,
  kind: 'flags',
  maximum,
  values,
  width: 1,
});

const BOTH: Readonly<Record<string, Component>> = {
  destination: prefix(1),
  source: prefix(2),
  protocol: number(3, 0xff, PROTOCOLS),
  port: number(4, 0xffff),
  'destination-port': number(5, 0xffff),
  'source-port': number(6, 0xffff),
  'icmp-type': number(7, 0xff, ICMP_TYPES),
  'icmp-code': number(8, 0xff, ICMP_CODES),
  'tcp-flags': flags(9, 0xffff, { ...TCP_FLAGS, ...TCP_ALIASES }),
  'packet-length': number(10, 0xffff),
  dscp: number(11, 63),
  fragment: flags(12, 0xff, FRAGMENTS),
};
const IPV4: Readonly<Record<string, Component>> = { ...BOTH, 'destination-ipv4': prefix(1), 'source-ipv4': prefix(2) };
const IPV6: Readonly<Record<string, Component>> = {
  ...BOTH,
  'destination-ipv6': prefix(1),
  'source-ipv6': prefix(2),
  'next-header': number(3, 0xff, PROTOCOLS),
  'icmp-type': number(7, 0xff, ICMP6_TYPES),
  'traffic-class': number(11, 63),
  'flow-label': number(13, 0xfffff, NOTHING, 4),
};

/** Longest rule: its length is written in twelve bits (RFC 8955 §4.1). */
const MAXIMUM_RULE = 4095;
const PUNCTUATION: readonly string[] = ['[', ']', '(', ')'];

/** A rule; with `vpn` a distinguisher stands before it (`rd X` anywhere between the components). */
export function flowRule(words: readonly string[], length: AddressLength, vpn: boolean): Uint8Array {
  const components = length === 4 ? IPV4 : IPV6;
  const isName = (word: string): boolean => Object.hasOwn(components, word) || (vpn && word === 'rd');
  const parts: { readonly type: number; readonly bytes: Uint8Array }[] = [];
  let rd: Uint8Array | undefined;
  for (let at = 0; at < words.length; ) {
    const name = words[at]!;
    if (!isName(name)) fail(at, `unknown match "${shortened(name)}"`, [...Object.keys(components), ...(vpn ? ['rd'] : [])]);
    let end = at + 1;
    while (end < words.length && !isName(words[end]!) && !isForeign(words[end]!, words[end - 1]!)) end++;
    const values = indices(words, at + 1, end);
    if (values.length === 0) fail(at, `${name} needs a value`);
    if (name === 'rd') {
      if (values.length > 1) fail(values[1]!, `unknown match "${shortened(words[values[1]!]!)}"`, Object.keys(components));
      rd =
        distinguisherBytes(words[values[0]!]!) ?? fail(values[0]!, `rd: "${shortened(words[values[0]!]!)}" is not ASN:N or IP:N`);
    } else {
      const component = components[name]!;
      if (parts.some((part) => part.type === component.type)) fail(at, `${name} is matched twice`);
      const bytes =
        component.kind === 'prefix'
          ? prefixValue(words, values, length, name, components)
          : operators(words, values, component, name);
      parts.push({ type: component.type, bytes: joined(Uint8Array.of(component.type), bytes) });
    }
    at = end;
  }
  if (parts.length === 0) fail(-1, 'a rule needs a match');
  if (vpn && rd === undefined) fail(-1, 'rd is missing');
  parts.sort((a, b) => a.type - b.type);
  const body = joined(...(rd === undefined ? [] : [rd]), ...parts.map((part) => part.bytes));
  if (body.length > MAXIMUM_RULE) fail(-1, `a rule of ${body.length} octets (max ${MAXIMUM_RULE})`);
  return joined(body.length < 0xf0 ? Uint8Array.of(body.length) : u16(0xf000 | body.length), body);
}

/** A match of the other protocol, or one that nobody knows: it looks like a name, and no value is open. */
function isForeign(word: string, before: string): boolean {
  return (Object.hasOwn(IPV6, word) || Object.hasOwn(IPV4, word)) && !/[=<>!&+]$/.test(before);
}

/** Indices of the values between, without brackets. */
function indices(words: readonly string[], from: number, to: number): number[] {
  const out: number[] = [];
  for (let at = from; at < to; at++) if (!PUNCTUATION.includes(words[at]!)) out.push(at);
  return out;
}

/** `P/LENGTH`, for IPv6 also `P/LENGTH/OFFSET` (RFC 8956 §3.1). */
function prefixValue(
  words: readonly string[],
  values: readonly number[],
  length: AddressLength,
  name: string,
  components: Readonly<Record<string, Component>>,
): Uint8Array {
  const at = values[0]!;
  if (values.length > 1) fail(values[1]!, `unknown match "${shortened(words[values[1]!]!)}"`, Object.keys(components));
  const [, head = '', shift = ''] = /^([^/]*\/[^/]*)\/(\d{1,3})$/.exec(words[at]!) ?? [undefined, words[at]!];
  const { bytes, bits } = prefixOf(head, length, at);
  const offset = shift === '' ? 0 : Number(shift);
  if (length === 4) {
    if (offset !== 0) fail(at, `${name}: an offset is IPv6's alone`);
    return joined(Uint8Array.of(bits), bytes.slice(0, (bits + 7) >>> 3));
  }
  if (offset > 0 && offset >= bits) fail(at, `${name}: offset ${offset} is not below the length ${bits}`);
  const pattern = new Uint8Array((bits - offset + 7) >>> 3);
  for (let bit = offset; bit < bits; bit++)
    if (((bytes[bit >>> 3]! >>> (7 - (bit & 7))) & 1) === 1) pattern[(bit - offset) >>> 3]! |= 0x80 >>> ((bit - offset) & 7);
  return joined(Uint8Array.of(bits, offset), pattern);
}

interface Term {
  readonly operator: number;
  readonly value: number;
}

/** Operator and value pairs (RFC 8955 §4.2.1): the last one ends the list. */
function operators(words: readonly string[], values: readonly number[], component: Component, name: string): Uint8Array {
  const terms: Term[] = [];
  // A word may be an operator alone, or end in `&`: the next one goes on with it.
  let open = '';
  for (const at of values) {
    const text = open + words[at]!;
    if (/^(?:&|[=<>!]+)$|&[=<>!]*$/.test(text)) {
      open = text;
      continue;
    }
    open = '';
    for (const [index, part] of text.replace(/^&/, '').split('&').entries()) {
      const and = (index > 0 || text.startsWith('&')) && terms.length > 0;
      terms.push(term(part, component, name, at, and));
    }
  }
  if (open !== '') fail(values.at(-1)!, `${name}: "${shortened(open)}" needs a value`);
  return joined(
    ...terms.map(({ operator, value }, index) => encoded(operator | (index === terms.length - 1 ? END : 0), value, component)),
  );
}

const END = 0x80;
const AND = 0x40;
const NUMERIC: Readonly<Record<string, number>> = { '': 1, '=': 1, '==': 1, '>': 2, '>=': 3, '<': 4, '<=': 5, '!=': 6, '!': 6 };
const BITWISE: Readonly<Record<string, number>> = { '': 0, '=': 1, '!': 2, '!=': 3 };

function term(text: string, component: Component, name: string, at: number, and: boolean): Term {
  const sign = /^[=<>!]*/.exec(text)![0];
  const table = component.kind === 'number' ? NUMERIC : BITWISE;
  const operator = Object.hasOwn(table, sign) ? table[sign]! : undefined;
  if (operator === undefined)
    fail(
      at,
      `${name}: "${sign}" is not one of the operators ${Object.keys(table)
        .filter((one) => one !== '')
        .join(' ')}`,
    );
  const rest = text.slice(sign.length);
  if (component.kind === 'flags' && rest === 'not-a-fragment') return { operator: (operator ^ 2) | (and ? AND : 0), value: 2 };
  const parts = component.kind === 'flags' ? rest.split('+') : [rest];
  let value = 0;
  for (const part of parts) {
    const known = Object.hasOwn(component.values, part.toLowerCase())
      ? component.values[part.toLowerCase()]!
      : numberOf(part, component.maximum);
    if (known < 0) {
      const expected = Object.keys(component.values).length > 0 ? 'a known word or a number' : 'a number';
      fail(at, `${name}: "${shortened(part)}" is not ${expected}, 0..${component.maximum}`, Object.keys(component.values));
    }
    value |= known;
  }
  return { operator: operator | (and ? AND : 0), value };
}

/** The value in as few bytes as hold it; their number is in the operator (bits 4 and 5, as a power of two). */
function encoded(operator: number, value: number, { width }: Component): Uint8Array {
  if (width === 4 || value > 0xffff) return joined(Uint8Array.of(operator | 0x20), u32(value));
  return value > 0xff || width === 2 ? joined(Uint8Array.of(operator | 0x10), u16(value)) : Uint8Array.of(operator, value);
}
