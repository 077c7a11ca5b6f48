/**
 * One process on the bus: what it asked for, what it may see, its queue and its deliveries. The bus walks over these; nothing in
 * here looks at another process.
 */
import type { StructuredBatch } from '../../sdk/plugin/structured.ts';
import type { EventKind, EventRow, PeerIdentity, ProcessBinding } from '../bgp/port.ts';
import type { Constant } from '../codec/byte-writer.ts';
import { constant } from '../codec/byte-writer.ts';
import type { EventEncoder } from '../codec/event-encoder.ts';
import type { EventEncoding, EventFormat } from '../codec/event-format.ts';
import { eventEncoding, eventFormat } from '../codec/event-format.ts';
import { KIND_NUMBER, KINDS } from '../codec/event-kinds.ts';
import type { Clock } from '../core/clock.ts';
import { NUMBERED, VERBATIM } from './batch.ts';
import type { CacheMode } from './cache-account.ts';
import { CacheAccount } from './cache-account.ts';
import type { Transport } from './delivery.ts';
import { DeliveryLane } from './delivery.ts';
import { BGP } from './event-types.ts';
import { envelopeText } from './monitor.ts';
import type { Peers } from './peers.ts';
import type { Pools, QueueLimits } from './queue.ts';
import { DEFAULT_QUEUE, EventQueue } from './queue.ts';
import { STRUCTURED_NUMBER } from './structured.ts';
import type { Subscription } from './subscriptions.ts';
import { EVERYTHING, grantMask, NO_MATCH, receiveOf, RECEIVED, rowBit, SENT, SubscriptionSet } from './subscriptions.ts';

/** Ze's `ze.plugin.delivery.timeout`. */
export const DELIVERY_DEADLINE_MS = 5000;

export type ProcessFailure = 'silent' | 'overflow';

export interface ProcessOptions {
  readonly name: string;
  readonly transport: Transport;
  /** Takes received and sent messages and state changes in columns; everything else still comes as text. */
  readonly structured?: ((batch: StructuredBatch) => void) | undefined;
  /** Sees all it asks for; others see what `process` bindings grant. */
  readonly builtin: boolean;
  /** Dependents have a higher tier than what they depend on, and are told first. */
  readonly tier: number;
  /** undefined = 64 batches, 4 MiB, `hold-peer` for cache consumers, else `drop-with-gap`. */
  readonly queue?: Partial<QueueLimits> | undefined;
  readonly cacheMode?: CacheMode | undefined;
  readonly deadlineMs?: number | undefined;
  /** Of the config, until the process says otherwise. */
  readonly encoding?: EventEncoding | undefined;
  readonly format?: EventFormat | undefined;
  /**
   * The process let a delivery deadline pass, or its queue overflowed under `disconnect`. Called once; nothing is delivered any more
   * and the owner is expected to detach it.
   */
  onFailure(failure: ProcessFailure): void;
  /** The process answered a batch with an error: a handler of its own threw. It goes on. */
  readonly onRefused?: ((message: string) => void) | undefined;
}

export interface ProcessStatistics {
  readonly name: string;
  readonly format: EventFormat;
  readonly encoding: EventEncoding;
  readonly subscriptions: number;
  readonly policy: string;
  readonly events: number;
  readonly batches: number;
  readonly dropped: number;
  readonly gaps: number;
  /** Batches the process answered with an error. */
  readonly refused: number;
  readonly queueBytes: number;
  readonly queueBatches: number;
  readonly failed: boolean;
}

const UPDATE_RECEIVED = rowBit(KIND_NUMBER.update, false);
const UPDATE_SENT = rowBit(KIND_NUMBER.update, true);

/** What a process tells the bus about itself. */
export interface ProcessEvents {
  /** A batch was acknowledged, refused or taken: the queue may have room. */
  settled(process: BusProcess, error: unknown): void;
  failed(process: BusProcess, failure: ProcessFailure): void;
}

export class BusProcess {
  readonly name: string;
  readonly tier: number;
  readonly builtin: boolean;
  readonly subscriptions = new SubscriptionSet();
  readonly queue: EventQueue;
  readonly lane: DeliveryLane;
  readonly cache: CacheAccount;
  /** The reactor counts this process for received UPDATEs. */
  counted = false;
  failed = false;
  refused = 0;
  /** Reported as dropping, as holding peers: said once each. */
  reportedGap = false;
  reportedHold = false;
  /** When a refused batch was last reported, ms; and how many were not since. */
  refusedReportedAt = Number.NEGATIVE_INFINITY;
  refusedUnreported = 0;
  readonly onRefused: ((message: string) => void) | undefined;
  format: EventFormat;
  encoding: EventEncoding;
  /** The process has chosen format or encoding itself: a binding no longer sets it. */
  readonly #configured: { readonly format: EventFormat; readonly encoding: EventEncoding };
  #chosenFormat: EventFormat | undefined;
  #chosenEncoding: EventEncoding | undefined;
  readonly form: 'bytes' | 'texts';
  readonly #structured: boolean;
  readonly #onFailure: (failure: ProcessFailure) => void;
  readonly #events: ProcessEvents;
  #masks = new Uint32Array(0);
  #envelopes = new Uint32Array(0);
  /** Union of the masks: what the reactor is asked for. */
  interest = 0;

