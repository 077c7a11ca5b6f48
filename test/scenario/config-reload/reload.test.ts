// Reloads as neighbours see them, byte by byte: what changed is sent once, what did not is not touched, a refused one leaves no trace, a storm
// of signals is a few reloads. Settings that wait for a start are named for as long as they do.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { UPDATE } from '../../../sdk/wire/message.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { reports } from '../../support/report-codes.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

interface Wish {
  /** MED of the second prefix of the first block. */
  readonly med?: number;
  readonly two?: boolean;
  readonly description?: string;
  readonly environment?: string;
}

const config = (port: number, { med = 1, two = true, description = 'as it was', environment = '' }: Wish = {}): string => `
environment { log { level info; } ${environment} }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } family { ipv4/unicast { prefix { maximum 100000; } } } }
    peer one {
        description "${description}"
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64512; } }
        update { attribute { origin igp; next-hop self; } nlri { ipv4/unicast add 192.0.2.0/25 198.51.100.0/24; } }
        update { attribute { origin igp; next-hop self; med ${med}; } nlri { ipv4/unicast add 203.0.113.0/24; } }
    }
    ${
      two
        ? `peer two {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.3; connect false; } }
        session { asn { remote 64513; } }
    }`
        : ''
    }
}
`;

/** An UPDATE of the neighbour for 10.N.N.0/24. */
function route(number: number, as: number): Uint8Array {
  const path = [0x40, 0x02, 0x06, 0x02, 0x01, 0, 0, as >> 8, as & 255];
  const attributes = [0x40, 0x01, 0x01, 0x00, ...path, 0x40, 0x03, 0x04, 127, 0, 0, 2];
  const body = [0, 0, 0, attributes.length, ...attributes, 24, 10, number >> 8, number & 255];
  return Uint8Array.from([...Array.from({ length: 16 }, () => 255), 0, 19 + body.length, 2, ...body]);
}

