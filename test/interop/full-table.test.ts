// A whole IPv4 table of 2015 passes through Zest to BIRD, and every single route is the same in the file, in our RIB and in BIRD's table.
import assert from 'node:assert/strict';
import { openMrt } from '../../engine/offline/mrt/open.ts';
import { walkMrt } from '../../engine/offline/mrt/walk.ts';
import { formatPrefix } from '../../sdk/wire/address.ts';
import { AS_PATH, AS_SET } from '../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { eventually, freePort, PROGRAM, ZestProcess } from '../support/zest-process.ts';
import { sharedData } from '../support/shared-data.ts';
import { bird, type Bird } from './daemons/bird.ts';
import { FOREIGN, LOCAL_AS, peerTest, ZEST } from './daemons/foreign.ts';
import { LAB_ADDRESS, LAB_AS, LabProcess } from './lab-process.ts';
import { BirdTable, eachLine, type RouteForm, zestRoute } from './table-text.ts';
import { peer, peerBlock, zestConfig } from './zest-side.ts';

const table = sharedData('data', 'mrt', 'bgpdump', 'updates.et-header.2015.gz');
/** Prefixes in the file, as two other decoders count them. */
const DISTINCT = 577_706;

/** Why a route of the file is none of ours. */
const REFUSALS = {
  set: 'an AS_SET (RFC 9774)',
  zero: 'AS 0 (RFC 7607)',
  loop: `our own AS ${LOCAL_AS} (RFC 4271 §9.1.2)`,
} as const;
type Refusal = keyof typeof REFUSALS;

interface FileRoute {
  readonly path: string;
  readonly refusal: Refusal | undefined;
}

/** What a speaker holds after the whole file, by prefix. */
function tableOfFile(path: string): ReadonlyMap<string, FileRoute> {
  const routes = new Map<string, FileRoute>();
  const cursor = new AttributeCursor();
  const { bytes } = openMrt(path);
  walkMrt(bytes, {
    announce(_peer, _family, prefix, block) {
      const { view } = block;
      const found = cursor.over(view, block.at, block.length).find(AS_PATH);
      const numbers: number[] = [];
      let set = false;
      for (let at = cursor.valueAt; found && at < cursor.valueAt + cursor.valueLength; ) {
        set ||= view.getUint8(at) === AS_SET;
        const end = at + 2 + view.getUint8(at + 1) * (block.asn4 ? 4 : 2);
        for (at += 2; at < end; at += block.asn4 ? 4 : 2) numbers.push(block.asn4 ? view.getUint32(at) : view.getUint16(at));
      }
      const refusal = set ? 'set' : numbers.includes(0) ? 'zero' : numbers.includes(LOCAL_AS) ? 'loop' : undefined;
      routes.set(formatPrefix(bytes, prefix.prefixAt, prefix.lengthBits, 4), { path: numbers.join(' '), refusal });
    },
    withdraw(_peer, _family, prefix) {
      routes.delete(formatPrefix(bytes, prefix.prefixAt, prefix.lengthBits, 4));
    },
    state: () => undefined,
  });
  return routes;
}

async function ribTable(zest: ZestProcess): Promise<Map<string, RouteForm>> {
  const routes = new Map<string, RouteForm>();
  await eachLine(process.execPath, [PROGRAM, 'rib', 'best', '--json'], zest.environment, (line) => {
    const route = zestRoute(line, LOCAL_AS);
    if (route !== undefined) routes.set(...route);
  });
  return routes;
}

async function birdCount(foreign: Bird): Promise<number> {
  return Number(/^(\d+) of/m.exec(await foreign.birdc('show route count protocol zest table master4'))?.[1]);
}

