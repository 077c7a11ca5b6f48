/** Messages of real routers through every writer of the codec, counted against an independent walk of the same file. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { EventEncoder } from '../../../engine/codec/event-encoder.ts';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { decodeCommand } from '../../../engine/offline/decode.ts';
import { countMrt } from '../../../engine/offline/mrt/count.ts';
import { openMrt } from '../../../engine/offline/mrt/open.ts';
import { sharedData } from '../../support/shared-data.ts';
import { peer, row } from '../bus/fixture.ts';

interface Message {
  readonly at: number;
  readonly length: number;
  readonly asn4: boolean;
}

/** UPDATEs of BGP4MP records (RFC 6396 §4.4): subtype 1 with two-octet AS numbers, 4 with four-octet ones. */
function updates(bytes: Uint8Array): readonly Message[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found: Message[] = [];
  for (let at = 0; at + 12 <= bytes.length; ) {
    const type = view.getUint16(at + 4);
    const subtype = view.getUint16(at + 6);
    const length = view.getUint32(at + 8);
    const asn4 = subtype === 4;
    if ((type === 16 || type === 17) && (subtype === 1 || asn4)) {
      // BGP4MP_ET has four octets of microseconds in front (RFC 6396 §3).
      const addresses = at + (type === 17 ? 16 : 12) + (asn4 ? 12 : 8);
      const message = addresses + (view.getUint16(addresses - 2) === 1 ? 8 : 32);
      if (view.getUint8(message + 18) === 2) found.push({ at: message + 19, length: view.getUint16(message + 16) - 19, asn4 });
    }
    at += 12 + length;
  }
  return found;
}

const FILES = ['updates.20160811.1600.gz', 'updates.20100722.2015.gz', 'updates.20071015.1505.gz'];
for (const name of FILES) {
  const { path, skip } = sharedData('data', 'mrt', 'bgpdump', name);
  test(`every route of ${name} is in an event`, { skip }, () => {
    const { bytes } = openMrt(path);
    const truth = countMrt(path);
    const encoder = new EventEncoder(new CodecRegistry());
    const count = { ipv4: 0, ipv6: 0 };
    for (const { at, length, asn4 } of updates(bytes)) {
      encoder.begin(row({ kind: 'update', messageId: 1, bytes, bytesAt: at, bytesLength: length, asn4 }), peer(0));
      const event = JSON.parse(`${encoder.text('parsed', 'json')}}`) as {
        bgp: { update?: { nlri: Record<string, { nlri: unknown[] }[]> } };
      };
      for (const [family, operations] of Object.entries(event.bgp.update?.nlri ?? {})) {
        const afi = family.startsWith('ipv4/') ? 'ipv4' : 'ipv6';
        for (const { nlri } of operations) count[afi] += nlri.length;
      }
      assert.ok(encoder.text('parsed', 'text').endsWith('\n'));
      assert.ok(encoder.text('full', 'json').length > 0);
    }
    const routes = (afi: 'ipv4' | 'ipv6'): number => truth.announced[afi] + truth.withdrawn[afi];
    assert.deepEqual(count, { ipv4: routes('ipv4'), ipv6: routes('ipv6') });
  });
}

const raw = sharedData('data', 'raw', 'opendaylight');
test('whole messages of another project are decoded', { skip: raw.skip }, () => {
  const files = readdirSync(raw.path).filter((name) => name.endsWith('.bin'));
  let decoded = 0;
  for (const name of files) {
    const hex = readFileSync(join(raw.path, name)).toString('hex');
    const fields = decodeCommand([hex], '');
    // One of them has an attribute list cut short on purpose.
    if (fields.code !== 0) {
      assert.match(fields.stderr, /^offset \d+: /, name);
      continue;
    }
    decoded++;
    const json = decodeCommand([hex], '', true);
    assert.equal((JSON.parse(json.stdout) as { type: string }).type, 'bgp', name);
  }
  assert.equal(decoded, files.length - 1);
});
