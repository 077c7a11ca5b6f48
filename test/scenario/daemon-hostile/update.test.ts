// Malformed UPDATEs over real sessions: the rows of the codec's tables, each played by a neighbour of its own. What must be withdrawn is
// gone from the RIB, what must be discarded is gone from the route, a reset is a NOTIFICATION with the right code, subcode and data.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { TypedCapability } from '../../../sdk/wire/capability/typed.ts';
import type { ContextFacts } from '../../../sdk/wire/context.ts';
import { familyName, type Family, IPV4_UNICAST, IPV6_UNICAST } from '../../../sdk/wire/family.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually } from '../../support/zest-process.ts';
import { AS_PATH, attribute, NEXT_HOP, ORIGIN, PREFIX, toHex, type UpdateParts, update } from '../../wire/build.ts';
import { ATTRIBUTE_ROWS } from '../../wire/hostile-attribute-rows.ts';
import { FRAMING_ROWS } from '../../wire/hostile-framing-rows.ts';
import { FACTS, NH6, reach, type Row, V6 } from '../../wire/hostile.ts';
import { addressOf, HostileStage, type Neighbour, type RibRoute } from './stage.ts';

/** Facts that no configuration of a peer brings about. */
const UNREACHABLE: readonly (keyof ContextFacts)[] = ['confederation', 'refuseAsSets', 'ownIpv4'];
const ROWS = [...FRAMING_ROWS, ...ATTRIBUTE_ROWS].filter((row) => !UNREACHABLE.some((fact) => row.facts?.[fact] !== undefined));
/** Each row leaves up to three reports and the daemon keeps 256. */
const AT_A_TIME = 48;
/** In every first announcement and in no row: a route that has it has not been replaced. */
const FIRST_MED = 99;

const V4_TEXT = '198.51.100.0/24';
const V6_TEXT = '2001:db8::/32';
const MARKER = '18cb0071';
const MARKER_TEXT = '203.0.113.0/24';

/** Where the daemon does more than the codec: the route is not accepted. */
const LOOPS = /our AS inside is the loop check/;

interface Case {
  readonly row: Row;
  readonly index: number;
  readonly facts: Partial<ContextFacts>;
  readonly families: readonly Family[];
  readonly bytes: Uint8Array;
}

const CASES: readonly Case[] = ROWS.map((row, index) => {
  const facts = { ...FACTS, ...row.facts };
  return {
    row,
    index,
    facts,
    families: facts.families ?? [],
    bytes: row.parts instanceof Uint8Array ? row.parts : update(row.parts),
  };
});

function neighbour({ facts, families, bytes }: Case): Neighbour {
  const addPath = (facts.addPath ?? []).map((family) => `add-path { ${familyName(family)} receive; }`);
  const nextHops = (facts.extendedNextHop ?? []).map((family) => `nexthop { ${familyName(family)} ipv6; }`);
  const large = bytes.length > 4096 ? ['extended-message;'] : [];
  return {
    as: facts.ebgp === false ? 64500 : 64512,
    session: `
            ${facts.enforceFirstAs === false ? '' : 'enforce-first-as true;'}
            family { ${families.map((family) => `${familyName(family)} { prefix { maximum 100000; } }`).join(' ')} }
            capability { asn4 enable; ${[...nextHops, ...large].join(' ')} }
            ${addPath.join(' ')}`,
  };
}

function capabilities({ facts, bytes }: Case): readonly TypedCapability[] {
  const list: TypedCapability[] = [];
  if (facts.asn4 !== false) list.push({ kind: 'asn4', asn: facts.ebgp === false ? 64500 : 64512 });
  if (bytes.length > 4096) list.push({ kind: 'extended-message' });
  if (facts.addPath !== undefined) {
    list.push({ kind: 'addpath', families: facts.addPath.map((family) => ({ family, mode: 'send' })) });
  }
  if (facts.extendedNextHop !== undefined) {
    list.push({ kind: 'extended-nexthop', nextHops: facts.extendedNextHop.map((family) => ({ family, nextHopAfi: 2 })) });
  }
  return list;
}

/** Good announcements: both prefixes before the row, the marker after it. */
function announcements({ facts, families }: Case): { readonly first: readonly Uint8Array[]; readonly marker: Uint8Array } {
  const med = attribute('8004', FIRST_MED.toString(16).padStart(8, '0'));
  const path = facts.asn4 === false ? attribute('4002', '0201fc00') : AS_PATH;
  const id = facts.addPath === undefined ? '' : '00000007';
  const v4 = (nlri: string): Uint8Array =>
    families.includes(IPV4_UNICAST)
      ? update({ attributes: ORIGIN + path + NEXT_HOP + med, nlri: id + nlri })
      : update({ attributes: ORIGIN + path + med + reach('000201', NH6, '3020010db8ffff') });
  const v6 = update({ attributes: ORIGIN + path + med + reach('000201', NH6, V6) });
  return { first: [v4(PREFIX), ...(families.includes(IPV6_UNICAST) ? [v6] : [])], marker: v4(MARKER) };
}

/** Prefixes of the two announced first that the row speaks of. */
function subjects({ row, families }: Case): readonly string[] {
  if (row.parts instanceof Uint8Array) return [];
  const { nlri = '', withdrawn = '', attributes = '' } = row.parts satisfies UpdateParts;
  const found: string[] = [];
  if (families.includes(IPV4_UNICAST) && (nlri.endsWith(PREFIX) || withdrawn.endsWith(PREFIX))) found.push(V4_TEXT);
  if (families.includes(IPV6_UNICAST) && /800e.*000201.*2020010db8/.test(attributes)) found.push(V6_TEXT);
  return found;
}

