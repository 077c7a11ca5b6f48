import assert from 'node:assert/strict';
import test from 'node:test';
import { CodecRegistry, ENGINE, type FamilyDeclaration } from '../../../engine/codec/registry.ts';
import { IPV4_UNICAST, parseFamily } from '../../../sdk/wire/family.ts';

const FLOW = parseFamily('ipv4/flow');

const REFUSALS: readonly (readonly [declaration: FamilyDeclaration, message: string])[] = [
  [{ name: '' }, 'family declaration missing name'],
  [{ name: 'ipv4' }, 'invalid family name "ipv4" (expected afi/safi)'],
  [{ name: 'a/b/c' }, 'invalid family name "a/b/c" (expected afi/safi)'],
  [{ name: '/flow' }, 'invalid family name "/flow" (expected afi/safi)'],
  [{ name: `${'x'.repeat(80)}/y/` }, `invalid family name "${'x'.repeat(64)}…" (expected afi/safi)`],
  [{ name: 'my/own' }, 'family "my/own": plugin sent AFI=0 SAFI=0 and family is not pre-registered'],
  [{ name: 'ipv4/flow', afi: 1, safi: 134 }, 'family registration conflict: ipv4/flow is AFI 1 SAFI 133'],
  [{ name: 'my/own', afi: 1, safi: 133 }, 'family registration conflict: AFI 1 SAFI 133 is ipv4/flow'],
  [{ name: 'ipv4/unicast', mode: 'decode' }, 'registration conflict: family conflict: ipv4/unicast already registered by engine'],
];
for (const [declaration, message] of REFUSALS) {
  test(message, () => assert.equal(new CodecRegistry().claim('p', [declaration]), message));
}

test('a family has one decoder; the same claim again is nothing; a release frees it', () => {
  const registry = new CodecRegistry();
  assert.equal(registry.claim('a', [{ name: 'IPV4/Flow', mode: 'both', afi: 1, safi: 133 }]), undefined);
  assert.equal(registry.claim('a', [{ name: 'ipv4/flow', mode: 'both' }]), undefined);
  assert.match(registry.claim('b', [{ name: 'ipv4/flow', mode: 'decode' }]) ?? '', /already registered by a$/);
  assert.equal(registry.claim('b', [{ name: 'ipv4/flow' }]), undefined, 'encode alone conflicts with nobody');
  assert.deepEqual([registry.decoder(FLOW), registry.encoder(FLOW)], ['a', 'a']);
  registry.release('a');
  assert.deepEqual([registry.decoder(FLOW), registry.encoder(FLOW)], ['', '']);
  assert.equal(registry.decoder(IPV4_UNICAST), ENGINE);
});

test('claims are all or nothing', () => {
  const registry = new CodecRegistry();
  assert.notEqual(registry.claim('a', [{ name: 'ipv4/flow', mode: 'both' }, { name: 'bad' }]), undefined);
  assert.equal(registry.decoder(FLOW), '');
});

test('a family of a plugin has a name both ways, also after the plugin is gone', () => {
  const registry = new CodecRegistry();
  assert.equal(registry.claim('a', [{ name: 'my/own', mode: 'both', afi: 16399, safi: 200 }]), undefined);
  const family = (16399 << 8) | 200;
  assert.deepEqual([registry.number('my/own'), registry.name(family)], [family, 'my/own']);
  registry.release('a');
  assert.equal(registry.name(family), 'my/own');
  assert.match(
    registry.claim('b', [{ name: 'my/own', mode: 'both', afi: 1, safi: 200 }]) ?? '',
    /^family registration conflict: /,
  );
});

test('a codec in this process answers at once, for families it has claimed', () => {
  const registry = new CodecRegistry();
  const codec = { decode: () => ['decoded'], encode: () => 'no' };
  registry.install('a', FLOW, codec);
  assert.equal(registry.decodeNow(FLOW, new Uint8Array(0), false), undefined);
  registry.claim('a', [{ name: 'ipv4/flow', mode: 'both' }]);
  registry.install('a', FLOW, codec);
  assert.deepEqual(registry.decodeNow(FLOW, new Uint8Array(0), false), ['decoded']);
  assert.equal(registry.encodeNow(FLOW, []), 'no');
  registry.release('a');
  assert.equal(registry.decodeNow(FLOW, new Uint8Array(0), false), undefined);
});
