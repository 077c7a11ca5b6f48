/**
 * A tap on the bus for a person: `monitor event` (daemon-cli §7.5). Lines as they happen, in a bounded queue; a reader that is behind
 * loses lines and reads a gap marker in their place. A tap never holds a peer and never slows a plugin.
 */
import { parseShallow } from '../../sdk/rpc/json.ts';
import { neutral } from '../codec/byte-writer.ts';
import type { EventEncoding, EventFormat } from '../codec/event-format.ts';
import type { PeerSelector, SelectablePeer } from '../codec/peer-selector.ts';
import { composeText, gapText } from './batch.ts';

export interface MonitorFilter {
  readonly peers: PeerSelector;
  /** Type names (`update`) or `namespace/type`; empty = all. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** undefined = both */
  readonly direction: 'received' | 'sent' | undefined;
  readonly format: EventFormat;
  readonly encoding: EventEncoding;
}

export const MONITOR_EVENTS = 1024;
export const MONITOR_BYTES = 1024 * 1024;

export class Monitor implements AsyncIterable<string>, Disposable {
  readonly filter: MonitorFilter;
  readonly #limits: { readonly events: number; readonly bytes: number };
  readonly #onClose: () => void;
  #lines: string[] = [];
  #bytes = 0;
  #seq = 0;
  #missing = 0;
  #closed = false;
  #wake: (() => void) | undefined;
  dropped = 0;

  constructor(filter: MonitorFilter, onClose: () => void, limits = { events: MONITOR_EVENTS, bytes: MONITOR_BYTES }) {
    this.filter = filter;
    this.#onClose = onClose;
    this.#limits = limits;
  }

  /** Does the tap want this type? Peer and direction are judged apart. */
  wants(namespace: string, type: string): boolean {
    const { include, exclude } = this.filter;
    const named = (list: readonly string[]): boolean => list.includes(type) || list.includes(`${namespace}/${type}`);
    return (include.length === 0 || named(include)) && !named(exclude);
  }

  wantsPeer(peer: SelectablePeer | undefined): boolean {
    return peer === undefined ? this.filter.peers.everyPeer : this.filter.peers.matches(peer);
  }

  /** One event; `shared` lacks its last brace when `shape` says that it is numbered. */
  push(shared: string, shape: number): void {
    if (this.#closed) return;
    this.#seq++;
    if (this.#lines.length >= this.#limits.events || this.#bytes + shared.length > this.#limits.bytes) {
      this.#missing++;
      this.dropped++;
      return;
    }
    this.#markGap(this.#seq - 1);
    this.#append(composeText(shared, shape, this.#seq, undefined));
  }

  /** Events lost before the bus saw them. */
  lost(count: number): void {
    this.#seq += count;
    this.#missing += count;
    this.dropped += count;
    this.#wake?.();
    this.#wake = undefined;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
    this.#wake?.();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** One reader. Ends when the tap is closed; leaving the loop closes it. */
  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, undefined> {
    try {
      for (;;) {
        const lines = this.#lines;
        this.#lines = [];
        this.#bytes = 0;
        yield* lines;
        if (this.#lines.length > 0) continue;
        if (this.#missing > 0) this.#markGap(this.#seq);
        else if (this.#closed) return;
        else await this.#arrival();
      }
    } finally {
      this.close();
    }
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #markGap(last: number): void {
    if (this.#missing === 0) return;
    const missing = this.#missing;
    this.#missing = 0;
    this.#append(gapText(missing, last - missing + 1, last, this.filter.encoding === 'text'));
  }

  #append(line: string): void {
    this.#lines.push(line);
    this.#bytes += line.length;
    this.#wake?.();
    this.#wake = undefined;
  }
}

/**
 * An event that was emitted as text, wrapped so that it is one line whatever its emitter wrote. Without the last brace: the stream's
 * `meta` closes it.
 */
export function envelopeText(namespace: string, type: string, text: string): string {
  return `{"namespace":${JSON.stringify(namespace)},"event":${JSON.stringify(type)},"payload":${payloadJson(text)}`;
}

/** The payload of an envelope: embedded when it is JSON that can be read (line breaks between tokens become blanks), else as a string. */
export function payloadJson(text: string): string {
  try {
    parseShallow(text);
    return neutral(text.trim().replace(/[\r\n\t]+/g, ' '));
  } catch {
    return neutral(JSON.stringify(text));
  }
}
