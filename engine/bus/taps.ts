// The taps of all who watch (`monitor event`): opened, written to, closed. One that nobody has costs nothing.
import type { EventRow, PeerIdentity } from '../bgp/port.ts';
import type { EventEncoder } from '../codec/event-encoder.ts';
import type { SelectablePeer } from '../codec/peer-selector.ts';
import { PeerSelector } from '../codec/peer-selector.ts';
import { NUMBERED, VERBATIM } from './batch.ts';
import { BGP } from './event-types.ts';
import type { MonitorFilter } from './monitor.ts';
import { envelopeText, Monitor } from './monitor.ts';
import { directionBits } from './process.ts';

export class Taps {
  readonly #open = new Set<Monitor>();
  readonly #changed: () => void;

  /** `changed`: one more or one fewer watches. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Close it, or leave its loop. */
  open(filter: Partial<MonitorFilter>): Monitor {
    const monitor: Monitor = new Monitor(
      {
        peers: filter.peers ?? PeerSelector.all,
        include: filter.include ?? [],
        exclude: filter.exclude ?? [],
        direction: filter.direction,
        format: filter.format ?? 'parsed',
        encoding: filter.encoding ?? 'json',
      },
      () => {
        this.#open.delete(monitor);
        this.#changed();
      },
    );
    this.#open.add(monitor);
    this.#changed();
    return monitor;
  }

  /** The row that the encoder has begun. */
  row(row: EventRow, peer: PeerIdentity, encoder: EventEncoder): void {
    for (const monitor of this.#open) {
      const { direction, format, encoding } = monitor.filter;
      if (direction !== undefined && row.direction !== 'unspecified' && row.direction !== direction) continue;
      if (!monitor.wants(BGP, row.kind) || !monitor.wantsPeer(peer)) continue;
      monitor.push(encoder.text(format, encoding), encoder.numbered(format, encoding) ? NUMBERED : VERBATIM);
    }
  }

  /** A plugin's own event; `directions` as in `directionBits`, 0 = of none. */
  emitted(namespace: string, type: string, text: string, peer: SelectablePeer | undefined, directions: number): void {
    for (const monitor of this.#open) {
      if (!monitor.wants(namespace, type) || !monitor.wantsPeer(peer)) continue;
      const wanted = monitor.filter.direction;
      if (wanted === undefined || directions === 0 || (directionBits(wanted) & directions) !== 0) {
        monitor.push(envelopeText(namespace, type, text), NUMBERED);
      }
    }
  }

  lost(count: number): void {
    for (const monitor of this.#open) monitor.lost(count);
  }
}
