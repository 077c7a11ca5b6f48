import assert from 'node:assert/strict';
import test from 'node:test';
import { globMatches, PeerSelector } from '../../../engine/codec/peer-selector.ts';

const PEERS = [
  { name: 'edge', remoteAddress: '192.0.2.1', remoteAs: 65001 },
  { name: 'core-a', remoteAddress: '192.168.7.9', remoteAs: 65002 },
  { name: 'core-b', remoteAddress: '2001:db8::1', remoteAs: 65002 },
  { name: 'as99', remoteAddress: '198.51.100.1', remoteAs: 4200000000 },
];

const CASES: readonly (readonly [selector: string, names: readonly string[]])[] = [
  ['*', ['edge', 'core-a', 'core-b', 'as99']],
  ['192.0.2.1', ['edge']],
  ['2001:db8::1', ['core-b']],
  ['2001:0DB8:0:0::1', ['core-b']],
  ['edge', ['edge']],
  ['as65002', ['core-a', 'core-b']],
  ['AS65002', ['core-a', 'core-b']],
  ['as4200000000', ['as99']],
  ['as99', ['as99']],
  ['192.168.*.*', ['core-a']],
  ['*.1', ['edge', 'as99']],
  ['core-*', ['core-a', 'core-b']],
  ['!192.0.2.1', ['core-a', 'core-b', 'as99']],
  ['!edge,!core-a', ['core-b', 'as99']],
  ['*,!edge', ['core-a', 'core-b', 'as99']],
  ['as65002,!core-a', ['core-b']],
  ['edge,core-a,edge', ['edge', 'core-a']],
  ['edge, core-a', ['edge', 'core-a']],
  ['nobody', []],
  ['10.*', []],
];
for (const [text, names] of CASES) {
  test(`selector ${text}`, () => {
    const parsed = PeerSelector.parse(text);
    assert.ok(parsed.ok);
    assert.deepEqual(
      PEERS.filter((peer) => parsed.value.matches(peer)).map((peer) => peer.name),
      names,
    );
  });
}

const FAULTS: readonly (readonly [selector: string, column: number, message: string])[] = [
  ['', 1, 'empty peer selector'],
  ['a,,b', 3, 'empty member in peer selector'],
  ['a,!', 3, 'empty member in peer selector'],
  ['a b', 1, 'bad peer selector: a b'],
  ['!!a', 1, 'bad peer selector: !a'],
];
for (const [text, column, message] of FAULTS) {
  test(`selector "${text}": ${message}`, () =>
    assert.deepEqual(PeerSelector.parse(text), { ok: false, fault: { message, column } }));
}

test('raw needs one peer by address', () => {
  for (const [text, address] of [
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8:0::1', '2001:db8::1'],
    ['edge', undefined],
    ['*', undefined],
    ['192.0.2.*', undefined],
    ['!192.0.2.1', undefined],
    ['192.0.2.1,192.0.2.2', undefined],
  ] as const) {
    const parsed = PeerSelector.parse(text);
    assert.ok(parsed.ok);
    assert.equal(parsed.value.singleAddress, address, text);
  }
});

test('a glob costs no more than pattern times text', () => {
  const pattern = `${'*a'.repeat(200)}b`;
  assert.equal(globMatches(pattern, 'a'.repeat(2000)), false);
  assert.equal(globMatches('*', ''), true);
  assert.equal(globMatches('a*c*e', 'abcde'), true);
  assert.equal(globMatches('a*c*e', 'abcdef'), false);
});
