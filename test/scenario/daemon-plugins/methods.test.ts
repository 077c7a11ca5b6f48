// The calls of the plugin protocol end to end: an external plugin over TLS asks, the running daemon does, the wire, the tables and the disk
// show it.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';
import { toHex, update } from '../../wire/build.ts';

const SDK = join(import.meta.dirname, '../../../dist/sdk/plugin/index.js');

/** `NAME call METHOD ARGS`: ARGS is base64 of a JSON list; strings that begin with `b64:` become bytes. */
const plugin = `
import { Plugin } from ${JSON.stringify(SDK)};
const plugin = Plugin.fromEnv(process.env.ZE_PLUGIN_NAME);
const revive = (_key, value) => typeof value === 'string' && value.startsWith('b64:') ? new Uint8Array(Buffer.from(value.slice(4), 'base64')) : value;
plugin.onExecuteCommand(async ({ args = [] }) => {
  const [method, list] = args;
  if (method === 'exit') process.exit(0);
  try {
    const value = await plugin[method](...JSON.parse(Buffer.from(list, 'base64').toString(), revive));
    return { value: value ?? null };
  } catch (error) {
    return { fault: error.message };
  }
});
const commands = [{ name: process.env.ZE_PLUGIN_NAME + ' call', args: ['method', 'args'] }];
await plugin.run({ commands, 'failure-policy': 'restart', 'cache-consumer': true, 'cache-consumer-unordered': true });
`;

const hexOf = (number: number, bytes: number): string => number.toString(16).padStart(2 * bytes, '0');
/** ORIGIN, AS_PATH and a next hop. */
const block = (path: readonly number[], hop = 'c6336401'): string =>
  `40010100 4002${hexOf(2 + 4 * path.length, 1)}02${hexOf(path.length, 1)}${path.map((as) => hexOf(as, 4)).join('')} 400304${hop}`;
const body = (withdrawn: string, attributes: string, nlri: string): string =>
  toHex(update({ withdrawn, attributes, nlri }).slice(19));

interface Cached {
  readonly id: number;
  readonly peer: string;
  readonly 'waiting-for': readonly string[];
}

interface World {
  readonly zest: ZestProcess;
  readonly source: RawSpeaker;
  readonly taker: RawSpeaker;
  readonly call: (method: string, ...args: readonly unknown[]) => Promise<unknown>;
  /** Bodies of UPDATEs that hold this, as the taker got them. */
  readonly got: (part: string) => readonly string[];
}

