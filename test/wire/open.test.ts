import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capabilityEventName, capabilityLabel } from '../../sdk/wire/capability/capability.ts';
import { readCapability, type Role, type TypedCapability, writeCapability } from '../../sdk/wire/capability/typed.ts';
import { ContextTable } from '../../sdk/wire/context.ts';
import { familyName, IPV4_UNICAST, IPV6_UNICAST, parseFamily } from '../../sdk/wire/family.ts';
import { DEFAULT_POLICY, judgeRole, negotiate, readOffer } from '../../sdk/wire/negotiate.ts';
import type { Notification } from '../../sdk/wire/notification.ts';
import {
  decodeOpen,
  encodeOpen,
  judgeOpen,
  type OpenMessage,
  openAs,
  shortAs,
  unsupportedCapability,
} from '../../sdk/wire/open.ts';
import { hex, toHex } from './build.ts';
import { OPENS, WRONG_LENGTHS } from './hostile-open-rows.ts';
import { vectors } from './vectors.ts';

interface CapabilityVector {
  readonly rfc: string;
  readonly code: number;
  readonly value: string;
  readonly json: unknown;
}

/** Families as names, bytes as hex, all the way down. */
function shown(value: unknown, key = ''): unknown {
  if (value instanceof Uint8Array) return toHex(value);
  if (key === 'family' && typeof value === 'number') return familyName(value);
  if (Array.isArray(value)) return value.map((item) => shown(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shown(member, name)]));
}

for (const vector of vectors('capabilities') as CapabilityVector[]) {
  test(`${vector.rfc} capability ${vector.code} ${vector.value}`, () => {
    const typed = readCapability({ code: vector.code, value: hex(vector.value) });
    assert.deepEqual(shown(typed), vector.json);
    const written = writeCapability(typed);
    assert.deepEqual([written.code, toHex(written.value)], [vector.code, toHex(hex(vector.value))]);
  });
}

for (const row of OPENS) {
  test(row.name, () => {
    const bytes = hex(`aa${toHex(row.bytes)}0206`);
    const result = decodeOpen(bytes, 1, row.bytes.length);
    assert.equal(result.ok ? String(result.value.capabilities.length) : notice(result.fault), row.want);
  });
}

function notice({ code, subcode, data }: Notification): string {
  return `${code}/${subcode} ${toHex(data)}`;
}

const GOOD: OpenMessage = { version: 4, myAs: 64512, holdTimeSeconds: 90, routerId: 0xc000024d, capabilities: [] };
const EXPECTED = { peerAs: 64512, localAs: 64500, localRouterId: 0xc0000201 };

const JUDGED: readonly (readonly [string, Partial<OpenMessage>, Partial<typeof EXPECTED>, string])[] = [
  ['a good OPEN', {}, {}, ''],
  ['H06 RFC 7607 §2 AS 0', { myAs: 0 }, { peerAs: 0 }, '2/2 '],
  ['H06 RFC 7607 §2 four-octet AS 0', { capabilities: [{ code: 65, value: new Uint8Array(4) }] }, { peerAs: 0 }, '2/2 '],
  ['H06 RFC 4271 §6.2 another AS than configured', { myAs: 64513 }, {}, '2/2 '],
  ['H06 any AS where none is configured', { myAs: 64513 }, { peerAs: 0 }, ''],
  [
    'H06 RFC 6793 the four-octet AS counts',
    { myAs: 23456, capabilities: [{ code: 65, value: hex('0001117e') }] },
    { peerAs: 70014 },
    '',
  ],
  ['H06 RFC 4271 §6.2 identifier 0', { routerId: 0 }, {}, '2/3 '],
  ['H06 RFC 6286 §2.1 our identifier inside our AS', { routerId: 0xc0000201 }, { localAs: 64512 }, '2/3 '],
  ['H06 RFC 6286 §2.1 our identifier in another AS', { routerId: 0xc0000201 }, {}, ''],
  ['H06 RFC 4271 §6.2 hold time 1', { holdTimeSeconds: 1 }, {}, '2/6 '],
  ['H06 RFC 4271 §6.2 hold time 2', { holdTimeSeconds: 2 }, {}, '2/6 '],
  ['H06 RFC 4271 §6.2 hold time 3', { holdTimeSeconds: 3 }, {}, ''],
  ['H06 RFC 4271 §6.2 hold time 0', { holdTimeSeconds: 0 }, {}, ''],
];
for (const [name, message, expected, want] of JUDGED) {
  test(name, () => {
    const fault = judgeOpen({ ...GOOD, ...message }, { ...EXPECTED, ...expected });
    assert.equal(fault === undefined ? '' : notice(fault), want);
  });
}

