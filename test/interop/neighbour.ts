// What Zest and any foreign daemon must manage as neighbours: both families, both directions, refreshes, restarts and hold times.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { eventually, freePort, ZestProcess } from '../support/zest-process.ts';
import {
  type Afi,
  FOREIGN,
  FOREIGN_AS,
  FOREIGN_COMMUNITY,
  FOREIGN_LARGE_COMMUNITY,
  FOREIGN_ROUTES,
  type Foreign,
  type ForeignKind,
  LOCAL_AS,
  peerTest,
  ZEST,
} from './daemons/foreign.ts';
import { peer, peerBlock, received, zestConfig } from './zest-side.ts';

const AFIS: readonly Afi[] = ['ipv4', 'ipv6'];
/** Announced by the configuration, with every kind of community. */
const CONFIGURED: Readonly<Record<Afi, string>> = { ipv4: '203.0.113.0/24', ipv6: '2001:db8:200::/48' };
const COMMANDED: Readonly<Record<Afi, string>> = { ipv4: '203.0.113.128/25', ipv6: '2001:db8:201::/48' };
const HOLD_SECONDS = 3;

interface Pair {
  readonly over: Afi;
  readonly foreign: Foreign;
  readonly zestPort: number;
  readonly foreignPort: number;
  readonly folder: string;
  zest: ZestProcess;
}

const config = (over: Afi, zestPort: number, foreignPort: number): string => {
  const updates = AFIS.map(
    (afi) => `update {
            attribute { origin igp; next-hop ${ZEST[afi]}; community [ 65000:7 no-export ]; large-community [ 65000:8:9 ]; }
            nlri { ${afi}/unicast add ${CONFIGURED[afi]}; }
        }`,
  );
  return zestConfig([peerBlock({ over, zestPort, foreignPort, holdTimeSeconds: HOLD_SECONDS, more: updates.join('\n') })]);
};