  constructor(options: ProcessOptions, clock: Clock, pools: Pools, events: ProcessEvents) {
    this.name = options.name;
    this.tier = options.tier;
    this.builtin = options.builtin;
    this.cache = new CacheAccount(options.cacheMode ?? 'none');
    const { queue } = options;
    // One literal, so that limits of every origin have one shape: they are read for each row.
    const limits: QueueLimits = {
      batches: queue?.batches ?? DEFAULT_QUEUE.batches,
      bytes: queue?.bytes ?? DEFAULT_QUEUE.bytes,
      onOverflow: queue?.onOverflow ?? (this.cache.mode === 'none' ? DEFAULT_QUEUE.onOverflow : 'hold-peer'),
      heldBytes: queue?.heldBytes ?? DEFAULT_QUEUE.heldBytes,
    };
    this.form = options.transport.form;
    this.#structured = options.structured !== undefined;
    this.#onFailure = (failure) => options.onFailure(failure);
    this.onRefused = options.onRefused;
    this.#events = events;
    this.#configured = { format: options.format ?? 'parsed', encoding: options.encoding ?? 'json' };
    this.format = this.#configured.format;
    this.encoding = this.#configured.encoding;
    this.queue = new EventQueue(this.form, limits, pools);
    this.queue.encoding = this.encoding;
    this.lane = new DeliveryLane(
      this.queue,
      options.transport,
      options.structured,
      clock,
      options.deadlineMs ?? DELIVERY_DEADLINE_MS,
      {
        settled: (_batch, error) => {
          if (error !== undefined) this.refused++;
          this.#events.settled(this, error);
        },
        silent: () => this.fail('silent'),
      },
    );
  }

  /** Adds subscriptions; format and encoding hold for the whole process. Returns why not, or undefined. */
  subscribe(list: readonly Subscription[], format: string | undefined, encoding: string | undefined): string | undefined {
    const fault = this.subscriptions.add(list);
    if (fault !== undefined) return fault;
    if (format !== undefined && format !== '') this.#chosenFormat = eventFormat(format);
    if (encoding !== undefined && encoding !== '') this.#chosenEncoding = eventEncoding(encoding);
    return undefined;
  }

  /** Works out the masks again after peers, grants or subscriptions changed. */
  refresh(peers: Peers, bindings: ReadonlyMap<string, readonly ProcessBinding[]>): void {
    const masks = new Uint32Array(peers.capacity);
    const envelopes = new Uint32Array(peers.capacity);
    let interest = 0;
    let bound: ProcessBinding | undefined;
    for (let i = 0; i < peers.capacity; i++) {
      const peer = peers.at(i);
      const own = bindings.get(peer.name);
      const grant = this.builtin ? EVERYTHING : grantMask(receiveOf(this.name, own));
      bound ??= own?.find((one) => one.process === this.name && (one.format !== undefined || one.encoding !== undefined));
      masks[i] = this.subscriptions.mask(peer, false) & grant;
      envelopes[i] = masks[i] === 0 ? 0 : this.subscriptions.mask(peer, true) & grant;
      interest |= masks[i]!;
    }
    this.#masks = masks;
    this.#envelopes = envelopes;
    this.interest = interest;
    this.format = this.#chosenFormat ?? (bound?.format === undefined ? this.#configured.format : eventFormat(bound.format));
    this.encoding = this.#chosenEncoding ?? bound?.encoding ?? this.#configured.encoding;
    this.queue.encoding = this.encoding;
  }

  /** Received or sent. */
  get takesUpdates(): boolean {
    return !this.failed && (this.interest & (UPDATE_RECEIVED | UPDATE_SENT)) !== 0;
  }

  get wantsUpdates(): boolean {
    return (this.interest & UPDATE_RECEIVED) !== 0;
  }

  /** Updates reach it as text that says what their NLRI mean. */
  get reads(): boolean {
    return !this.#structured && (this.format === 'parsed' || this.format === 'full');
  }

