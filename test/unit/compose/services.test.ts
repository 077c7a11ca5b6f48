// What plugins may call: selectors and grants of update-route, destinations of forward-cached, the codecs, installed routes.
import assert from 'node:assert/strict';
import test from 'node:test';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { WireCodec } from '../../../engine/codec/wire-codec.ts';
import { ManualClock } from '../../../engine/core/clock.ts';
import { engineServices, type ServiceParts } from '../../../engine/compose/services.ts';
import { DnsLookup } from '../../../engine/host/services/dns-lookup.ts';
import { StateStore } from '../../../engine/host/services/state-store.ts';
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
      return new AnswerReader(documentAnswer({ installed: 2, removed: 1, accepted: 1, rejected: 0, early: 0 }));
    },
  };
  const parts: ServiceParts = {
    dispatcher: dispatcher as unknown as ServiceParts['dispatcher'],
    codec: new WireCodec(registry, nobody),
    registry,
    state: new StateStore(undefined),
    dns: new DnsLookup({ clock: new ManualClock() }),
    maxDestinations: () => 4,
    isPlugin: (name) => name === 'half',
    routes: {
      prepare: () => undefined,
      update: (owner, peers, text, meta) => {
        asked.push(meta === '' ? [owner, peers, text] : [owner, peers, text, meta]);
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
      relayStored: (destination, routes) => {
        asked.push(['relay', destination, routes]);
        return Promise.resolve(routes.map((route) => (route.nlri[0] === 99 ? 'malformed NLRI' : '')));
      },
      inject: (...args) => {
        asked.push(['inject', ...args]);
        return Promise.resolve(args[2] === 'nowhere' ? 'no route injector registered' : undefined);
      },
      eject: (owner) => void asked.push(['eject', owner]),
    },
    sees: (plugin) => plugin !== 'blind',
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
  await assert.rejects(
    async () => call('trusted', { ids: [9], destinations: Array.from({ length: 5 }, () => '192.0.2.1') }, signal),
    /too many destinations: 5 \(max 4\)/,
  );
  assert.deepEqual(asked.at(-1), ['release', 'trusted', [9]]);
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
});

const ROUTE = {
  'source-peer': '192.0.2.1',
  family: 'ipv4/unicast',
  'attr-hex': '40010100',
  'next-hop-hex': 'c0000201',
  'nlri-hex': '180a0000',
};

