// The codec: bytes of an UPDATE judged and walked, events written, route commands read.
import type { EventRow } from '../../../engine/bgp/port.ts';
import { EventEncoder } from '../../../engine/codec/event-encoder.ts';
import type { EventEncoding, EventFormat } from '../../../engine/codec/event-format.ts';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { RouteCommands } from '../../../engine/codec/route-command.ts';
import { AttributeCursor } from '../../../sdk/wire/attribute/cursor.ts';
import { PrefixCursor } from '../../../sdk/wire/nlri/prefix.ts';
import { UpdateView } from '../../../sdk/wire/update.ts';
import { peer, row } from '../../unit/bus/fixture.ts';
import { type Bench, type Case, sink } from './cases.ts';
import { context, SampleTable } from './sample-table.ts';

const UPDATES = 1000;
const HEADER = 19;

function over(work: (table: SampleTable, i: number) => void): Bench {
  const table = new SampleTable(UPDATES);
  return {
    run: () => {
      for (let i = 0; i < UPDATES; i++) work(table, i);
    },
  };
}

function event(format: EventFormat, encoding: EventEncoding): Bench {
  const table = new SampleTable(UPDATES);
  const encoder = new EventEncoder(new CodecRegistry());
  const from = peer(0);
  const rows: readonly EventRow[] = table.at.map((at, i) =>
    row({ kind: 'update', messageId: i + 1, bytes: table.bytes, bytesAt: at + HEADER, bytesLength: table.length[i]! - HEADER }),
  );
  return {
    run: () => {
      for (const it of rows) {
        encoder.begin(it, from);
        sink.value += encoder.encode(format, encoding, true).to;
      }
    },
  };
}

/** Commands of one prefix each; the attributes repeat after `sets` of them. */
function commands(sets: number): Bench {
  const parser = new RouteCommands(new CodecRegistry());
  const texts = Array.from({ length: UPDATES }, (_, i) => {
    const set = i % sets;
    return `update text origin igp as-path [65000 ${1 + set} ${131_072 + set}] next-hop 192.0.2.1 med ${set} community [64500:${set} 64501:7] nlri ipv4/unicast add 16.${i >> 8}.${i & 255}.0/24`;
  });
  let round = 0;
  return {
    run: () => {
      round++;
      for (const text of texts) {
        // With a set for each command, texts never repeat from call to call either.
        const parsed = parser.parse(sets < UPDATES ? text : text.replace('med ', `med ${round % 4000}`));
        if (parsed.ok) sink.value++;
      }
    },
  };
}

const routes = { per: 'route', count: UPDATES * 5 };

export const codecCases: readonly Case[] = [
  {
    name: 'codec: UPDATE located and judged',
    ...routes,
    make: () => {
      const view = new UpdateView();
      return over((t, i) => (sink.value += view.read(t.bytes, t.view, t.at[i]!, t.length[i]!, context)));
    },
  },
  {
    name: 'codec: UPDATE located, its attributes known to be good',
    ...routes,
    make: () => {
      const view = new UpdateView();
      return over((t, i) => {
        view.locate(t.bytes, t.view, t.at[i]!, t.length[i]!, context);
        sink.value += view.trust(0);
      });
    },
  },
  {
    name: 'codec: attributes walked',
    per: 'block',
    count: UPDATES,
    make: () => {
      const cursor = new AttributeCursor();
      return over((t, i) => {
        cursor.over(t.view, t.blockAt[i]!, t.blockLength[i]!);
        while (cursor.next()) sink.value += cursor.code;
      });
    },
  },
  {
    name: 'codec: NLRI walked',
    ...routes,
    make: () => {
      const cursor = new PrefixCursor();
      return over((t, i) => {
        cursor.over(t.view, t.nlriAt[i]!, t.nlriLength, 32, false);
        while (cursor.next()) sink.value++;
      });
    },
  },
  { name: 'codec: event as JSON, parsed', ...routes, make: () => event('parsed', 'json') },
  { name: 'codec: event as JSON, full', ...routes, make: () => event('full', 'json') },
  { name: 'codec: event as JSON, raw', ...routes, make: () => event('raw', 'json') },
  { name: 'codec: event as a line of text', ...routes, make: () => event('parsed', 'text') },
  { name: 'codec: update-route read, attributes known', per: 'route', count: UPDATES, make: () => commands(20) },
  { name: 'codec: update-route read, attributes new', per: 'route', count: UPDATES, make: () => commands(UPDATES) },
];