describe('reloads', { timeout: 600_000 }, () => {
  let port: number;
  let zest: ZestProcess;
  let one: RawSpeaker;
  let two: RawSpeaker;
  const reload = async (wish: Wish): Promise<Readonly<Record<string, unknown>>> => {
    writeFileSync(zest.configPath, config(port, wish));
    return await zest.json('daemon', 'reload');
  };
  const reloads = (): number => zest.output.split('configuration reloaded').length - 1;
  const text = async (): Promise<unknown> => (await zest.json('config', 'text'))['text'];
  const warning = async (): Promise<string | undefined> =>
    (await reports(zest)).filter((report) => report.code === 'config-restart').at(-1)?.message;

  before(async () => {
    port = await freePort();
    zest = await ZestProcess.start(config(port), { ze_reactor_cache_max: '5000' });
    one = await RawSpeaker.establish({ port, local: '127.0.0.2' });
    two = await RawSpeaker.establish({ port, local: '127.0.0.3', as: 64513 });
    await one.until('the routes of the configuration and End-of-RIB', () => one.count(UPDATE) === 3);
  });
  after(async () => {
    await one.close();
    await two.close();
    await zest.stop();
  });

  test('a changed update block is one UPDATE for the route that changed, and no withdrawal', async () => {
    const before = one.updates().length;
    const report = await reload({ med: 2 });
    assert.deepEqual([report['peers-changed'], report['peers-removed']], [['one'], []]);
    await one.until('the changed route', () => one.updates().length > before);
    // An announced route of another block behind it would have overtaken nothing: all that is to come has come with this one.
    await reload({ med: 3 });
    await one.until('the next change', () => one.updates().length > before + 1);
    const sent = one.updates().slice(before);
    assert.equal(sent.length, 2);
    for (const [at, update] of sent.entries()) {
      assert.match(update, /^0000/, 'nothing is withdrawn');
      assert.match(update, new RegExp(`8004040000000${at + 2}`), 'the MED of the round');
      assert.match(update, /18cb0071$/, '203.0.113.0/24 alone');
    }
    assert.ok(one.established && two.established);
  });

  test('the same file once more and twice is nothing', async () => {
    const [before, messages] = [await text(), one.count(UPDATE) + two.count(UPDATE)];
    for (let i = 0; i < 2; i++) {
      const report = await zest.json('daemon', 'reload');
      assert.deepEqual(
        ['peers-added', 'peers-removed', 'peers-changed', 'peers-refreshed', 'plugins'].map((key) => report[key]),
        [[], [], [], [], []],
      );
      assert.equal(report['peers-unchanged'], 2);
    }
    assert.equal(await text(), before);
    assert.equal(one.count(UPDATE) + two.count(UPDATE), messages);
  });

  for (const [what, spoil] of [
    ['does not hold', (good: string) => good.replace('origin igp', 'origin nonsense')],
    ['is cut short', (good: string) => good.slice(0, good.length / 2)],
    ['is empty', () => ''],
  ] as const) {
    test(`a file that ${what} leaves what runs byte for byte, and every session up`, async () => {
      const [before, shown, messages] = [await text(), await zest.json('config', 'show'), one.count(UPDATE)];
      const good = config(port, { med: 9, two: false });
      writeFileSync(zest.configPath, spoil(good));
      await assert.rejects(zest.json('daemon', 'reload'));
      assert.equal(await text(), before);
      assert.deepEqual(await zest.json('config', 'show'), shown);
      assert.equal(one.count(UPDATE), messages);
      assert.ok(one.established && two.established);
      assert.equal((await reports(zest)).at(-1)?.code, 'reload-refused');
    });
  }

  test('while a commit waits for its confirmation a reload is refused, and the commit still comes back', async () => {
    writeFileSync(zest.configPath, config(port, { med: 3 }));
    const { code, stderr } = await zest.cli(
      'config',
      'edit',
      '-c',
      'set bgp peer one description trial',
      '-c',
      'commit confirmed 600',
    );
    assert.equal(code, 0, stderr);
    const trial = await text();
    writeFileSync(zest.configPath, config(port, { med: 9 }));
    await assert.rejects(zest.json('daemon', 'reload'), /a commit waits for its confirmation: config confirm or config abort/);
    const refused = zest.output.split('reload refused').length;
    zest.child.kill('SIGHUP');
    await eventually('the signal is refused too', () =>
      zest.output.split('reload refused').length > refused ? true : undefined,
    );
    assert.equal(await text(), trial);
    assert.notEqual((await zest.json('config', 'status'))['pending'], undefined);
    await zest.json('config', 'abort');
    assert.match(String(await text()), /as it was/);
    assert.equal((await reload({ med: 4 }))['peers-unchanged'], 1);
    assert.ok(one.established && two.established);
  });

  test('a hundred SIGHUPs in a second are a few reloads, and the last file is in force', async () => {
    const before = reloads();
    for (let i = 0; i < 100; i++) {
      if (i === 99) writeFileSync(zest.configPath, config(port, { med: 4, description: 'the last' }));
      zest.child.kill('SIGHUP');
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually('the last file', async () => (/the last/.test(String(await text())) ? true : undefined));
    await zest.json('daemon', 'reload');
    const count = reloads() - before;
    assert.ok(count >= 2 && count <= 20, `${count} reloads`);
    assert.ok(one.established && two.established);
  });

  test('reloads under traffic lose no route and no session', async () => {
    let sent = 0;
    const state = { busy: true };
    const traffic = (async () => {
      while (state.busy && sent < 60_000) {
        for (let i = 0; i < 50; i++) one.send(route(sent++, 64512));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (let round = 10; round < 30; round++) {
      const report = await reload({ med: round });
      assert.deepEqual(report['peers-changed'], ['one']);
    }
    state.busy = false;
    await traffic;
    assert.ok(sent > 1000, `${sent} routes`);
    const received = async (): Promise<number> => {
      const { peers } = (await zest.json('peer', 'one', 'detail')) as { peers: Record<string, Record<string, unknown>> };
      return Number(peers['127.0.0.2']?.['updates-received']);
    };
    await eventually('every UPDATE is read', async () => ((await received()) >= sent ? true : undefined));
    assert.equal(await received(), sent);
    assert.ok(one.established && two.established);
  });

  test('settings that wait for a start are named in the answer, the log and the warnings, until they are as they were', async () => {
    const report = await reload({ environment: 'reactor { cache-ttl 99; cache-max 7; }' });
    assert.deepEqual(report['warnings'], [
      'environment/reactor/cache-ttl takes effect when the daemon is started again',
      'environment/reactor/cache-max has no effect: ze.reactor.cache-max is set by the environment or an option',
    ]);
    await zest.logs(/changed settings take effect when the daemon is started again.*environment\/reactor\/cache-ttl/);
    assert.equal(await warning(), 'the daemon was started with another environment/reactor/cache-ttl');
    await reload({ environment: 'reactor { cache-ttl 99; cache-max 7; }', description: 'other' });
    assert.equal(await warning(), 'the daemon was started with another environment/reactor/cache-ttl');
    assert.deepEqual((await reload({ description: 'other' }))['warnings'], []);
    assert.equal(await warning(), undefined);
  });

  test('a removed peer is told so (Cease, Peer De-configured), the other one is not touched', async () => {
    const before = one.count(UPDATE);
    const report = await reload({ description: 'other', two: false });
    assert.deepEqual([report['peers-removed'], report['peers-changed']], [['two'], []]);
    await eventually('the NOTIFICATION', () => two.notification);
    assert.match(two.notification ?? '', /^6\/3\b/);
    assert.ok(one.established);
    assert.equal(one.count(UPDATE), before);
    assert.match(readFileSync(zest.configPath, 'utf8'), /peer one/);
  });
});