/** How `rib routes` writes the attributes that rows have discarded. */
const MEMBERS: Readonly<Record<number, string>> = {
  5: 'local-preference',
  6: 'atomic-aggregate',
  7: 'aggregator',
  9: 'originator-id',
  10: 'cluster-list',
};

describe('malformed UPDATEs', { timeout: 600_000 }, () => {
  let stage: HostileStage;
  before(async () => {
    stage = await HostileStage.start(CASES.map(neighbour));
  });
  after(async () => {
    await stage.stop();
  });

  for (let from = 0; from < CASES.length; from += AT_A_TIME) {
    const cases = CASES.slice(from, from + AT_A_TIME);
    test(`rows ${from + 1} to ${from + cases.length}`, async (t) => {
      const speakers = await Promise.all(
        cases.map((one) =>
          RawSpeaker.establish({
            port: stage.port,
            local: addressOf(one.index),
            as: one.facts.ebgp === false ? 64500 : 64512,
            families: one.families,
            capabilities: capabilities(one),
          }),
        ),
      );
      const routesOf = (routes: readonly RibRoute[], one: Case): ReadonlyMap<string, RibRoute> =>
        new Map(routes.filter((route) => route.peer === addressOf(one.index)).map((route) => [route.prefix, route]));
      cases.forEach((one, i) => announcements(one).first.forEach((message) => speakers[i]?.send(message)));
      await eventually('every first announcement is in the RIB', async () => {
        const routes = await stage.routes();
        const missing = cases.filter((one) => routesOf(routes, one).size < announcements(one).first.length);
        if (missing.length > 0) throw new Error(missing.map((one) => one.row.name).join(', '));
        return true;
      });
      cases.forEach((one, i) => {
        speakers[i]?.send(one.bytes);
        if (one.row.want !== 'reset') speakers[i]?.send(announcements(one).marker);
      });
      await Promise.all(
        cases.map((one, i) => (one.row.want === 'reset' ? speakers[i]!.end().catch(() => undefined) : Promise.resolve())),
      );
      const routes = await eventually('everything sent is judged', async () => {
        const found = await stage.routes();
        const waiting = cases.filter((one, i) => {
          if (one.row.want === 'reset' || speakers[i]?.ended !== undefined) return false;
          const own = routesOf(found, one);
          return !own.has(MARKER_TEXT) && !own.has('2001:db8:ffff::/48');
        });
        if (waiting.length > 0) throw new Error(waiting.map((one) => one.row.name).join(', '));
        return found;
      });
      await stage.gatherReports();

      for (const [i, one] of cases.entries()) {
        await t.test(one.row.name, () => judge(stage, one, speakers[i]!, routesOf(routes, one)));
      }
      await t.test('the daemon, the other session and the plugin are unharmed', () => stage.isUnharmed());
      await Promise.all(speakers.map((speaker) => speaker.close()));
    });
  }
});

function judge(stage: HostileStage, one: Case, speaker: RawSpeaker, routes: ReadonlyMap<string, RibRoute>): void {
  const { row } = one;
  const address = addressOf(one.index);
  if (row.want === 'reset') {
    assert.ok(speaker.notification !== undefined, 'a NOTIFICATION was sent');
    assert.equal(speaker.count(3), 1, 'and only one');
    if (row.notice !== undefined) assert.equal(speaker.notification.split(' ')[0], row.notice);
    if (row.data !== undefined) assert.equal(speaker.notification.split(' ')[1] ?? '', row.data);
    assert.ok((speaker.notification.split(' ')[1] ?? '').length <= one.bytes.length * 2, toHex(one.bytes));
    assert.equal(routes.size, 0, 'its routes are gone');
    for (const code of ['update-malformed', 'notification-sent', 'session-dropped'])
      assert.ok(stage.codes(address).includes(code), code);
    assert.ok(stage.logged(`peer=h${one.index} `, `subject=${address} `));
    return;
  }
  assert.equal(speaker.notification, undefined);
  assert.equal(speaker.ended, undefined, 'the session is up');
  const about = subjects(one);
  const withdraws =
    row.want === 'withdraw' || LOOPS.test(row.name) || (!(row.parts instanceof Uint8Array) && row.parts.withdrawn !== undefined);
  for (const prefix of about) {
    const route = routes.get(prefix);
    if (withdraws) assert.equal(route, undefined, `${prefix} is withdrawn`);
    else assert.ok(route !== undefined && route['med'] !== FIRST_MED, `${prefix} is announced anew: ${JSON.stringify(route)}`);
  }
  if (row.want === 'discard') {
    for (const code of row.faults ?? []) {
      for (const prefix of about) {
        const member = MEMBERS[code] ?? `attr-${code}`;
        if (!LOOPS.test(row.name) && row.block?.includes(code.toString(16)) !== true)
          assert.equal(routes.get(prefix)?.[member], undefined, member);
      }
    }
  }
  if (row.want === 'ok') return;
  assert.ok(stage.codes(address).includes('update-malformed'));
  assert.ok(stage.logged(`subject=${address} `), 'it is logged');
}
