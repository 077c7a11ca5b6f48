// Lines, calls, answers, batches of events, and the configuration.
import { BATCH_BYTES, BATCH_EVENTS, BufferPool, BytesBatch, NUMBERED } from '../../../engine/bus/batch.ts';
import { STRUCTURED_ROWS, StructuredRows } from '../../../engine/bus/structured.ts';
import { loadConfig } from '../../../engine/config/load.ts';
import { LineSplitter } from '../../../sdk/rpc/frame.ts';
import { Mux } from '../../../sdk/rpc/mux.ts';
import { pipePair } from '../../../sdk/rpc/pipe.ts';
import { records } from '../../../sdk/rpc/records.ts';
import type { PeerDirectory } from '../../../sdk/plugin/structured.ts';
import { row } from '../../unit/bus/fixture.ts';
import { type Bench, type Case, sink } from './cases.ts';
import { SampleTable } from './sample-table.ts';

const LINES = 1000;
const CALLS = 200;
const ANSWER_ROWS = 2000;
const PEERS = 3000;

function lines(chunkBytes: number): Bench {
  const text = Buffer.from(
    Array.from({ length: LINES }, (_, i) => `#${i + 1} ze-plugin-engine:update-route {"command":"${'x'.repeat(200)}"}\n`).join(
      '',
    ),
  );
  const splitter = new LineSplitter((line) => (sink.value += line.length));
  const chunks: Buffer[] = [];
  for (let at = 0; at < text.length; at += chunkBytes) chunks.push(text.subarray(at, at + chunkBytes));
  return {
    run: () => {
      for (const chunk of chunks) splitter.push(chunk);
    },
  };
}

/** Two ends of a pipe; `right` answers. */
function link(): { left: Mux; right: Mux; close: () => Promise<void> } {
  const [near, far] = pipePair();
  const left = new Mux(near);
  const right = new Mux(far);
  return {
    left,
    right,
    close: async () => {
      await left.close();
      await right.close();
    },
  };
}

function calls(together: boolean): Bench {
  const { left, right, close } = link();
  right.serve('ze-plugin-engine:emit-event', () => ({ delivered: 1 }));
  const input = { namespace: 'bench', 'event-type': 'tick', event: '{"n":1}' };
  return {
    run: async () => {
      if (together) {
        await Promise.all(Array.from({ length: CALLS }, () => left.call('ze-plugin-engine:emit-event', input)));
        return;
      }
      for (let i = 0; i < CALLS; i++) await left.call('ze-plugin-engine:emit-event', input);
    },
    close,
  };
}

function answer(): Bench {
  const { left, right, close } = link();
  const rows = Array.from({ length: ANSWER_ROWS }, (_, i) => ({ prefix: `16.${i >> 8}.${i & 255}.0/24`, peer: 'edge', med: i }));
  right.serveAnswer('ze-plugin-engine:dispatch-command', () => records(rows, { envelope: 'routes' }));
  return {
    run: async () => {
      for await (const value of left.dispatchAnswer('ze-plugin-engine:dispatch-command', { command: 'x' })) {
        if (value !== undefined) sink.value++;
      }
    },
    close,
  };
}

function bytesBatch(): Bench {
  const pool = new BufferPool();
  const event = Buffer.from(`{\\"type\\":\\"bgp\\",\\"bgp\\":{\\"x\\":\\"${'y'.repeat(400)}\\"`);
  const events = Math.min(BATCH_EVENTS, Math.floor(BATCH_BYTES / (event.length + 64)));
  return {
    run: () => {
      const batch = new BytesBatch(pool, BATCH_BYTES);
      for (let i = 0; i < events && batch.hasRoom(event.length); i++)
        batch.append(event, 0, event.length, NUMBERED, i + 1, undefined);
      sink.value += batch.params().length;
      batch.release(pool);
    },
  };
}

const nobody: PeerDirectory = {
  capacity: 0,
  name: () => '',
  address: () => '',
  remoteAs: () => 0,
  localAs: () => 0,
  group: () => '',
};

function structuredBatch(): Bench {
  const table = new SampleTable(STRUCTURED_ROWS);
  const rows = table.at.map((at, i) =>
    row({ kind: 'update', messageId: i + 1, bytes: table.bytes, bytesAt: at, bytesLength: table.length[i]! }),
  );
  const batch = new StructuredRows(nobody);
  return {
    run: () => {
      for (const it of rows) if (batch.hasRoom(it.bytesLength)) batch.append(it, 1);
      sink.value += batch.count;
      batch.reset();
    },
  };
}

function config(): Bench {
  const peers = Array.from(
    { length: PEERS },
    (_, i) =>
      `peer p${i} { connection { remote { ip 10.${1 + (i >> 8)}.${i & 255}.1; } } session { asn { remote ${65001 + i}; } } }`,
  );
  const text = `bgp { router-id 1.1.1.1; session { asn { local 1; } } group g { connection local ip 1.1.1.1\n ${peers.join('\n')} } }`;
  return {
    run: () => {
      const result = loadConfig(text, { path: 'bench.conf' });
      if (!result.ok) throw new Error('the configuration of the bench is refused');
      sink.value += result.config.reactor.peers.length;
    },
  };
}

export const linkCases: readonly Case[] = [
  { name: 'rpc: lines cut from chunks of 64 KiB', per: 'line', count: LINES, make: () => lines(65_536) },
  { name: 'rpc: lines cut from chunks of 1 KiB', per: 'line', count: LINES, make: () => lines(1024) },
  { name: 'rpc: calls over a pipe, one after another', per: 'call', count: CALLS, make: () => calls(false) },
  { name: 'rpc: calls over a pipe, many at once', per: 'call', count: CALLS, make: () => calls(true) },
  { name: 'rpc: answer of records written and read', per: 'row', count: ANSWER_ROWS, make: answer },
  { name: 'bus: batch of events as bytes', per: 'event', count: 512, make: bytesBatch },
  { name: 'bus: batch of structured rows', per: 'update', count: STRUCTURED_ROWS, make: structuredBatch },
  { name: 'config: 3,000 peers loaded', per: 'peer', count: PEERS, make: config },
];