for (const [code, value] of WRONG_LENGTHS) {
  test(`H08 RFC 5492 capability ${code} of ${value.length / 2} octets is ignored`, () => {
    const offer = readOffer([{ code, value: hex(value) }]);
    assert.deepEqual(offer.malformed, [code]);
    assert.deepEqual({ ...offer, malformed: [] }, readOffer([]));
  });
}

test('H08 a malformed four-octet capability leaves the two-octet field', () => {
  assert.equal(openAs({ ...GOOD, capabilities: [{ code: 65, value: hex('0001') }] }), 64512);
});

test('H09 families add up, of the rest the last counts, unknown ones are ignored', () => {
  const offer = readOffer([
    cap({ kind: 'multiprotocol', family: IPV4_UNICAST }),
    cap({ kind: 'multiprotocol', family: IPV6_UNICAST }),
    cap({ kind: 'multiprotocol', family: IPV4_UNICAST }),
    { code: 200, value: hex('00') },
    cap({ kind: 'graceful-restart', restarting: true, notification: false, restartTimeSeconds: 1, families: [] }),
    cap({ kind: 'graceful-restart', restarting: false, notification: false, restartTimeSeconds: 2, families: [] }),
    cap({ kind: 'software-version', version: 'a' }),
    cap({ kind: 'software-version', version: 'b' }),
  ]);
  assert.deepEqual(offer.families, [IPV4_UNICAST, IPV6_UNICAST]);
  assert.equal(offer.gracefulRestart?.restartTimeSeconds, 2);
  assert.equal(offer.softwareVersion, 'b');
});

test('RFC 7911 §4 an ADD-PATH entry with another mode is passed over, the first of a family counts', () => {
  assert.deepEqual(readOffer([{ code: 69, value: hex('00010104 00010103 00010101 00020100') }]).addPath, [
    { family: IPV4_UNICAST, mode: 'send-receive' },
  ]);
});

test('H10 a host name of control characters is read as text and decides nothing', () => {
  const offer = readOffer([{ code: 73, value: hex('05 0a001b2280 00') }]);
  assert.deepEqual([offer.hostName, offer.domainName, offer.malformed], ['\n\0\u001b"\ufffd', '', []]);
});

function cap(typed: TypedCapability) {
  return writeCapability(typed);
}

function openOf(asn: number, ...typed: TypedCapability[]): OpenMessage {
  return { ...GOOD, myAs: shortAs(asn), capabilities: [cap({ kind: 'asn4', asn }), ...typed.map(cap)] };
}

const V4: TypedCapability = { kind: 'multiprotocol', family: IPV4_UNICAST };
const V6: TypedCapability = { kind: 'multiprotocol', family: IPV6_UNICAST };

test('RFC 4760 §8 families are those both announce; without any it is IPv4 unicast', () => {
  const both = negotiate(
    openOf(64500, V6, V4),
    openOf(64512, V4, V6, { kind: 'multiprotocol', family: parseFamily('l2vpn/evpn') }),
  );
  assert.deepEqual(both.families, [IPV4_UNICAST, IPV6_UNICAST]);
  assert.deepEqual(negotiate(openOf(64500, V4, V6), openOf(64512)).families, [IPV4_UNICAST]);
  assert.deepEqual(negotiate(openOf(64500, V6), openOf(64512)).families, []);
});

