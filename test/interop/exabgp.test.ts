// ExaBGP's process API announces; every route arrives with every attribute, and leaves again.
import assert from 'node:assert/strict';
import { eventually, freePort, ZestProcess } from '../support/zest-process.ts';
import { exabgp } from './daemons/exabgp.ts';
import { type Afi, FOREIGN, FOREIGN_AS, peerTest, ZEST } from './daemons/foreign.ts';
import { peer, peerBlock, received, zestConfig } from './zest-side.ts';

const EACH = 200;

/** A route as ExaBGP is told it, and as Zest must show it. */
interface Told {
  readonly prefix: string;
  readonly command: string;
  readonly shown: Readonly<Record<string, unknown>>;
}

function told(afi: Afi, i: number): Told {
  const prefix = afi === 'ipv4' ? `10.20.${i}.0/24` : `2001:db8:${(0x1000 + i).toString(16)}::/48`;
  const origin = (['igp', 'egp', 'incomplete'] as const)[i % 3] ?? 'igp';
  const path = [FOREIGN_AS, 64_512 + i, 4_200_100_000 + (i % 7), ...(i % 4 === 0 ? [64_512 + i, 64_512 + i] : [])];
  const communities = [`${64_000 + i}:${i}`, '65000:1', ...(i % 5 === 0 ? ['65535:65281'] : [])];
  const large = [`${FOREIGN_AS}:${i}:4294967295`];
  const words = [
    `announce route ${prefix} next-hop ${FOREIGN[afi]} origin ${origin} as-path [ ${path.join(' ')} ] med ${i * 1000}`,
    `community [ ${communities.join(' ')} ] large-community [ ${large.join(' ')} ] extended-community [ target:65000:${i} ]`,
    i % 2 === 0 ? 'atomic-aggregate' : '',
    i % 2 === 0 ? `aggregator ( 64999:10.0.0.${i} )` : '',
  ];
  return {
    prefix,
    command: words.join(' ').trim(),
    shown: {
      'next-hop': FOREIGN[afi],
      origin,
      'as-path': path,
      med: i * 1000,
      community: [...communities].sort(),
      'large-community': large,
      'extended-community': [`target:65000:${i}`],
      ...(i % 2 === 0 ? { 'atomic-aggregate': true, aggregator: `64999:10.0.0.${i}` } : {}),
    },
  };
}

peerTest('routes of the process API arrive whole and leave again', [exabgp], async (t) => {
  const zestPort = await freePort(ZEST.ipv4);
  const block = peerBlock({ over: 'ipv4', zestPort, foreignPort: await freePort(FOREIGN.ipv4) });
  const zest = await ZestProcess.start(zestConfig([block]));
  t.after(() => zest.stop());
  const foreign = await exabgp.start({ zestPort, port: 0, holdTimeSeconds: 90, over: 'ipv4' });
  t.after(() => foreign.stop());
  await eventually(
    'the session is up',
    async () => ((await peer(zest))['state'] === 'established' ? true : undefined),
    30_000,
  ).catch((error: unknown) => assert.fail(`${String(error)}\n${foreign.output}`));

  const routes = Array.from({ length: EACH }, (_, i) => [told('ipv4', i), told('ipv6', i)]).flat();
  await foreign.say(routes.map((route) => route.command));
  const arrived = await eventually(
    `${routes.length} routes arrive`,
    async () => {
      const now = await received(zest);
      return now.size === routes.length ? now : undefined;
    },
    60_000,
  ).catch((error: unknown) => assert.fail(`${String(error)}\n${foreign.output}`));
  for (const { prefix, shown } of routes) {
    const { community, ...route } = arrived.get(prefix) as unknown as Readonly<Record<string, unknown>>;
    const found = { ...route, community: [...(community as readonly string[])].sort() };
    assert.deepEqual(Object.fromEntries(Object.keys(shown).map((key) => [key, found[key as keyof typeof found]])), shown, prefix);
  }
  t.diagnostic(`${routes.length} routes arrived with all their attributes`);

  const [gone, kept] = [routes.slice(0, EACH), routes.slice(EACH)];
  await foreign.say(gone.map(({ prefix, shown }) => `withdraw route ${prefix} next-hop ${String(shown['next-hop'])}`));
  const left = await eventually('half of them leave', async () => {
    const now = await received(zest);
    return now.size === kept.length ? now : undefined;
  });
  assert.deepEqual([...left.keys()].sort(), kept.map(({ prefix }) => prefix).sort());
});
