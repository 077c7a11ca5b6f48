// Strange attributes that are not malformed, seen from behind the route server: what a second neighbour is told of them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HEADER_LENGTH, UPDATE } from '../../../sdk/wire/message.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { assertCodesListed, reports } from '../../support/report-codes.ts';
import { freePort, ZestProcess } from '../../support/zest-process.ts';
import { attribute, MANDATORY, update } from '../../wire/build.ts';

const FROM = '127.0.0.2';
const TO = '127.0.0.3';

interface ForwardRow {
  readonly name: string;
  /** Beside the mandatory ones. */
  readonly attributes: string;
  /** Hex that the UPDATE sent on holds, and lacks. */
  readonly has?: string;
  readonly lacks?: string;
  /** Does not arrive: it no longer fits. */
  readonly withheld?: boolean;
}

const unknown = (count: number, bytes: number, first = 41): string =>
  Array.from({ length: count }, (_, i) => attribute(`c0${(first + i).toString(16).padStart(2, '0')}`, 'ab'.repeat(bytes)))
    .filter((text) => !text.startsWith('c080'))
    .join('');

const ROWS: readonly ForwardRow[] = [
  {
    name: 'H47 RFC 4271 §9 unknown optional non-transitive: not passed on',
    attributes: attribute('80c8', '01aa'),
    lacks: '01aa',
  },
  {
    name: 'H48 RFC 4271 §9 unknown optional transitive: passed on with the partial bit',
    attributes: attribute('c0c8', '01aa'),
    has: 'e0c80201aa',
  },
  { name: 'H48 RFC 4271 §4.3 low flag bits are passed on as 0', attributes: 'cfc80201aa', has: 'e0c80201aa' },
  { name: 'H48 unknown, no octets', attributes: attribute('c0ff', ''), has: 'e0ff00' },
  { name: 'H48 unknown, 3 KiB', attributes: attribute('d0fe', 'ab'.repeat(3072)), has: `0c00${'ab'.repeat(3072)}` },
  {
    name: 'H50 RFC 7606 §3.g of two the first one',
    attributes: attribute('c0c8', '01aa') + attribute('c0c8', '02bb'),
    has: '01aa',
    lacks: '02bb',
  },
  { name: 'H51 200 different unknown attributes', attributes: unknown(200, 1), has: attribute('e0f0', 'ab') },
  {
    name: 'H53 a block that just fits on its way in and not with our AS number',
    attributes: attribute('d0fe', 'ab'.repeat(4096 - 23 - 20 - 4 - 4 - 2)),
    withheld: true,
  },
  {
    name: 'H38 RFC 6793 AS4_PATH from a four-octet neighbour: not passed on',
    attributes: attribute('c011', '02010001117e'),
    lacks: '0001117e',
  },
  {
    name: 'H42 RFC 7606 §7.5 LOCAL_PREF from an external neighbour: not passed on',
    attributes: attribute('4005', '00000064'),
    lacks: '400504',
  },
  {
    name: 'H45 RFC 7606 §7.9 ORIGINATOR_ID from an external neighbour: not passed on',
    attributes: attribute('8009', '0a0b0c0d'),
    lacks: '0a0b0c0d',
  },
];

describe('strange attributes behind the route server', { timeout: 600_000 }, () => {
  let zest: ZestProcess;
  let from: RawSpeaker;
  let to: RawSpeaker;
  before(async () => {
    const port = await freePort();
    const peer = (name: string, address: string, as: number): string => `
    peer ${name} {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip ${address}; connect false; } }
        session { asn { remote ${as}; } next-hop unchanged; family { ipv4/unicast { prefix { maximum 1000; } } } }
        process rs { receive [ update state ]; send [ update ]; }
    }`;
    zest = await ZestProcess.start(`
environment { log { level info; } }
plugin { external rs { use bgp-rs; } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
${peer('from', FROM, 64512)}${peer('to', TO, 64513)}
}
`);
    to = await RawSpeaker.establish({ port, local: TO, as: 64513 });
    from = await RawSpeaker.establish({ port, local: FROM });
  });
  after(async () => {
    await Promise.all([from.close(), to.close()]);
    assert.equal(await zest.stop(), 0);
  });

  for (const [i, row] of ROWS.entries()) {
    test(row.name, async () => {
      const nlri = `180a00${i.toString(16).padStart(2, '0')}`;
      const marker = `180a01${i.toString(16).padStart(2, '0')}`;
      // What is withheld has replaced an earlier announcement.
      if (row.withheld === true) from.send(update({ attributes: MANDATORY, nlri }));
      from.send(update({ attributes: MANDATORY + row.attributes, nlri }));
      from.send(update({ attributes: MANDATORY, nlri: marker }));
      await to.until('the marker is passed on', () => to.updates().some((body) => body.endsWith(marker)));
      const passed = to.updates().find((body) => body.endsWith(nlri));
      if (row.withheld === true) {
        const about = to.updates().filter((body) => body.includes(nlri));
        assert.equal(about.length, 2, about.join(' '));
        assert.equal(about[1], `0004${nlri}0000`, 'the earlier announcement is withdrawn');
        return;
      }
      assert.ok(passed !== undefined, 'it is passed on');
      if (row.has !== undefined) assert.ok(passed.includes(row.has), passed);
      if (row.lacks !== undefined) assert.ok(!passed.includes(row.lacks), passed);
    });
  }

  test('whatever was sent on is well-formed, and withheld routes are reported', async () => {
    for (const { type, bytes } of to.messages) {
      if (type !== UPDATE) continue;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const withdrawn = view.getUint16(HEADER_LENGTH);
      const attributes = view.getUint16(HEADER_LENGTH + 2 + withdrawn);
      assert.ok(HEADER_LENGTH + 4 + withdrawn + attributes <= bytes.length && bytes.length <= 4096);
    }
    assert.ok(from.established && to.established);
    const entries = await reports(zest);
    assertCodesListed(entries.map(({ code }) => code));
    assert.deepEqual(
      entries.filter(({ code }) => code === 'route-withheld').map(({ subject }) => subject),
      [TO],
    );
    await zest.logs(/route-withheld/);
  });
});
