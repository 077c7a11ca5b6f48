/** Events written by hand as bytes, against an object built the plain way from the same facts. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { EventRow, PeerIdentity } from '../../engine/bgp/port.ts';
import { EventEncoder } from '../../engine/codec/event-encoder.ts';
import type { EventFormat } from '../../engine/codec/event-format.ts';
import { peerObject } from '../../engine/codec/event-json.ts';
import { CodecRegistry } from '../../engine/codec/registry.ts';
import { formatIpv6 } from '../../sdk/wire/address.ts';
import { row } from '../unit/bus/fixture.ts';

type Json = Record<string, unknown>;
const RUNS = { numRuns: 300 };
const hex = (bytes: readonly number[]): string => Buffer.from(bytes).toString('hex');
const u16 = (value: number): number[] => [value >>> 8, value & 0xff];
const u32 = (value: number): number[] => [value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff];
const attribute = (flags: number, code: number, value: readonly number[]): number[] =>
  value.length > 255 ? [flags | 0x10, code, ...u16(value.length), ...value] : [flags, code, value.length, ...value];

interface Prefix {
  readonly address: readonly number[];
  readonly bits: number;
  readonly pathId: number;
}

/** An address of `size` bytes whose bits past the length are noise, as a peer may send them. */
const prefix = (size: 4 | 16): fc.Arbitrary<Prefix> =>
  fc.record({
    address: fc.array(fc.oneof(fc.constant(0), fc.nat(255)), { minLength: size, maxLength: size }),
    bits: fc.nat(size * 8),
    pathId: fc.oneof(fc.constant(0), fc.nat(0xffffffff)),
  });

const wire = (list: readonly Prefix[], addPath: boolean): number[] =>
  list.flatMap(({ address, bits, pathId }) => [...(addPath ? u32(pathId) : []), bits, ...address.slice(0, (bits + 7) >> 3)]);

function text({ address, bits, pathId }: Prefix, addPath: boolean): unknown {
  const masked = address.map((byte, index) => {
    const keep = Math.min(8, Math.max(0, bits - 8 * index));
    return byte & (0xff00 >> keep) & 0xff;
  });
  const shown = `${address.length === 4 ? masked.join('.') : formatIpv6(Uint8Array.from(masked), 0)}/${bits}`;
  return addPath && pathId !== 0 ? { prefix: shown, 'path-id': pathId } : shown;
}

const as = fc.integer({ min: 1, max: 0xffffffff });
const model = fc.record({
  origin: fc.nat(2),
  path: fc.array(as, { maxLength: 80 }),
  med: fc.option(fc.nat(0xffffffff), { nil: undefined }),
  preference: fc.option(fc.nat(0xffffffff), { nil: undefined }),
  communities: fc.array(fc.tuple(fc.nat(0xffff), fc.nat(0xffff)), { maxLength: 70 }),
  large: fc.array(fc.tuple(fc.nat(0xffffffff), fc.nat(0xffffffff), fc.nat(0xffffffff)), { maxLength: 5 }),
  extended: fc.array(fc.tuple(fc.nat(0xffff), fc.nat(0xffffffff)), { maxLength: 4 }),
  other: fc.option(fc.array(fc.nat(255), { maxLength: 300 }), { nil: undefined }),
  announced: fc.array(prefix(4), { maxLength: 40 }),
  withdrawn: fc.array(prefix(4), { maxLength: 40 }),
  reach: fc.array(prefix(16), { maxLength: 40 }),
  unreach: fc.array(prefix(16), { maxLength: 40 }),
  addPath4: fc.boolean(),
  addPath6: fc.boolean(),
  direction: fc.constantFrom('received' as const, 'sent' as const),
  id: fc.nat(Number.MAX_SAFE_INTEGER - 1),
});
type Model = typeof model extends fc.Arbitrary<infer T> ? T : never;

