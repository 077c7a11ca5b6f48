// What plugins may call: selectors and grants of update-route, destinations of forward-cached, the codecs, installed routes.
import assert from 'node:assert/strict';
import test from 'node:test';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { WireCodec } from '../../../engine/codec/wire-codec.ts';
import { engineServices, type ServiceParts } from '../../../engine/compose/services.ts';
import { AnswerReader } from '../../../sdk/rpc/answer.ts';
import { documentAnswer } from '../../../sdk/rpc/records.ts';

const PEERS = [
  { index: 0, name: 'left', group: '', remoteAddress: '192.0.2.1', remoteAs: 65001, localAddress: '192.0.2.9', localAs: 65000 },
  { index: 1, name: 'right', group: '', remoteAddress: '2001:db8::2', remoteAs: 65002, localAddress: '', localAs: 65000 },
];

function setUp() {
  const asked: unknown[] = [];
  const registry = new CodecRegistry();
  const nobody = {
    decodeNlri: () => Promise.reject(new Error('nobody')),
    encodeNlri: () => Promise.reject(new Error('nobody')),
  };
  const dispatcher = {
    dispatch: (text: string) => {
      asked.push(text);
      return new AnswerReader(documentAnswer({ announced: 3 }));
    },
    dispatchArgs: (input: unknown) => {
      asked.push(input);
      return new AnswerReader(documentAnswer({ installed: 2, removed: 1 }));
    },
  };
  const parts: ServiceParts = {
    dispatcher: dispatcher as unknown as ServiceParts['dispatcher'],
    codec: new WireCodec(registry, nobody),
    routes: {
      update: (owner, peers, text) => {
        asked.push([owner, peers, text]);
        return Promise.resolve(
          text.includes('rubbish')
            ? { ok: false, fault: { message: 'unknown keyword', column: 13 } }
            : {
                ok: true,
                value: {
                  announced: 1,
                  withdrawn: 0,
                  peersAffected: peers.length,
                  routesSent: peers.length,
                  warnings: [],
                  eor: [],
                },
              },
        );
      },
    },
    peers: { list: () => PEERS },
    bus: { emit: (input) => (input.type === 'seen' ? { ok: true, delivered: 2 } : { ok: false, message: 'unknown event: x/y' }) },
    reactor: {
      forwardCached: (...args) => {
        asked.push(['forward', ...args]);
        return Promise.resolve(args[1].includes(404) ? 'update-id expired or not found' : undefined);
      },
      releaseCached: (...args) => {
        asked.push(['release', ...args]);
        return Promise.resolve(undefined);
      },
    },
    granted: (plugin, _send, peer) => plugin === 'trusted' || (plugin === 'half' && peer === 0),
  };
  return { asked, services: engineServices(parts), signal: new AbortController().signal };
}

const TEXT = 'update text next-hop self nlri ipv4/unicast add 10.0.0.0/8';

test('update-route goes to the peers of its selector that the plugin may send to', async (t) => {
  const cases: readonly (readonly [plugin: string, selector: string | undefined, peers: readonly number[] | RegExp])[] = [
    ['trusted', undefined, [0, 1]],
    ['trusted', '*', [0, 1]],
    ['trusted', 'right', [1]],
    ['trusted', 'as65001,2001:db8::2', [0, 1]],
    ['trusted', '!left', [1]],
    ['half', '*', [0]],
    ['half', 'right', /half may not send updates to "right"/],
    ['nobody', '*', /may not send updates/],
    ['trusted', 'nowhere', /no peer matches "nowhere"/],
  ];
  for (const [plugin, selector, expected] of cases) {
    await t.test(`${plugin} ${selector ?? '(none)'}`, async () => {
      const { asked, services, signal } = setUp();
      const call = services.calls['ze-plugin-engine:update-route'];
      assert.ok(call);
      const input = { command: TEXT, ...(selector === undefined ? {} : { 'peer-selector': selector }) };
      if (expected instanceof RegExp) {
        await assert.rejects(async () => call(plugin, input, signal), expected);
        return;
      }
      assert.deepEqual(await call(plugin, input, signal), {
        announced: 1,
        withdrawn: 0,
        'peers-affected': expected.length,
        'routes-sent': expected.length,
      });
      assert.deepEqual(asked, [[`plugin:${plugin}`, expected, TEXT]]);
    });
  }
});

test('a bad route command names its column; any other command of a peer goes through the command tree', async () => {
  const { asked, services, signal } = setUp();
  const call = services.calls['ze-plugin-engine:update-route'];
  assert.ok(call);
  await assert.rejects(async () => call('trusted', { command: 'update text rubbish' }, signal), /unknown keyword \(column 13\)/);
  const answer = await call('trusted', { command: 'flush', 'peer-selector': 'left' }, signal);
  assert.equal(answer.announced, 3);
  assert.equal(asked.at(-1), 'peer left flush');
});

test('forward-cached takes addresses with and without ports; what cannot be forwarded is released', async () => {
  const { asked, services, signal } = setUp();
  const call = services.calls['ze-plugin-engine:forward-cached'];
  assert.ok(call);
  await call('trusted', { ids: [7], destinations: ['192.0.2.1:179', '[2001:db8::2]:179', '198.51.100.1', 'rubbish'] }, signal);
  assert.deepEqual(asked.at(-1), ['forward', 'trusted', [7], [0, 1]]);
  await call('trusted', { ids: [], destinations: [] }, signal);
  assert.equal(asked.length, 1);
  await assert.rejects(
    async () => call('trusted', { ids: [8], destinations: ['198.51.100.1'] }, signal),
    /no destination is a peer/,
  );
  assert.deepEqual(asked.at(-1), ['release', 'trusted', [8]]);
  await assert.rejects(async () => call('trusted', { ids: [404], destinations: ['192.0.2.1'] }, signal), /expired or not found/);
});

test('codecs, events and installed routes answer by value', async () => {
  const { asked, services, signal } = setUp();
  const { calls } = services;
  assert.deepEqual(await calls['ze-plugin-engine:decode-nlri']?.('p', { family: 'ipv4/unicast', hex: '180a0000' }, signal), {
    json: '10.0.0.0/24',
  });
  assert.deepEqual(
    await calls['ze-plugin-engine:encode-nlri']?.('p', { family: 'ipv4/unicast', args: ['10.0.0.0/24'] }, signal),
    {
      hex: '180a0000',
    },
  );
  await assert.rejects(
    async () => calls['ze-plugin-engine:decode-update']?.('p', { hex: '00' }, signal),
    /UPDATE body too short: 1 bytes/,
  );
  assert.deepEqual(
    await calls['ze-plugin-engine:emit-event']?.('p', { namespace: 'x', 'event-type': 'seen', event: '' }, signal),
    {
      delivered: 2,
    },
  );
  await assert.rejects(
    async () => calls['ze-plugin-engine:emit-event']?.('p', { namespace: 'x', 'event-type': 'y', event: '' }, signal),
    /unknown event/,
  );
  assert.deepEqual(await calls['ze-plugin-engine:route-install']?.('p', { routes: [] }, signal), { installed: 2 });
  assert.deepEqual(asked.at(-1), { command: 'rib install', args: ['p', '[]'] });
  assert.equal(calls['ze-plugin-engine:inject-wire-route'], undefined);
});