  /** Is a row with this bit for this process? */
  wants(peer: number, bit: number): boolean {
    return ((this.#masks[peer] ?? 0) & bit) !== 0;
  }

  /** Puts a row that it wants into its stream; `numbered` is how it shows what can carry a number. */
  append(row: EventRow, bit: number, encoder: EventEncoder, numbered = NUMBERED): boolean {
    const structured = this.#structured ? STRUCTURED_NUMBER[row.kind] : undefined;
    if (structured !== undefined) return this.#done(this.queue.pushRow(row, structured));
    if ((this.#envelopes[row.peer]! & bit) !== 0) return this.#done(this.#appendEnveloped(row, encoder, numbered));
    if (this.form === 'texts') {
      const shape = encoder.numbered(this.format, this.encoding) ? numbered : VERBATIM;
      return this.#done(this.queue.pushText(encoder.text(this.format, this.encoding), shape, undefined));
    }
    const form = encoder.encode(this.format, this.encoding, true);
    return this.#done(this.queue.pushBytes(encoder.bytes, form.from, form.to, form.numbered ? numbered : VERBATIM, undefined));
  }

  /** Puts an emitted event into its stream: as it is, or in an envelope. */
  appendText(text: string, envelope: boolean, namespace: string, type: string): boolean {
    const shared = envelope ? envelopeText(namespace, type, text) : text;
    return this.#done(this.#appendString(shared, envelope ? NUMBERED : VERBATIM));
  }

  /** How an emitted event meets the subscriptions and, in the namespace bgp, the grants. */
  match(
    namespace: string,
    type: string,
    directions: number,
    peer: PeerIdentity | undefined,
    selectable: { name: string; remoteAddress: string; remoteAs: number } | undefined,
    bindings: ReadonlyMap<string, readonly ProcessBinding[]>,
  ): number {
    if (this.failed) return NO_MATCH;
    const found = this.subscriptions.match(namespace, type, directions, selectable);
    if (found === NO_MATCH || this.builtin || namespace !== BGP) return found;
    const granted = (list: readonly ProcessBinding[] | undefined): boolean => receiveOf(this.name, list).includes(type);
    if (peer !== undefined) return granted(bindings.get(peer.name)) ? found : NO_MATCH;
    return [...bindings.values()].some(granted) ? found : NO_MATCH;
  }

  fail(failure: ProcessFailure): void {
    if (this.failed) return;
    this.failed = true;
    this.lane.close();
    this.subscriptions.clear();
    this.#events.failed(this, failure);
    this.#onFailure(failure);
  }

  statistics(): ProcessStatistics {
    return {
      name: this.name,
      format: this.format,
      encoding: this.encoding,
      subscriptions: this.subscriptions.list.length,
      policy: this.queue.limits.onOverflow,
      events: this.lane.delivered,
      batches: this.lane.batches,
      dropped: this.queue.dropped,
      gaps: this.queue.gaps,
      refused: this.refused,
      queueBytes: this.queue.bytes,
      queueBatches: this.queue.batches,
      failed: this.failed,
    };
  }

  #appendEnveloped(row: EventRow, encoder: EventEncoder, numbered: number): boolean {
    if (!encoder.numbered(this.format, this.encoding)) {
      const line = encoder.text(this.format, this.encoding);
      return this.#appendString(envelopeText(BGP, row.kind, line), numbered);
    }
    const head = ENVELOPE_HEADS[row.kind];
    if (this.form === 'texts') return this.queue.pushText(encoder.text(this.format, this.encoding), numbered, head);
    const form = encoder.encode(this.format, this.encoding, true);
    return this.queue.pushBytes(encoder.bytes, form.from, form.to, numbered, head);
  }

  #appendString(shared: string, shape: number): boolean {
    if (this.form === 'texts') return this.queue.pushText(shared, shape, undefined);
    const escaped = Buffer.from(JSON.stringify(shared).slice(1, -1), 'utf8');
    return this.queue.pushBytes(escaped, 0, escaped.length, shape, undefined);
  }

  #done(accepted: boolean): boolean {
    if (this.queue.overflowed) this.fail('overflow');
    return accepted;
  }
}

/** The beginning of the envelope of each kind of row. */
const ENVELOPE_HEADS: Readonly<Record<EventKind, Constant>> = Object.fromEntries(
  KINDS.map((kind) => [kind, constant(`{"namespace":"bgp","event":"${kind}","payload":`)]),
) as Record<EventKind, Constant>;

/** Direction of an emitted event as subscription bits; 0 = none. */
export function directionBits(direction: string | undefined): number {
  return direction === 'received' ? RECEIVED : direction === 'sent' ? SENT : direction === 'both' ? RECEIVED | SENT : 0;
}