const NEXT_HOP_6 = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const announces = (m: Model): boolean => m.announced.length > 0 || m.reach.length > 0;

/** Attributes ascending by code, without the MP ones. */
function block(m: Model): number[] {
  const path: number[] = [];
  for (let i = 0; i < m.path.length; i += 50) {
    const part = m.path.slice(i, i + 50);
    path.push(2, part.length, ...part.flatMap(u32));
  }
  if (!announces(m)) return [];
  return [
    ...attribute(0x40, 1, [m.origin]),
    ...attribute(0x40, 2, path),
    ...(m.announced.length > 0 ? attribute(0x40, 3, [192, 0, 2, 9]) : []),
    ...(m.med === undefined ? [] : attribute(0x80, 4, u32(m.med))),
    ...(m.preference === undefined ? [] : attribute(0x40, 5, u32(m.preference))),
    ...(m.communities.length === 0
      ? []
      : attribute(
          0xc0,
          8,
          m.communities.flatMap(([a, b]) => [...u16(a), ...u16(b)]),
        )),
    ...(m.extended.length === 0
      ? []
      : attribute(
          0xc0,
          16,
          m.extended.flatMap(([a, b]) => [0, 2, ...u16(a), ...u32(b)]),
        )),
    ...(m.large.length === 0
      ? []
      : attribute(
          0xc0,
          32,
          m.large.flatMap((parts) => parts.flatMap(u32)),
        )),
    ...(m.other === undefined ? [] : attribute(0xc0, 99, m.other)),
  ];
}

function body(m: Model): Uint8Array {
  const withdrawn = wire(m.withdrawn, m.addPath4);
  const reach = m.reach.length === 0 ? [] : attribute(0x80, 14, [0, 2, 1, 16, ...NEXT_HOP_6, 0, ...wire(m.reach, m.addPath6)]);
  const unreach = m.unreach.length === 0 ? [] : attribute(0x80, 15, [0, 2, 1, ...wire(m.unreach, m.addPath6)]);
  const attributes = [...block(m), ...reach, ...unreach];
  return Uint8Array.from([
    ...u16(withdrawn.length),
    ...withdrawn,
    ...u16(attributes.length),
    ...attributes,
    ...wire(m.announced, m.addPath4),
  ]);
}

function attributes(m: Model): Json {
  return {
    origin: ['igp', 'egp', 'incomplete'][m.origin],
    'as-path': m.path,
    ...(m.announced.length > 0 ? { 'next-hop': '192.0.2.9' } : {}),
    ...(m.med === undefined ? {} : { med: m.med }),
    ...(m.preference === undefined ? {} : { 'local-preference': m.preference }),
    ...(m.communities.length === 0 ? {} : { communities: m.communities.map((parts) => parts.join(':')) }),
    ...(m.extended.length === 0 ? {} : { 'extended-communities': m.extended.map((parts) => `target:${parts.join(':')}`) }),
    ...(m.large.length === 0 ? {} : { 'large-communities': m.large.map((parts) => parts.join(':')) }),
    ...(m.other === undefined ? {} : { 'attr-99': hex(m.other) }),
  };
}

function parsed(m: Model): Json {
  const four: unknown[] = [];
  const six: unknown[] = [];
  const list = (prefixes: readonly Prefix[], addPath: boolean): unknown[] => prefixes.map((one) => text(one, addPath));
  if (m.announced.length > 0) four.push({ 'next-hop': '192.0.2.9', action: 'add', nlri: list(m.announced, m.addPath4) });
  if (m.reach.length > 0) six.push({ 'next-hop': '2001:db8::1', action: 'add', nlri: list(m.reach, m.addPath6) });
  if (m.withdrawn.length > 0) four.push({ action: 'del', nlri: list(m.withdrawn, m.addPath4) });
  if (m.unreach.length > 0) six.push({ action: 'del', nlri: list(m.unreach, m.addPath6) });
  return {
    ...(announces(m) ? { attr: attributes(m) } : {}),
    nlri: { ...(four.length > 0 ? { 'ipv4/unicast': four } : {}), ...(six.length > 0 ? { 'ipv6/unicast': six } : {}) },
  };
}

