// Pools of routes and the probes that move them, in a whole daemon: what neighbours get at the start, at a word, over a reload, by a check,
// and with the next session; default-originate beside them.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

const PEERS = { left: { local: '127.0.0.2', as: 64512 }, right: { local: '127.0.0.3', as: 64513 } } as const;
type Name = keyof typeof PEERS;
/** End-of-RIB of IPv4 unicast. */
const END_OF_RIB = '00000000';
const DEFAULT = '00';

const pool = (name: string, prefixes: string, more = ''): string =>
  `update { attribute { origin igp; next-hop 127.0.0.1; } nlri { ipv4/unicast add ${prefixes}; } watchdog { name ${name}; ${more} } }`;
/** 10.N.0.0/16 */
const wire = (octet: number): string => `100a${octet.toString(16).padStart(2, '0')}`;

test('pools, probes and default routes, from start to restart', { timeout: 600_000 }, async (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-pools-')));
  const port = await freePort();
  const flag = join(folder, 'healthy');
  const config = ({ right = pool('web', '10.1.0.0/16'), family = 'default-originate true;', probe = '' } = {}): string => `
environment { log { level info; } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    healthcheck { probe web { command "test -e ${flag}"; group checked; interval 1; rise 1; fall 1; withdraw-on-down true; ${probe} } }
    ${pool('checked', '10.3.0.0/16')}
    ${pool('open', '10.2.0.0/16', 'withdraw false;')}
    peer left {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip ${PEERS.left.local}; connect false; } }
        session { asn { remote ${PEERS.left.as}; } family { ipv4/unicast { ${family} prefix { maximum 1000; } } } }
        ${pool('web', '10.1.0.0/16')}
    }
    peer right {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip ${PEERS.right.local}; connect false; } }
        session { asn { remote ${PEERS.right.as}; } family { ipv4/unicast { prefix { maximum 1000; } } } }
        ${right}
    }
}
`;
  const zest = await ZestProcess.start(config(), {}, folder);
  const speakers = {} as Record<Name, RawSpeaker>;
  t.after(async () => {
    for (const one of Object.values(speakers)) await one.close();
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const establish = async (name: Name): Promise<void> => {
    speakers[name] = await RawSpeaker.establish({ port, ...PEERS[name] });
  };
  const updates = (name: Name): readonly string[] => speakers[name].updates();
  /** Bodies that arrived at the peer since `from`, once `count` of them have; a moment's quiet is not waited for. */
  const arrive = async (name: Name, from: number, count: number): Promise<readonly string[]> => {
    await speakers[name].until(`${count} more updates at ${name}`, () => updates(name).length >= from + count);
    return updates(name).slice(from);
  };
  const list = async (): Promise<readonly string[]> => {
    const { watchdogs: rows } = (await zest.json('watchdog', 'list')) as {
      readonly watchdogs: readonly Readonly<Record<string, unknown>>[];
    };
    return rows.map((row) =>
      ['peer', 'watchdog', 'routes', 'announced', 'state', 'med'].map((key) => String(row[key])).join(' '),
    );
  };

  await t.test('at the start: what is not held back comes before End-of-RIB', async () => {
    await establish('left');
    await establish('right');
    for (const name of ['left', 'right'] as const) {
      await speakers[name].until('End-of-RIB', () => updates(name).includes(END_OF_RIB));
      const before = updates(name).slice(0, updates(name).indexOf(END_OF_RIB)).join(' ');
      assert.ok(before.includes(wire(2)), before);
      assert.equal(before.includes(wire(1)) || before.includes(wire(3)), false, before);
      assert.equal(
        before.split(' ').some((body) => body.endsWith(DEFAULT) && body !== END_OF_RIB),
        name === 'left',
      );
    }
  });

  await t.test('a word announces, says how much, and says nothing twice', async () => {
    const from = [updates('left').length, updates('right').length] as const;
    assert.deepEqual(await zest.json('watchdog', 'announce', 'web', 'left'), {
      peer: PEERS.left.local,
      watchdog: 'web',
      count: 1,
    });
    assert.ok((await arrive('left', from[0], 1))[0]?.endsWith(wire(1)));
    assert.deepEqual(await zest.json('watchdog', 'announce', 'web'), { watchdog: 'web', peers: 2, action: 'announce' });
    assert.ok((await arrive('right', from[1], 1))[0]?.endsWith(wire(1)));
    await zest.json('watchdog', 'announce', 'web');
    await zest.json('watchdog', 'announce', 'web', 'med', '77', 'right');
    const [again] = await arrive('right', from[1] + 1, 1);
    assert.match(again ?? '', /8004040000004d/);
    assert.equal(updates('left').length, from[0] + 1);
    assert.equal(updates('right').length, from[1] + 2);
    assert.deepEqual(await list(), [
      'left checked 1 0 withdrawn ',
      'left open 1 1 as configured ',
      'left web 1 1 announced ',
      'right checked 1 0 withdrawn ',
      'right open 1 1 as configured ',
      'right web 1 1 announced 77',
    ]);
  });

  await t.test('what was told is counted', async () => {
    assert.deepEqual(await zest.json('watchdog', 'status'), {
      watchdogs: 3,
      'peers-up': 2,
      'route-announcements': 5,
      'route-withdrawals': 0,
    });
  });

  await t.test('what cannot be done is said with the pool', async () => {
    for (const [words, fault] of [
      [['announce', 'nobody'], /no peer has a pool "nobody" \(there are checked, open, web\)/],
      [['announce', 'web', 'nobody'], /no peer of "nobody" has the pool "web"/],
      [['announce', 'web', 'med', 'x'], /watchdog announce web: med takes a number/],
      [['withdraw', 'web', 'left', 'right'], /watchdog withdraw web: unexpected "right"/],
      [['withdraw'], /needs the name of a pool/],
    ] as const) {
      const { code, stderr } = await zest.cli('watchdog', ...words);
      assert.equal(code, 1);
      assert.match(stderr, fault);
    }
  });

  await t.test('a reload leaves what is withdrawn withdrawn, and tells what an announced pool has more and less', async () => {
    const from = [updates('left').length, updates('right').length] as const;
    await zest.json('watchdog', 'withdraw', 'open');
    assert.ok((await arrive('left', from[0], 1))[0]?.includes(wire(2)));
    await arrive('right', from[1], 1);
    zest.reload(config({ right: pool('web', '10.4.0.0/16') }));
    const told = await arrive('right', from[1] + 1, 2);
    assert.match(told[0] ?? '', new RegExp(`^0003${wire(1)}`));
    assert.ok(told[1]?.endsWith(wire(4)));
    assert.equal(updates('left').length, from[0] + 1);
    const refused = zest.output.length;
    zest.reload(config({ right: pool('web', '10.5.0.0/16 del 10.4.0.0/16') }));
    await eventually('refused', () => (zest.output.slice(refused).includes('no del and no eor') ? true : undefined));
    assert.equal(updates('right').length, from[1] + 3);
  });

  await t.test('default-originate comes and goes with one UPDATE', async () => {
    const from = updates('left').length;
    zest.reload(config({ right: pool('web', '10.4.0.0/16'), family: '' }));
    assert.deepEqual(await arrive('left', from, 1), ['0001000000']);
    zest.reload(config({ right: pool('web', '10.4.0.0/16') }));
    const [again] = await arrive('left', from + 1, 1);
    assert.match(again ?? '', /^0000.*00$/);
    assert.equal(updates('left').length, from + 2);
  });

  await t.test('a probe announces its pool and takes it back', async () => {
    const from = updates('left').length;
    writeFileSync(flag, '');
    assert.match((await arrive('left', from, 1))[0] ?? '', new RegExp(`80040400000064.*${wire(3)}$`));
    const { probes } = (await zest.json('healthcheck', 'show', 'web')) as {
      readonly probes: readonly Readonly<Record<string, unknown>>[];
    };
    const { state, said, error } = probes[0] ?? {};
    assert.deepEqual([state, said, error], ['up', 'announce checked med 100', '']);
    rmSync(flag);
    assert.match((await arrive('left', from + 1, 1))[0] ?? '', new RegExp(`^0003${wire(3)}`));
    assert.match((await zest.cli('healthcheck', 'show', 'nobody')).stderr, /no probe "nobody" \(there are web\)/);
    assert.deepEqual(await zest.json('healthcheck', 'reset', 'web'), { probe: 'web', state: 'init' });
  });

  await t.test('a probe that is disabled by a reload has its pool withdrawn, and is up again without the leaf', async () => {
    writeFileSync(flag, '');
    const from = updates('left').length;
    await arrive('left', from, 1);
    zest.reload(config({ right: pool('web', '10.4.0.0/16'), probe: 'disable true;' }));
    assert.match((await arrive('left', from + 1, 1))[0] ?? '', new RegExp(`^0003${wire(3)}`));
    zest.reload(
      config({ right: pool('web', '10.4.0.0/16'), probe: 'withdraw-on-down false;' }).replace('withdraw-on-down true;', ''),
    );
    assert.match((await arrive('left', from + 2, 1))[0] ?? '', new RegExp(`80040400000064.*${wire(3)}$`));
    rmSync(flag);
    assert.match((await arrive('left', from + 3, 1))[0] ?? '', new RegExp(`800404000003e8.*${wire(3)}$`), 'down: another MED');
  });

  await t.test('the state outlives a session', async () => {
    await speakers.right.close();
    await zest.json('watchdog', 'withdraw', 'web', 'right');
    await zest.json('watchdog', 'announce', 'open', 'right');
    await establish('right');
    await speakers.right.until('End-of-RIB', () => updates('right').includes(END_OF_RIB));
    const all = updates('right').join(' ');
    assert.deepEqual(
      [1, 2, 3, 4].map((octet) => all.includes(wire(octet))),
      [false, true, true, false],
    );
  });
});

test('a check does not outlive a daemon that is killed', { timeout: 600_000 }, async (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-probe-')));
  const file = join(folder, 'pid');
  const zest = await ZestProcess.start(
    `bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    healthcheck { probe slow { command "sleep 300 & echo $! > ${file}; wait"; group nobody; timeout 3600; } }
}
`,
    {},
    folder,
  );
  t.after(async () => {
    await zest.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const pid = await eventually('the check runs', () => Number(readFileSync(file, 'utf8')) || undefined);
  assert.ok(existsSync(`/proc/${pid}`));
  await zest.stop('SIGKILL');
  await eventually('it is gone', () => (existsSync(`/proc/${pid}`) && !isZombie(pid) ? undefined : true));
});

function isZombie(pid: number): boolean {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
}
