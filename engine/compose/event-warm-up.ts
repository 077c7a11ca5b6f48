/**
 * Writes synthetic UPDATEs as events through classes of the real kind before anything listens, so that a plugin's first table meets
 * compiled code: rows out of a ring, a bus of its own, one process that acknowledges at once. Cold, writing an event costs twelve
 * microseconds of the main thread; behind this, two. Nothing of it stays.
 */
import { emptyRow } from '../bgp/events/events.ts';
import { RingSink, RingSource } from '../bgp/events/event-ring.ts';
import type { PeerIdentity, ProcessBinding } from '../bgp/port.ts';
import { script } from '../bgp/warm-up.ts';
import { EventBus } from '../bus/bus.ts';
import type { CodecRegistry } from '../codec/registry.ts';
import { ManualClock } from '../core/clock.ts';
import { RingReader, RingWriter, ringMemory } from '../core/ring.ts';
import type { Log } from '../core/log.ts';
import { HEADER_LENGTH } from '../../sdk/wire/message.ts';

/** Events written: enough for the compiler to have made up its mind about all of it. */
const EVENTS = 6000;
/** Messages between two turns of the event loop: about a millisecond once it is warm. */
const SLICE = 250;
const RING_BYTES = 128 * 1024;

const PEER: PeerIdentity = {
  index: 0,
  name: 'rehearsal',
  group: '',
  remoteAddress: '192.0.2.1',
  remoteAs: 64_513,
  localAddress: '192.0.2.254',
  localAs: 64_512,
};

/** Resolves when `events` events have been written and taken. */
export async function warmUpEvents(registry: CodecRegistry, log: Log, events = EVENTS): Promise<void> {
  const bus = new EventBus({ clock: new ManualClock(), log, registry });
  const binding: ProcessBinding = { process: PEER.name, receive: ['update'], send: [] };
  bus.peers([PEER]);
  bus.setBindings(new Map([[PEER.name, [binding]]]));
  const process = bus.attach({
    name: PEER.name,
    transport: { form: 'bytes', send: () => Promise.resolve() },
    builtin: false,
    tier: 0,
    onFailure: () => undefined,
  });
  process.subscribe({ events: ['update'], format: 'parsed', encoding: 'json' });
  const memory = ringMemory(RING_BYTES);
  const source = new RingSource(new RingReader(memory), bus);
  const sink = new RingSink(new RingWriter(memory), MUTE);
  const row = emptyRow();
  row.kind = 'update';
  row.direction = 'received';
  for (let from = 0; from < events; from += SLICE) {
    const bytes = script(0, from, from + SLICE, false);
    for (let at = 0; at < bytes.length; ) {
      const length = (bytes[at + 16]! << 8) | bytes[at + 17]!;
      row.messageId++;
      row.bytes = bytes;
      row.bytesAt = at + HEADER_LENGTH;
      row.bytesLength = length - HEADER_LENGTH;
      sink.event(row);
      at += length;
    }
    source.drain(SLICE);
    source.rest();
    await new Promise((resolve) => setImmediate(resolve));
  }
  process.detach();
}

const MUTE: ConstructorParameters<typeof RingSink>[1] = {
  wake: () => undefined,
  report: () => undefined,
  log: () => undefined,
  question: () => Promise.resolve({ kind: 'accept' }),
  needsEveryRow: () => false,
  hold: () => undefined,
};