function expected(m: Model, peer: PeerIdentity, format: EventFormat): Json {
  const bytes = body(m);
  const id = format === 'summary' || (format !== 'raw' && m.id > 0) ? { id: m.id } : {};
  const message = { type: m.direction === 'sent' ? 'sent' : 'update', ...id, direction: m.direction };
  const raw = hex([...bytes]);
  const families = (four: readonly Prefix[], six: readonly Prefix[]): Json => ({
    ...(four.length > 0 ? { 'ipv4/unicast': hex(wire(four, m.addPath4)) } : {}),
    ...(six.length > 0 ? { 'ipv6/unicast': hex(wire(six, m.addPath6)) } : {}),
  });
  const some = (name: string, value: Json): Json => (Object.keys(value).length > 0 ? { [name]: value } : {});
  const used4 = m.announced.length + m.withdrawn.length > 0 && m.addPath4;
  const used6 = m.reach.length + m.unreach.length > 0 && m.addPath6;
  const forms: Record<EventFormat, Json> = {
    parsed: { update: parsed(m) },
    raw: { raw: { update: raw } },
    summary: {
      nlri: {
        announce: m.announced.length > 0,
        withdrawn: m.withdrawn.length > 0,
        'mp-reach': m.reach.length > 0 ? 'ipv6/unicast' : '',
        'mp-unreach': m.unreach.length > 0 ? 'ipv6/unicast' : '',
      },
    },
    full: {
      update: parsed(m),
      raw: {
        ...(announces(m) ? { attributes: hex(block(m)) } : {}),
        ...some('nlri', families(m.announced, m.reach)),
        ...some('withdrawn', families(m.withdrawn, m.unreach)),
        ...some('add-path', { ...(used4 ? { 'ipv4/unicast': true } : {}), ...(used6 ? { 'ipv6/unicast': true } : {}) }),
        update: raw,
      },
    },
  };
  return { type: 'bgp', bgp: { message, peer: peerObject(peer), ...forms[format] } };
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('"},"x":"', '\n\r\u0000\u001b[2J', '\ud800', '\u2028\u009b', '\\'),
);
const peers: fc.Arbitrary<PeerIdentity> = fc.record({
  index: fc.nat(3),
  name: anyText,
  group: anyText,
  remoteAddress: fc.constant('198.51.100.9'),
  remoteAs: fc.constant(64512),
  localAddress: fc.constantFrom('', '198.51.100.1'),
  localAs: fc.constant(64512),
});

const encoder = new EventEncoder(new CodecRegistry());