for (const { mode, more } of [
  { mode: 'with best path', more: 'route-server { best-path true; }' },
  { mode: 'passed on as it comes', more: '' },
]) {
  peerTest(`a whole table, ${mode}`, [bird], async (t) => {
    if (table.skip !== false) {
      t.skip(table.skip);
      return;
    }
    const zestPort = await freePort(ZEST.ipv4);
    const port = await freePort(FOREIGN.ipv4);
    const labPort = await freePort(LAB_ADDRESS);
    const route = 'process bgp-rs { receive [ update state refresh ]; send [ update ]; }';
    const block = { over: 'ipv4', zestPort, maximum: 1_000_000, more: route } as const;
    const zest = await ZestProcess.start(
      zestConfig(
        [
          peerBlock({ ...block, foreignPort: port }),
          peerBlock({ ...block, name: 'lab', foreignPort: labPort, remote: LAB_ADDRESS, remoteAs: LAB_AS }),
        ],
        { plugins: 'plugin { external bgp-rs { use bgp-rs; } }', more },
      ),
    );
    t.after(() => zest.stop());
    const foreign = await bird.start({ zestPort, port, holdTimeSeconds: 90, over: 'ipv4' });
    t.after(() => foreign.stop());
    await eventually('the session is up', async () => ((await foreign.established()) ? true : undefined));

    const began = performance.now();
    const lab = new LabProcess('--connect', `${ZEST.ipv4}:${zestPort}`, '--local', LAB_ADDRESS, '--mrt', table.path);
    t.after(() => lab.stop());
    const file = tableOfFile(table.path);
    const refused: Record<Refusal, number> = { set: 0, zero: 0, loop: 0 };
    for (const { refusal } of file.values()) if (refusal !== undefined) refused[refusal]++;
    const expected = file.size - refused.set - refused.zero - refused.loop;

    await eventually(
      'the whole table came',
      async () => (Number((await peer(zest, 'lab'))['eor-received']) > 0 ? true : undefined),
      60_000,
    );
    await eventually(
      `BIRD holds ${expected} routes`,
      async () => {
        const held = await birdCount(foreign);
        if (held !== expected) throw new Error(`it holds ${held}`);
        return true;
      },
      60_000,
    );
    t.diagnostic(`${expected} routes at BIRD ${((performance.now() - began) / 1000).toFixed(1)} s after the speaker started`);

    const rib = await ribTable(zest);
    assert.ok(file.size > DISTINCT - 10 && file.size <= DISTINCT, `${file.size} routes in the file`);
    assert.equal(rib.size, expected, 'our RIB holds all but the refused');
    let compared = 0;
    const differences: string[] = [];
    const differ = (what: string): void => {
      if (differences.length < 10) differences.push(what);
    };
    for (const [prefix, { path, refusal }] of file) {
      const held = rib.get(prefix);
      if (refusal !== undefined) {
        if (held !== undefined) differ(`${prefix}: ${REFUSALS[refusal]} in its path, but in our RIB ${held}`);
      } else if (held?.split('|')[1] !== `${LOCAL_AS} ${LAB_AS} ${path}`.trim()) {
        differ(`${prefix}: in the file ${path}, in our RIB ${String(held)}`);
      }
    }
    const theirs = new BirdTable((prefix, form) => {
      compared++;
      const ours = rib.get(prefix);
      if (ours !== form) differ(`${prefix}: in our RIB ${String(ours)}, at BIRD ${form}`);
      rib.delete(prefix);
    });
    await foreign.eachLine('show route all protocol zest table master4', (line) => theirs.line(line));
    theirs.end();
    assert.deepEqual(differences, []);
    assert.deepEqual([...rib.keys()].slice(0, 10), [], 'no route of ours is missing at BIRD');
    assert.equal(compared, expected);
    t.diagnostic(`${compared} routes compared: origin, AS path, communities of three kinds, aggregator and unknown attributes`);
    t.diagnostic(
      `of ${file.size} in the file, refused for their path: ` +
        Object.entries(REFUSALS)
          .map(([kind, what]) => `${refused[kind as Refusal]} with ${what}`)
          .join(', '),
    );

    await lab.stop();
    await eventually(
      'BIRD holds none when the speaker has gone',
      async () => ((await birdCount(foreign)) === 0 ? true : undefined),
      60_000,
    );
    assert.equal((await ribTable(zest)).size, 0);
  });
}