test('RFC 4271 §4.2 the smaller hold time, a third of it for KEEPALIVE', () => {
  const at = (ours: number, theirs: number) => {
    const { holdTimeSeconds, keepaliveSeconds } = negotiate(
      { ...openOf(1), holdTimeSeconds: ours },
      { ...openOf(2), holdTimeSeconds: theirs },
    );
    return [holdTimeSeconds, keepaliveSeconds];
  };
  assert.deepEqual(at(90, 30), [30, 10]);
  assert.deepEqual(at(9, 90), [9, 3]);
  assert.deepEqual(at(90, 0), [0, 0]);
});

test('RFC 7911 §4 ADD-PATH is on where one side sends and the other receives', () => {
  const mode = (m: 'send' | 'receive' | 'send-receive'): TypedCapability => ({
    kind: 'addpath',
    families: [{ family: IPV4_UNICAST, mode: m }],
  });
  const agreed = (a: 'send' | 'receive' | 'send-receive', b: 'send' | 'receive' | 'send-receive') => {
    const result = negotiate(openOf(64500, V4, mode(a)), openOf(64512, V4, mode(b)));
    return [result.addPathSend.length, result.addPathReceive.length];
  };
  assert.deepEqual(agreed('send', 'receive'), [1, 0]);
  assert.deepEqual(agreed('send-receive', 'send'), [0, 1]);
  assert.deepEqual(agreed('send-receive', 'send-receive'), [1, 1]);
  assert.deepEqual(agreed('send', 'send'), [0, 0]);
});

test('RFC 8654 §4 long messages: we may send when both announced, the peer may when we did', () => {
  const long: TypedCapability = { kind: 'extended-message' };
  const sides = (a: boolean, b: boolean) => {
    const result = negotiate(a ? openOf(1, long) : openOf(1), b ? openOf(2, long) : openOf(2));
    return [
      result.extendedMessageSend,
      result.extendedMessageReceive,
      result.send.extendedMessage,
      result.receive.extendedMessage,
    ];
  };
  assert.deepEqual(sides(true, true), [true, true, true, true]);
  assert.deepEqual(sides(true, false), [false, true, false, true]);
  assert.deepEqual(sides(false, true), [false, false, false, false]);
});

test('RFC 6793 §4.1 four octets only when both announce them', () => {
  const old: OpenMessage = { ...GOOD, capabilities: [] };
  assert.equal(negotiate(openOf(70014), openOf(64512)).asn4, true);
  assert.equal(negotiate(openOf(70014), old).asn4, false);
  assert.equal(negotiate(openOf(70014), old).localAs, 70014);
});

test('what the peer announced alone is not agreed', () => {
  const gr: TypedCapability = {
    kind: 'graceful-restart',
    restarting: false,
    notification: false,
    restartTimeSeconds: 120,
    families: [],
  };
  const llgr: TypedCapability = { kind: 'llgr', families: [{ family: IPV4_UNICAST, forwarding: false, staleTimeSeconds: 60 }] };
  const rich = openOf(64512, { kind: 'route-refresh' }, { kind: 'enhanced-refresh' }, { kind: 'link-local-nexthop' }, gr, llgr);
  const poor = negotiate(openOf(64500), rich);
  assert.deepEqual(
    [poor.routeRefresh, poor.enhancedRefresh, poor.linkLocalNextHop, poor.gracefulRestart, poor.longLived],
    [false, false, false, undefined, []],
  );
  const same = negotiate(rich, rich);
  assert.deepEqual([same.routeRefresh, same.enhancedRefresh, same.linkLocalNextHop], [true, true, true]);
  assert.equal(same.gracefulRestart?.restartTimeSeconds, 120);
  assert.equal(same.longLived.length, 1);
  assert.equal(same.ebgp, false);
});

test('RFC 8950 §4 an IPv6 next hop for IPv4 enters the contexts when both announce it', () => {
  const nextHop: TypedCapability = { kind: 'extended-nexthop', nextHops: [{ family: IPV4_UNICAST, nextHopAfi: 2 }] };
  assert.deepEqual(negotiate(openOf(1, nextHop), openOf(2, nextHop)).receive.extendedNextHop, [IPV4_UNICAST]);
  assert.deepEqual(negotiate(openOf(1, nextHop), openOf(2)).receive.extendedNextHop, []);
});