/** The plain form; proves on the way that the escaped form is it inside a JSON string, and that neither can break out of a line. */
function plain(format: EventFormat, encoding: 'json' | 'text' = 'json'): string {
  const whole = encoder.text(format, encoding);
  const slot = encoder.encode(format, encoding, true);
  const escaped = encoder.bytes.toString('utf8', slot.from, slot.to);
  assert.equal(JSON.parse(`"${escaped}"`), whole);
  assert.doesNotMatch(escaped, /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
  return slot.numbered ? `${whole}}` : whole;
}

test('an UPDATE in every format says what an object built from the same facts says', () => {
  fc.assert(
    fc.property(model, peers, (m, peer) => {
      const bytes = body(m);
      const padded = new Uint8Array(bytes.length + 40);
      padded.set(bytes, 23);
      const addPath = [...(m.addPath4 ? [257] : []), ...(m.addPath6 ? [513] : [])];
      encoder.begin(
        row({
          kind: 'update',
          direction: m.direction,
          messageId: m.id,
          bytes: padded,
          bytesAt: 23,
          bytesLength: bytes.length,
          addPath,
          peer: peer.index,
        }),
        peer,
      );
      for (const format of ['parsed', 'raw', 'summary', 'full'] as const) {
        assert.deepEqual(JSON.parse(plain(format)), JSON.parse(JSON.stringify(expected(m, peer, format))));
      }
      const lines = plain('parsed', 'text').split('\n');
      assert.equal(lines.length, 2);
      const [line = ''] = lines;
      assert.ok(line.startsWith(`peer 198.51.100.9 remote as 64512 ${m.direction} update ${m.id}`));
      assert.equal(line.includes(' nlri ipv4/unicast add '), m.announced.length > 0);
      assert.equal(line.includes(' nlri ipv6/unicast del '), m.unreach.length > 0);
    }),
    RUNS,
  );
});

test('no text of a peer leaves its string, and no bytes of a peer throw', () => {
  const rows: fc.Arbitrary<Partial<EventRow>> = fc.oneof(
    fc.record({ kind: fc.constant('state' as const), state: fc.constantFrom('up' as const, 'down' as const), reason: anyText }),
    fc.record({
      kind: fc.constantFrom('open' as const, 'notification' as const, 'refresh' as const, 'update' as const),
      bytes: fc.uint8Array({ maxLength: 300 }),
    }),
    fc.record({ kind: fc.constantFrom('congested' as const, 'resumed' as const, 'keepalive' as const) }),
    fc.record({ kind: fc.constant('eor' as const), family: fc.nat(0xffffff) }),
  );
  fc.assert(
    fc.property(rows, peers, fc.boolean(), (more, peer, asn4) => {
      encoder.begin(row({ ...more, bytesLength: more.bytes?.length ?? 0, direction: 'received', messageId: 1, asn4 }), peer);
      const event = JSON.parse(plain('full')) as { type: string; bgp: { peer: unknown; reason?: string; state?: string } };
      assert.deepEqual(Object.keys(event), ['type', 'bgp']);
      assert.deepEqual(event.bgp.peer, JSON.parse(JSON.stringify(peerObject(peer))));
      if (more.kind === 'state' && more.state === 'down' && more.reason !== '') {
        assert.equal(event.bgp.reason, JSON.parse(JSON.stringify(more.reason)));
      }
      const line = plain('parsed', 'text');
      assert.ok(line.endsWith('\n') && line.indexOf('\n') === line.length - 1, JSON.stringify(line));
      assert.doesNotMatch(line.slice(0, -1), /[\u0000-\u001f\u007f-\u009f]/);
    }),
    { numRuns: 2000 },
  );
});

test('two-octet sessions: AS_PATH is completed from AS4_PATH (RFC 6793 §4.2.3)', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 0xffff }), { maxLength: 6 }),
      fc.array(as, { minLength: 1, maxLength: 6 }),
      (front, tail) => {
        const path = [...front, ...tail.map((number) => (number > 0xffff ? 23456 : number))];
        const attributes = [
          ...attribute(0x40, 1, [0]),
          ...attribute(0x40, 2, [2, path.length, ...path.flatMap(u16)]),
          ...attribute(0x40, 3, [192, 0, 2, 9]),
          ...attribute(0xc0, 17, [2, tail.length, ...tail.flatMap(u32)]),
        ];
        const bytes = Uint8Array.from([0, 0, ...u16(attributes.length), ...attributes, 8, 10]);
        encoder.begin(row({ kind: 'update', bytes, bytesLength: bytes.length, asn4: false }), {
          index: 0,
          name: 'a',
          group: '',
          remoteAddress: '192.0.2.1',
          remoteAs: 1,
          localAddress: '',
          localAs: 2,
        });
        const event = JSON.parse(plain('parsed')) as { bgp: { update: { attr: Json } } };
        assert.deepEqual(event.bgp.update.attr['as-path'], [...front, ...tail]);
        assert.equal(event.bgp.update.attr['attr-17'], undefined);
      },
    ),
    RUNS,
  );
});