async function world(t: TestContext, folder = mkdtempSync(join(tmpdir(), 'zest-methods-'))): Promise<World> {
  const port = await freePort();
  writeFileSync(join(folder, 'tool.mjs'), plugin);
  const peer = (name: string, host: number, grant: string): string => `
    peer ${name} {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.${host}; connect false; } }
        session { asn { remote ${64500 + host}; } family { ipv4/unicast { prefix { maximum 100; } } } }
        ${grant}
    }`;
  const config = `
plugin { external rs { use bgp-rs; } external tool { run "exec node tool.mjs"; } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    route-server { best-path true; }
${peer('source', 2, 'process tool { receive [ update ]; send [ update ]; }')}
${peer('taker', 3, 'process tool { send [ update ]; }')}
${peer('closed', 4, '')}
}
`;
  const zest = await ZestProcess.start(config, {}, folder);
  const speaker = (host: number): Promise<RawSpeaker> =>
    RawSpeaker.establish({ port, local: `127.0.0.${host}`, as: 64500 + host });
  const [source, taker] = [await speaker(2), await speaker(3)];
  t.after(async () => {
    await Promise.all([source.close(), taker.close()]);
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    zest,
    source,
    taker,
    call: async (method, ...args) => {
      const answer = await zest.json('tool', 'call', method, Buffer.from(JSON.stringify(args)).toString('base64'));
      return answer['fault'] ?? answer['value'];
    },
    got: (part) => taker.updates().filter((one) => one.includes(part)),
  };
}

async function best({ zest }: World): Promise<readonly string[]> {
  const answer = (await zest.json('rib', 'best')) as { 'best-path'?: readonly Record<string, unknown>[] };
  return (answer['best-path'] ?? []).map((row) => `${String(row['prefix'])} ${String(row['best-peer'])}`).sort();
}

test('relayed, injected, refused and installed routes of a plugin, as the wire and the tables show them', async (t) => {
  const one = await world(t);
  const { call, source, taker, zest } = one;

  await t.test('relay-stored-route: as a live forward from its source', async () => {
    const stored = {
      'source-peer': '127.0.0.2',
      family: 'ipv4/unicast',
      'attr-hex': block([64502]).replaceAll(' ', ''),
      'next-hop-hex': 'c6336401',
      'nlri-hex': '180a0100',
      'nlri-framing': 'prefix-only',
    };
    assert.equal(await call('relayStoredRoute', '127.0.0.3', [stored]), null);
    await taker.until('the relayed route', () => one.got('180a0100').length > 0);
    assert.deepEqual(one.got('180a0100'), [body('', block([64500, 64502], '7f000001'), '180a0100')]);
    assert.equal(await call('relayStoredRoute', '127.0.0.3', []), null);
    assert.match(String(await call('relayStoredRoute', 'nowhere', [stored])), /relay-stored-route: bad destination "nowhere"/);
    assert.match(String(await call('relayStoredRoute', '127.0.0.4', [stored])), /tool may not send updates to 127.0.0.4/);
  });

  await t.test('batch-validate: a refused route is withdrawn from peers, an accepted one announced again', async () => {
    const decision = (Accept: boolean): object => ({
      Accept,
      PeerAddr: '127.0.0.2',
      Family: 'ipv4/unicast',
      Prefix: '10.2.0.0/24',
      PathID: 0,
      ValState: Accept ? 1 : 3,
    });
    source.send(update({ attributes: block([64502]), nlri: '180a0200' }));
    await taker.until('the route', () => one.got('180a0200').length > 0);
    assert.deepEqual(await call('batchValidate', [decision(false)]), { accepted: 0, rejected: 1, early: 0 });
    await taker.until('the withdraw', () => one.got(body('180a0200', '', '')).length > 0);
    const received = (await zest.json('peer', '127.0.0.2', 'rib', 'routes', 'received')) as {
      'adj-rib-in'?: readonly Record<string, unknown>[];
    };
    assert.deepEqual(
      received['adj-rib-in']?.map((row) => [row['prefix'], row['rejected-by'], row['validation-state']]),
      [['10.2.0.0/24', 'tool', 3]],
    );
    assert.deepEqual(await call('batchValidate', [decision(true)]), { accepted: 1, rejected: 0, early: 0 });
    await taker.until('the route again', () => one.got('180a0200').filter((text) => !text.startsWith('0004')).length > 1);
    assert.match(
      String(await call('batchValidate', [{ ...decision(false), PeerAddr: '127.0.0.4' }])),
      /tool may not judge routes of 127\.0\.0\.4: no process tool \{ receive \[ update \] \} there/,
    );
    assert.match(
      String(await call('batchValidate', [{ ...decision(true), Prefix: 'x' }])),
      /batch-validate: decision 0: bad Prefix "x"/,
    );
  });

  await t.test('inject-wire-route: a candidate like any other, gone with its plugin', async () => {
    const bytes = (text: string): string => `b64:${Buffer.from(text, 'hex').toString('base64')}`;
    assert.equal(await call('injectWireRoute', 'bmp', '192.0.2.77', bytes(body('', block([65001]), '180a0300180a0200'))), null);
    await taker.until('the injected route', () => one.got('180a0300').length > 0);
    assert.deepEqual(one.got('180a0300'), [body('', block([64500, 65001], '7f000001'), '180a0300')]);
    assert.deepEqual(await best(one), ['10.2.0.0/24 127.0.0.2', '10.3.0.0/24 bmp:192.0.2.77']);
    assert.match(
      String(await call('injectWireRoute', 'bmp', '192.0.2.77', bytes(body('', '40010100', '180a0300')))),
      /inject-wire-route: attribute 2: mandatory attribute missing/,
    );
    assert.deepEqual((await best(one)).length, 2);
  });

  await t.test('route-install: an unknown protocol is refused, a known one is in the table', async () => {
    const entry = {
      protocol: 'static',
      afi: 1,
      safi: 1,
      prefix: '10.4.0.0/24',
      instance: 0,
      distance: 1,
      metric: 0,
      'next-hop': '198.51.100.4',
    };
    assert.equal(
      await call('routeInstall', [{ ...entry, protocol: 'nonsense' }]),
      'unknown protocol "nonsense" (not registered in the engine)',
    );
    assert.equal(await call('routeInstall', [entry, { ...entry, prefix: '10.4.0.0/33' }]), 'route-install: bad prefix');
    assert.equal(await call('routeInstall', [entry]), 1);
    assert.ok((await best(one)).includes('10.4.0.0/24 local'));
  });

  await t.test('update-route: meta is shown, globs of names select, a next hop that is the peer itself is refused', async () => {
    const command = (hop: string): string => `update text next-hop ${hop} nlri ipv4/unicast add 10.5.0.0/24`;
    const counts = (await call('updateRouteWithMeta', 'tak*', command('198.51.100.9'), { 'source-peer': '192.0.2.1' })) as object;
    assert.deepEqual(counts, { announced: 1, withdrawn: 0, peersAffected: 1, routesSent: 1 });
    const sent = (await zest.json('peer', 't*', 'rib', 'routes', 'sent', 'prefix', '10.5.')) as {
      'adj-rib-out'?: readonly Record<string, unknown>[];
    };
    assert.deepEqual(
      sent['adj-rib-out']?.map((row) => row['route-meta']),
      [{ 'source-peer': '192.0.2.1' }],
    );
    assert.match(
      String(await call('updateRoute', 'taker', command('127.0.0.3'))),
      /next-hop 127.0.0.3 is the peer's own address/,
    );
    assert.match(String(await call('updateRoute', 'taker', command('0.0.0.0'))), /unusable next-hop: 0.0.0.0/);
  });

  await t.test("cache: what waits for the plugin, in the operator's hands", async () => {
    assert.equal(await call('subscribeEvents', { events: ['update direction received'], peers: ['127.0.0.2'] }), null);
    source.send(update({ attributes: block([64502]), nlri: '180a0600' }));
    const entry = await eventually('the update is cached', async () => {
      const list: unknown = await zest.json('cache', 'list');
      const rows = Array.isArray(list) ? (list as readonly Cached[]) : [];
      return rows.find((row) => row.peer === '127.0.0.2');
    });
    assert.deepEqual(entry['waiting-for'], ['tool']);
    const before = one.got('180a0600').length;
    await zest.json('cache', String(entry.id), 'forward', 'taker');
    await taker.until('the forwarded update', () => one.got('180a0600').length > before);
    assert.equal(await call('releaseCached', [entry.id]), null);
    assert.match(String(await call('releaseCached', [entry.id])), /update-id expired or not found/);
  });

  await zest.cli('tool', 'call', 'exit');
  await taker.until('the injected route is withdrawn', () => one.got('180a0300').some((text) => text.startsWith('0004')));
  await eventually('nothing of the plugin is left', async () =>
    (await best(one)).join() === '10.2.0.0/24 127.0.0.2,10.6.0.0/24 127.0.0.2' ? true : undefined,
  );
});

test('state-…: kept on disk over a restart of the daemon, for each plugin its own', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-state-'));
  const value = Buffer.from('kept').toString('base64');
  {
    const one = await world(t, folder);
    assert.deepEqual(await one.call('stateGet', 'meta/a'), { status: 'absent' });
    assert.deepEqual(await one.call('statePut', 'meta/a', value), { status: 'ok' });
    assert.deepEqual(await one.call('stateIncrement', 'meta/n'), { status: 'ok', value: 1 });
    assert.match(String(await one.call('statePut', '../a', value)), /state-put: key must begin with meta/);
    assert.match(String(await one.call('resolveDns', '', 1)), /resolve-dns: no name given/);
    await Promise.all([one.source.close(), one.taker.close()]);
    await one.zest.stop();
  }
  const two = await world(t, folder);
  assert.deepEqual(await two.call('stateGet', 'meta/a'), { status: 'ok', data: value });
  assert.deepEqual(await two.call('stateIncrement', 'meta/n'), { status: 'ok', value: 2 });
  assert.deepEqual(await two.call('stateList', 'meta/'), { status: 'ok', keys: ['meta/a', 'meta/n'] });
  assert.deepEqual(await two.call('stateRemove', 'meta/a'), { status: 'ok' });
  assert.deepEqual(readdirSync(join(folder, 'state', 'plugins')), ['tool']);
});
