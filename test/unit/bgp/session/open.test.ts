// The OPEN that settings and plugins make, and what of graceful restart is agreed by two of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptOpen, openFor, restartsGracefully } from '../../../../engine/bgp/session/open.ts';
import type { PluginCapability } from '../../../../engine/bgp/port.ts';
import type { TypedCapability } from '../../../../sdk/wire/capability/typed.ts';
import { writeCapability } from '../../../../sdk/wire/capability/typed.ts';
import { IPV4_UNICAST } from '../../../../sdk/wire/family.ts';
import { negotiate } from '../../../../sdk/wire/negotiate.ts';
import { encodeOpen, type OpenMessage } from '../../../../sdk/wire/open.ts';
import { peerSettings, toHex } from '../lab.ts';

const restart = (restartTimeSeconds: number, families: readonly number[]): TypedCapability => ({
  kind: 'graceful-restart',
  restarting: false,
  notification: false,
  restartTimeSeconds,
  families: families.map((family) => ({ family, forwarding: false })),
});

const plugin = (capability: TypedCapability, peers: readonly string[] = []): PluginCapability => ({
  plugin: 'restarter',
  ...writeCapability(capability),
  peers,
});

const listed = (open: OpenMessage): string =>
  open.capabilities.map(({ code, value }) => `${code}:${toHex(value)}`.replace(/:$/, '')).join(' ');

const REFRESH = '1:00010001 2';
const ASN4 = '65:0000fbf4';

for (const [name, settings, plugins, expected] of [
  ['route refresh comes with the word that End-of-RIB is marked', {}, [], `${REFRESH} 64:0000 ${ASN4} 70`],
  ['without route refresh nothing is said of End-of-RIB', { routeRefresh: 'disable' }, [], `1:00010001 ${ASN4}`],
  [
    'graceful restart of a plugin stands in its place',
    {},
    [plugin(restart(120, [IPV4_UNICAST]))],
    `${REFRESH} 64:007800010100 ${ASN4} 70`,
  ],
  [
    'graceful restart of a plugin for another peer does not',
    {},
    [plugin(restart(120, [IPV4_UNICAST]), ['p9'])],
    `${REFRESH} 64:0000 ${ASN4} 70`,
  ],
] as const) {
  test(`RFC 4724 §3: ${name}`, () => assert.equal(listed(openFor(peerSettings(2, settings), plugins)), expected));
}

for (const [name, settings, expected] of [
  ['a name and its domain', { hostname: { mode: 'enable', host: 'edge', domain: 'lab' } }, '73:0465646765036c6162'],
  ['a name alone', { hostname: { mode: 'require', host: 'edge', domain: '' } }, '73:046564676500'],
  ['no name', { hostname: { mode: 'disable', host: 'edge', domain: '' } }, ''],
  ['what runs here', { softwareVersion: { mode: 'enable', version: 'zest/1' } }, '75:067a6573742f31'],
  ['nothing of it', { softwareVersion: { mode: 'refuse', version: 'zest/1' } }, ''],
] as const) {
  test(`capabilities 73 and 75: ${name}`, () => {
    const words = listed(openFor(peerSettings(2, settings), [])).split(' ');
    assert.equal(words.filter((one) => /^7[35]:/.test(one)).join(' '), expected);
  });
}

for (const [mode, says, refused] of [
  ['require', false, true],
  ['require', true, false],
  ['refuse', true, true],
  ['refuse', false, false],
  ['enable', false, false],
] as const) {
  test(`a software version of mode ${mode}, from a peer that ${says ? 'tells' : 'does not tell'} its own`, () => {
    const ours = peerSettings(2, { softwareVersion: { mode, version: 'zest/1' } });
    const theirs = {
      ...peerSettings(2, says ? { softwareVersion: { mode: 'enable', version: 'other/2' } } : {}),
      localAs: ours.remoteAs,
      remoteAs: ours.localAs,
      routerId: 2,
    };
    const bytes = encodeOpen(openFor(theirs, []));
    const verdict = acceptOpen(ours, openFor(ours, []), 0, bytes, 0, bytes.length);
    assert.equal(verdict.ok, !refused, verdict.ok ? '' : JSON.stringify(verdict.notice));
  });
}

const family = (number: number): PluginCapability => plugin({ kind: 'multiprotocol', family: number });

for (const [name, settings, expected] of [
  ['a peer that states families offers these alone', {}, '1:00010001'],
  ['a peer that states none offers those of the plugins', { families: [] }, '1:00010001 1:401000c8'],
] as const) {
  test(`families that plugins decode: ${name}`, () => {
    const open = openFor(peerSettings(2, settings), [family(IPV4_UNICAST), family((16400 << 8) | 200)]);
    assert.equal(
      listed(open)
        .split(' ')
        .filter((one) => one.startsWith('1:'))
        .join(' '),
      expected,
    );
  });
}

for (const [name, ours, theirs, expected] of [
  ['both keep routes', [plugin(restart(120, [IPV4_UNICAST]))], restart(120, [IPV4_UNICAST]), true],
  ['we help a peer that keeps routes', [plugin(restart(120, []))], restart(120, [IPV4_UNICAST]), true],
  ['we only mark End-of-RIB', [], restart(120, [IPV4_UNICAST]), false],
  ['the peer only marks End-of-RIB', [plugin(restart(120, [IPV4_UNICAST]))], restart(0, []), false],
  ['the peer says nothing of it', [plugin(restart(120, [IPV4_UNICAST]))], { kind: 'route-refresh' }, false],
] as const) {
  test(`RFC 4724 §4.2: graceful restart ${expected ? 'stands' : 'does not stand'} when ${name}`, () => {
    const local = openFor(peerSettings(2), ours);
    const remote: OpenMessage = { ...local, routerId: 2, capabilities: [writeCapability(theirs)] };
    assert.equal(restartsGracefully(local, negotiate(local, remote)), expected);
  });
}