async function pair(kind: ForeignKind, over: Afi, t: TestContext): Promise<Pair> {
  const zestPort = await freePort(ZEST[over]);
  const foreignPort = await freePort(FOREIGN[over]);
  const folder = mkdtempSync(join(tmpdir(), 'zest-interop-'));
  const zest = await ZestProcess.start(config(over, zestPort, foreignPort), {}, folder);
  const foreign = await kind.start({ zestPort, port: foreignPort, holdTimeSeconds: HOLD_SECONDS, over });
  const both: Pair = { over, foreign, zestPort, foreignPort, folder, zest };
  t.after(async () => {
    await foreign.stop();
    await both.zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return both;
}

/** `hurried`: the foreign daemon is told not to sit out its own idle time after an error. */
async function up(both: Pair, deadlineMs = 30_000, hurried = false): Promise<void> {
  if (hurried) await both.foreign.hurry?.();
  await eventually(
    `${both.foreign.name} and zest are established`,
    async () => ((await peer(both.zest))['state'] === 'established' && (await both.foreign.established()) ? true : undefined),
    deadlineMs,
  );
}

async function holdsConfigured(both: Pair): Promise<void> {
  for (const afi of AFIS) {
    const route = await eventually(`${both.foreign.name} holds ${CONFIGURED[afi]}`, async () =>
      (await both.foreign.routes(afi)).get(CONFIGURED[afi]),
    );
    assert.deepEqual(route.asPath, [LOCAL_AS]);
    // FRR writes well-known communities by their names.
    assert.deepEqual(
      [...route.communities]
        .map((it) => (/^no-?export$/i.test(it) ? '65535:65281' : it.toUpperCase() === 'NO_EXPORT' ? '65535:65281' : it))
        .sort(),
      ['65000:7', '65535:65281'],
    );
    assert.deepEqual(route.largeCommunities, ['65000:8:9']);
  }
}

/** The IPv4 routes of an IPv6 session carry an address of the loopback device as their next hop with OpenBGPD: not for routing. */
function families(both: Pair): readonly Afi[] {
  return both.foreign.name === 'OpenBGPD' ? [both.over] : AFIS;
}

async function scenario(kind: ForeignKind, over: Afi, t: TestContext): Promise<void> {
  const both = await pair(kind, over, t);
  const { foreign } = both;

  await t.test('the session establishes with a four-octet AS', async () => {
    await up(both);
    assert.equal((await peer(both.zest))['remote-as'], FOREIGN_AS);
  });

  await t.test('configured routes arrive with their communities', () => holdsConfigured(both));

  await t.test('foreign routes arrive, communities unchanged, and leave again', async () => {
    for (const afi of families(both)) {
      await foreign.announce(afi);
      const route = await eventually(`zest holds ${FOREIGN_ROUTES[afi]}`, async () =>
        (await received(both.zest)).get(FOREIGN_ROUTES[afi]),
      );
      assert.deepEqual(route['as-path'], [FOREIGN_AS]);
      assert.deepEqual(route.community, [FOREIGN_COMMUNITY]);
      assert.deepEqual(route['large-community'], [FOREIGN_LARGE_COMMUNITY]);
      assert.equal(route['next-hop'], FOREIGN[afi]);
      await foreign.withdraw(afi);
      await eventually(`${FOREIGN_ROUTES[afi]} is withdrawn`, async () =>
        (await received(both.zest)).has(FOREIGN_ROUTES[afi]) ? undefined : true,
      );
    }
  });

  await t.test('a route announced by command arrives and is withdrawn by command', async () => {
    for (const afi of AFIS) {
      const words = ['peer', 'foreign', 'update', 'text'];
      await both.zest.json(...words, 'next-hop', ZEST[afi], 'nlri', `${afi}/unicast`, 'add', COMMANDED[afi]);
      await eventually(`${foreign.name} holds ${COMMANDED[afi]}`, async () => (await foreign.routes(afi)).get(COMMANDED[afi]));
      await both.zest.json(...words, 'nlri', `${afi}/unicast`, 'del', COMMANDED[afi]);
      await eventually(`${foreign.name} lost it`, async () =>
        (await foreign.routes(afi)).has(COMMANDED[afi]) ? undefined : true,
      );
    }
  });

  await t.test('route refresh: zest asks, and gets the routes again', async () => {
    const [afi = 'ipv4'] = families(both);
    await foreign.announce(afi);
    await eventually('the route is there', async () => (await received(both.zest)).get(FOREIGN_ROUTES[afi]));
    const before = Number((await peer(both.zest))['updates-received']);
    await both.zest.json('peer', 'foreign', 'refresh', `${afi}/unicast`);
    if (foreign.refreshesHeard !== undefined) {
      await eventually('the request is heard', async () => ((await foreign.refreshesHeard?.()) ?? 0) > 0 || undefined);
      return;
    }
    await eventually('updates arrive again', async () =>
      Number((await peer(both.zest))['updates-received']) > before ? true : undefined,
    );
    assert.ok((await received(both.zest)).has(FOREIGN_ROUTES[afi]));
  });

  if (foreign.refresh === undefined) t.diagnostic(`${foreign.name} has no command that asks for a refresh`);
  else {
    await t.test('route refresh: zest is asked, and sends the routes again', async () => {
      const before = Number((await peer(both.zest))['updates-sent']);
      await foreign.refresh?.();
      await eventually('updates are sent again', async () =>
        Number((await peer(both.zest))['updates-sent']) > before ? true : undefined,
      );
      await holdsConfigured(both);
    });
  }

  await t.test('the foreign daemon restarts and gets everything again', async () => {
    await foreign.restart();
    await up(both);
    await holdsConfigured(both);
  });

  await t.test('zest restarts and everything is there again', async () => {
    await both.zest.stop();
    await eventually('the foreign side sees it', async () => ((await foreign.established()) ? undefined : true));
    both.zest = await ZestProcess.start(config(over, both.zestPort, both.foreignPort), {}, both.folder);
    await up(both, 60_000);
    await holdsConfigured(both);
  });

  await t.test('a silent foreign daemon: hold time expiry seen by zest', async () => {
    foreign.freeze(true);
    try {
      await eventually(
        'zest drops the session',
        async () => ((await peer(both.zest))['state'] === 'established' ? undefined : true),
        15_000,
      );
      const errors = (await both.zest.json('show', 'errors')) as unknown as readonly Readonly<Record<string, unknown>>[];
      assert.ok(
        errors.some((entry) => /hold/i.test(`${String(entry['code'])} ${String(entry['message'])}`)),
        JSON.stringify(errors),
      );
    } finally {
      foreign.freeze(false);
    }
    await eventually('the foreign daemon has noticed', async () => ((await foreign.established()) ? undefined : true));
    await up(both, 60_000, true);
  });

  await t.test('a silent zest: hold time expiry seen by the foreign daemon', async () => {
    both.zest.child.kill('SIGSTOP');
    try {
      await eventually(
        'the foreign daemon drops the session',
        async () => ((await foreign.established()) ? undefined : true),
        15_000,
      );
    } finally {
      both.zest.child.kill('SIGCONT');
    }
    await up(both, 60_000, true);
    await holdsConfigured(both);
  });
}

/** One test a family the session runs over. */
export function neighbourTests(kind: ForeignKind): void {
  for (const over of AFIS) peerTest(`${kind.name} over ${over}`, [kind], (t) => scenario(kind, over, t));
}