test('the policy is the receiver’s: it enters the receive side alone', () => {
  const { receive, send } = negotiate(openOf(1), openOf(2), { ...DEFAULT_POLICY, ownIpv4: 7 });
  assert.deepEqual([receive.enforceFirstAs, receive.refuseAsSets, receive.ownIpv4], [true, true, 7]);
  assert.deepEqual([send.enforceFirstAs, send.refuseAsSets, send.ownIpv4], [false, false, 0]);
});

const PAIRS: readonly (readonly [Role | undefined, readonly number[], boolean, string])[] = [
  ['provider', [3], false, ''],
  ['customer', [0], false, ''],
  ['rs', [2], false, ''],
  ['rs-client', [1], false, ''],
  ['peer', [4], false, ''],
  ['provider', [0], false, '2/11 '],
  ['peer', [3], false, '2/11 '],
  ['peer', [4, 3], false, '2/11 '],
  ['peer', [200], false, '2/11 '],
  ['peer', [], false, ''],
  ['peer', [], true, '2/11 '],
  [undefined, [3], true, ''],
];
for (const [local, remote, strict, want] of PAIRS) {
  test(`RFC 9234 §4.2 role ${local ?? 'none'} meets ${remote.join(' and ') || 'none'}${strict ? ', strict' : ''}`, () => {
    const offer = readOffer(remote.map((role) => cap({ kind: 'role', role })));
    const fault = judgeRole(local, offer, strict);
    assert.equal(fault === undefined ? '' : notice(fault), want);
  });
}

test('RFC 5492 §5 data of an unsupported capability', () => {
  assert.equal(notice(unsupportedCapability([V4, { kind: 'route-refresh' } as const].map(cap))), '2/7 0104000100010200');
});

test('RFC 9072 §2 the extended form is written when the plain one is too short, and past 4096 nothing is', () => {
  const many = (count: number): OpenMessage => ({
    ...GOOD,
    capabilities: Array.from({ length: count }, () => ({ code: 200, value: new Uint8Array(9) })),
  });
  const plain = encodeOpen(many(23));
  assert.deepEqual([plain[28], plain[29]], [255, 2], '255 octets of parameters still fit the plain form');
  const extended = encodeOpen(many(24));
  assert.deepEqual([extended[28], extended[29]], [255, 255]);
  const back = decodeOpen(extended, 0, extended.length);
  assert.ok(back.ok);
  assert.deepEqual(back.value, many(24));
  assert.throws(() => encodeOpen(many(400)), RangeError);
  assert.throws(() => encodeOpen({ ...GOOD, capabilities: [{ code: 1, value: new Uint8Array(256) }] }), RangeError);
});

test('capability names: for people, and in events', () => {
  assert.equal(capabilityLabel(64), 'graceful-restart');
  assert.equal(capabilityLabel(200), 'unknown-200');
  assert.equal(capabilityEventName(64), 'unknown-64');
  assert.equal(capabilityEventName(69), 'addpath');
});

test('equal facts give one context; an id counts bytes, a checkId judgement', () => {
  const table = new ContextTable();
  const { receive } = negotiate(openOf(64500, V4, V6), openOf(64512, V4, V6));
  const a = table.intern(receive);
  assert.equal(table.intern({ ...receive, families: [...receive.families].reverse() }), a);
  const otherPeer = table.intern({ ...receive, peerAs: 64513 });
  assert.deepEqual([otherPeer.id === a.id, otherPeer.checkId === a.checkId], [true, false]);
  const twoOctets = table.intern({ ...receive, asn4: false });
  assert.notEqual(twoOctets.id, a.id);
  assert.equal(table.size, 3);
  assert.equal(twoOctets.expectedFirstAs, 64512);
  assert.equal(table.intern({ ...receive, asn4: false, peerAs: 70014 }).expectedFirstAs, 23456);
});
