// Messages other implementations sent: what works in the wild is not refused. Data that is not in the tree; skipped where it is absent.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { plainContext } from '../../sdk/wire/context.ts';
import { NAMED_FAMILIES } from '../../sdk/wire/family.ts';
import { OK, outcomeName } from '../../sdk/wire/fault.ts';
import { checkHeader, HEADER_LENGTH, NOTIFICATION, OPEN, UPDATE } from '../../sdk/wire/message.ts';
import { readOffer } from '../../sdk/wire/negotiate.ts';
import { decodeNotification } from '../../sdk/wire/notification.ts';
import { decodeOpen } from '../../sdk/wire/open.ts';
import { UpdateView } from '../../sdk/wire/update.ts';
import { hex } from './build.ts';
import { tcpStreams } from './pcap.ts';

const shared = process.env['ZEST_SHARED'] ?? join(import.meta.dirname, '../../../shared');
const folder = join(shared, 'data');
const options = existsSync(folder) ? {} : { skip: `no captures at ${folder}` };

/** A capture does not say what was negotiated: both widths, without and with path identifiers, everything else allowed. */
const CONTEXTS = [
  [true, false],
  [false, false],
  [true, true],
  [false, true],
].map(([asn4 = true, addPath = false]) =>
  plainContext({
    asn4,
    ebgp: false,
    confederation: true,
    families: NAMED_FAMILIES,
    addPath: addPath ? NAMED_FAMILIES : [],
    extendedNextHop: NAMED_FAMILIES,
  }),
);

const TYPES = ['', 'OPEN', 'UPDATE', 'NOTIFICATION', 'KEEPALIVE', 'ROUTE-REFRESH'];
const update = new UpdateView();

/** Complaints about the messages of one stream, and their number by type. */
function readStream(bytes: Uint8Array, counts: Map<string, number>): string[] {
  const view = viewOf(bytes);
  const complaints: string[] = [];
  for (let at = 0; at + HEADER_LENGTH <= bytes.length; ) {
    const length = checkHeader(view, at, true);
    if (length <= 0) return [...complaints, `header ${length}`];
    if (at + length > bytes.length) return complaints;
    const type = view.getUint8(at + 18);
    const name = TYPES[type] ?? '';
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (type === UPDATE) {
      const outcomes = CONTEXTS.map((context) => update.read(bytes, view, at, length, context));
      if (!outcomes.includes(OK)) complaints.push(`UPDATE ${outcomes.map(outcomeName).join(' ')}`);
    } else if (type === OPEN) {
      const open = decodeOpen(bytes, at, length);
      if (!open.ok) complaints.push(`OPEN ${open.fault.code}/${open.fault.subcode}`);
      else if (readOffer(open.value.capabilities).malformed.length > 0) complaints.push('malformed capability');
    } else if (type === NOTIFICATION) assert.ok(decodeNotification(bytes, at, length) !== undefined);
    at += length;
  }
  return complaints;
}

interface Counted {
  readonly bgp?: Readonly<Record<string, number>>;
  readonly malformed_frames?: number;
}

/** Link layers the reader of captures does not know, and a session of BGPsec, whose paths are not in AS_PATH. */
const UNREAD = [
  'misc/ndpi-BGP_Cisco_hdlc_slarp.pcap',
  'packetlife/bgp_as_confed_sequence.pcapng',
  'packetlife/bgp_med.pcapng',
  'tcpdump/bgp-aigp.pcap',
];
const BGPSEC = ['tcpdump/bgp-bgpsec.pcap', 'tcpdump/bgpsec_invalid_signature_block_length.pcap'];

test('captures: every message of a well-formed one is read, and counted as its table says', options, () => {
  const table = JSON.parse(readFileSync(join(folder, 'pcap/counts.json'), 'utf8')) as Readonly<Record<string, Counted>>;
  let messages = 0;
  for (const [name, { bgp, malformed_frames }] of Object.entries(table)) {
    if (bgp === undefined || UNREAD.includes(name)) continue;
    const file = readFileSync(join(folder, 'pcap', name));
    const streams = tcpStreams(file, 179);
    const counts = new Map<string, number>();
    const complaints = (streams.length > 0 ? streams : tcpStreams(file, 1179)).flatMap((stream) => readStream(stream, counts));
    if (malformed_frames !== undefined) continue; // crash files of another project's fuzzing: not thrown, that is all
    assert.deepEqual(Object.fromEntries([...counts].sort()), Object.fromEntries(Object.entries(bgp).sort()), name);
    const unexpected = BGPSEC.includes(name) ? complaints.filter((text) => !text.startsWith('UPDATE withdraw')) : complaints;
    assert.deepEqual(unexpected, [], name);
    for (const count of counts.values()) messages += count;
  }
  assert.ok(messages > 1500, `${messages} messages`);
});

test('bare messages of another implementation’s tests', options, () => {
  const raw = join(folder, 'raw/opendaylight');
  const counts = new Map<string, number>();
  const complaints: string[] = [];
  for (const name of readdirSync(raw)) {
    if (name.endsWith('.bin'))
      complaints.push(...readStream(readFileSync(join(raw, name)), counts).map((text) => `${name}: ${text}`));
    else
      for (const message of listed(readFileSync(join(raw, name), 'utf8')))
        complaints.push(...readStream(message, counts).map((text) => `${name}: ${text}`));
  }
  // One MP_REACH_NLRI is marked well-known, one lacks its length: resets both. Early BGP-LS attributes were transitive: discarded.
  const unexpected = complaints.filter((text) => !text.startsWith('rib-impl-bgp_hex.txt: UPDATE discard'));
  assert.deepEqual(unexpected, [
    'extensions-inet-up1.bin: UPDATE reset reset reset reset',
    'parser-impl-up8.bin: UPDATE withdraw withdraw reset reset',
  ]);
  assert.deepEqual(Object.fromEntries(counts), { UPDATE: 70, OPEN: 3 });
});

/** Messages of a hex listing: the lines between blank or heading lines, cut at each marker. */
function listed(text: string): Uint8Array[] {
  const digits = text
    .split('\n')
    .filter((line) => /^[0-9a-fA-F\s]+$/.test(line))
    .join('')
    .replace(/\s/g, '');
  return digits
    .split(/(?=f{32})/i)
    .filter((part) => part.length > 0)
    .map(hex);
}
