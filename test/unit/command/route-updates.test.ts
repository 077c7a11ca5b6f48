// Route commands on their way to the reactor: who gets a route whose next hop is one of the peers, and what is said about the routes.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Origination } from '../../../engine/bgp/port.ts';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { RouteCommands } from '../../../engine/codec/route-command.ts';
import { RouteUpdates } from '../../../engine/command/route-updates.ts';

const nobody = {
  decodeNlri: () => Promise.reject(new Error('nobody')),
  encodeNlri: () => Promise.reject(new Error('nobody')),
};

function setUp(): { readonly updates: RouteUpdates; readonly asked: Origination[] } {
  const asked: Origination[] = [];
  const reactor = {
    originate: (batch: readonly Origination[]) => {
      asked.push(...batch);
      return Promise.resolve(
        batch.map(({ peers }) => ({
          announced: 1,
          withdrawn: 0,
          peersAffected: peers.length,
          routesSent: peers.length,
          warnings: [],
        })),
      );
    },
  };
  const address = (peer: number): string => ['192.0.2.1', '192.0.2.2', '2001:db8::1'][peer] ?? '';
  return { updates: new RouteUpdates(new RouteCommands(new CodecRegistry()), nobody, reactor, address), asked };
}

for (const [name, peers, command, expected] of [
  ['another address', [0, 1], 'next-hop 198.51.100.1 nlri ipv4/unicast add 10.0.0.0/8', [0, 1]],
  ['the address of one of two', [0, 1], 'next-hop 192.0.2.2 nlri ipv4/unicast add 10.0.0.0/8', [0]],
  ['IPv6', [0, 2], 'next-hop 2001:DB8:0::1 nlri ipv6/unicast add 2001:db8:1::/48', [0]],
  ['a withdraw names no next hop that counts', [1], 'next-hop 192.0.2.2 nlri ipv4/unicast del 10.0.0.0/8', [1]],
  ['its own alone', [1], 'next-hop 192.0.2.2 nlri ipv4/unicast add 10.0.0.0/8', /next-hop 192.0.2.2 is the peer's own address/],
] as const) {
  test(`RFC 4271 §5.1.3: next hop ${name}`, async () => {
    const { updates, asked } = setUp();
    const result = await updates.update('operator', peers, `update text ${command}`);
    if (expected instanceof RegExp) {
      assert.ok(!result.ok);
      assert.match(result.fault.message, expected);
      assert.deepEqual([result.fault.column, asked], [22, []]);
      return;
    }
    assert.ok(result.ok);
    assert.deepEqual(asked[0]?.peers, expected);
    assert.equal(result.value.warnings.length, peers.length - expected.length);
  });
}

test('what is said about routes goes with them, and nothing where nothing is said', async () => {
  const { updates, asked } = setUp();
  await updates.update('plugin:p', [0], 'update text nlri ipv4/unicast add 10.0.0.0/8', '{"a":1}');
  await updates.update('plugin:p', [0], 'update text nlri ipv4/unicast add 10.0.0.0/8');
  assert.deepEqual(
    asked.map((one) => one.meta),
    ['{"a":1}', undefined],
  );
});