test('relay-stored-route reads its routes, keeps to grants and says which was refused', async (t) => {
  const cases: readonly (readonly [
    name: string,
    plugin: string,
    destination: string,
    routes: readonly object[],
    RegExp | number,
  ])[] = [
    ['all fields', 'trusted', '2001:db8:0::2', [{ ...ROUTE, 'path-id': 7, 'nlri-framing': 'prefix-only' }], 1],
    ['no routes', 'nobody', '192.0.2.77', [], 0],
    ['a name is no destination', 'trusted', 'right', [], /bad destination "right"/],
    ['a stranger', 'trusted', '192.0.2.77', [ROUTE], /destination 192.0.2.77 is not a configured peer/],
    ['no grant', 'half', '2001:db8::2', [ROUTE], /half may not send updates to 2001:db8::2/],
    ['unknown family', 'trusted', '192.0.2.1', [{ ...ROUTE, family: 'ipx/unicast' }], /route 0: unknown family: ipx/],
    ['no hex', 'trusted', '192.0.2.1', [{ ...ROUTE, 'attr-hex': '4' }], /route 0: attr-hex is no hex/],
    ['no route', 'trusted', '192.0.2.1', [{ ...ROUTE, 'nlri-hex': '' }], /route 0: nlri-hex is no hex of a route/],
    ['no source', 'trusted', '192.0.2.1', [{ ...ROUTE, 'source-peer': 'left' }], /route 0: bad source-peer "left"/],
    ['bad path id', 'trusted', '192.0.2.1', [{ ...ROUTE, 'path-id': -1 }], /route 0: bad path-id -1/],
    [
      'the reactor refuses one',
      'trusted',
      '2001:db8::2',
      [ROUTE, { ...ROUTE, 'nlri-hex': '630a' }],
      /route 1: malformed NLRI \(1 of 2/,
    ],
  ];
  for (const [name, plugin, destination, routes, expected] of cases) {
    await t.test(name, async () => {
      const { asked, services, signal } = setUp();
      const call = async (): Promise<unknown> =>
        services.calls['ze-plugin-engine:relay-stored-route']?.(plugin, { destination, routes: routes as never }, signal);
      if (typeof expected !== 'number') await assert.rejects(call, expected);
      else {
        assert.equal(await call(), undefined);
        assert.equal(asked.length, expected);
      }
    });
  }
  await t.test('an unknown framing counts as none, addresses are brought to one spelling', async () => {
    const { asked, services, signal } = setUp();
    const route = { ...ROUTE, 'source-peer': '2001:DB8:0::2', 'nlri-framing': 'sideways' as never };
    await services.calls['ze-plugin-engine:relay-stored-route']?.(
      'trusted',
      { destination: '192.0.2.1', routes: [route] },
      signal,
    );
    assert.deepEqual(asked, [
      [
        'relay',
        0,
        [
          {
            source: '2001:db8::2',
            family: 0x101,
            attributes: Uint8Array.of(0x40, 1, 1, 0),
            nextHop: Uint8Array.of(192, 0, 2, 1),
            nlri: Uint8Array.of(24, 10, 0, 0),
            pathId: 0,
            framing: 'unrecorded',
          },
        ],
      ],
    ]);
  });
});

test('inject-wire-route hands bytes on, names what is no base64 and who is not there', async () => {
  const { asked, services, signal } = setUp();
  const call = async (key: string, body: string): Promise<unknown> =>
    services.calls['ze-plugin-engine:inject-wire-route']?.(
      'p',
      { protocol: 'bmp', 'peer-key': key, 'update-body': body },
      signal,
    );
  await call('192.0.2.9', 'AAAAAA==');
  assert.deepEqual(asked, [['inject', 'p', 'bmp', '192.0.2.9', new Uint8Array(4)]]);
  await assert.rejects(call('k', 'A'), /inject-wire-route: update-body is no base64/);
  await assert.rejects(call('nowhere', 'AAAAAA=='), /^RpcError: inject-wire-route: no route injector registered/);
  services.released?.('p');
  assert.deepEqual(asked.slice(-2), [['eject', 'p'], { command: 'rib remove', args: ['p'] }]);
});

const DECISION = { Accept: true, PeerAddr: '192.0.2.1', Family: 'ipv4/unicast', Prefix: '10.0.0.0/8', PathID: 0, ValState: 1 };

test('batch-validate reads every decision before one is carried out', async (t) => {
  for (const [change, expected] of [
    [{ PeerAddr: 'left' }, /decision 1: bad PeerAddr "left"/],
    [{ Family: 'l2vpn/evpn' }, /decision 1: unsupported Family "l2vpn\/evpn"/],
    [{ Prefix: '2001:db8::/32' }, /decision 1: bad Prefix/],
    [{ PathID: 2 ** 32 }, /decision 1: bad PathID/],
    [{ ValState: 1.5 }, /decision 1: bad ValState/],
  ] as const) {
    await t.test(Object.keys(change)[0], async () => {
      const { asked, services, signal } = setUp();
      const decisions = [DECISION, { ...DECISION, ...change }];
      await assert.rejects(async () => services.calls['ze-plugin-engine:batch-validate']?.('p', { decisions }, signal), expected);
      assert.deepEqual(asked, []);
    });
  }
  const { asked, services, signal } = setUp();
  const decisions = Array.from({ length: 4097 }, () => DECISION);
  const answer = await services.calls['ze-plugin-engine:batch-validate']?.('p', { decisions }, signal);
  assert.deepEqual([answer, asked.length], [{ accepted: 2, rejected: 0, early: 0 }, 2]);
});

test('a protocol is a known one, the plugin itself or another plugin', async () => {
  const { services, signal } = setUp();
  const call = async (protocol: string): Promise<unknown> =>
    services.calls['ze-plugin-engine:route-remove']?.(
      'p',
      { routes: [{ protocol, afi: 1, safi: 1, prefix: '10.0.0.0/8', instance: 0 }] },
      signal,
    );
  for (const protocol of ['static', 'p', 'half']) assert.deepEqual(await call(protocol), { removed: 1 });
  await assert.rejects(call('nonsense'), /unknown protocol "nonsense" \(not registered in the engine\)/);
});

test('meta goes with the command as JSON, within its limit', async () => {
  const { asked, services, signal } = setUp();
  const call = async (meta: Record<string, unknown>): Promise<unknown> =>
    services.calls['ze-plugin-engine:update-route']?.('trusted', { command: TEXT, meta }, signal);
  await call({ 'source-peer': '192.0.2.1' });
  assert.deepEqual(asked, [['plugin:trusted', [0, 1], TEXT, '{"source-peer":"192.0.2.1"}']]);
  await assert.rejects(call({ long: 'x'.repeat(4096) }), /meta is longer than 4096 characters/);
});

test('state calls name a key or value they cannot take; without a directory the store is unavailable', async () => {
  const { services, signal } = setUp();
  const { calls } = services;
  await assert.rejects(
    async () => calls['ze-plugin-engine:state-get']?.('p', { key: 'a' }, signal),
    /state-get: key must begin with meta/,
  );
  await assert.rejects(
    async () => calls['ze-plugin-engine:state-put']?.('p', { key: 'meta/a', data: '!' }, signal),
    /state-put: data is no base64/,
  );
  const long = Buffer.alloc((1 << 20) + 1).toString('base64');
  await assert.rejects(
    async () => calls['ze-plugin-engine:state-put']?.('p', { key: 'meta/a', data: long }, signal),
    /state-put: data is longer than 1048576 bytes/,
  );
  assert.equal((await calls['ze-plugin-engine:state-get']?.('p', { key: 'meta/a' }, signal))?.status, 'unavailable');
  await assert.rejects(
    async () => calls['ze-plugin-engine:resolve-dns']?.('p', { name: '', type: 1 }, signal),
    /resolve-dns: no name given/,
  );
});
