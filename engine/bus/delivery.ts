/**
 * Takes batches from one process's queue to the process, in order: a few on their way at a time where a wire lies between, so that the
 * process need not wait for the next one while its acknowledgement travels; else one. An acknowledgement makes room for one more. The
 * oldest has the delivery deadline from the moment it is the oldest; a process that lets it pass has failed, its owner hears of it
 * once and decides what follows. Nothing here waits for anything but its own process.
 */
import type { StructuredBatch } from '../../sdk/plugin/structured.ts';
import { assert } from '../core/assert.ts';
import type { Clock, Timer } from '../core/clock.ts';
import type { Batch } from './batch.ts';
import type { EventQueue } from './queue.ts';

/**
 * How events reach a process. `send` resolves when the process has acknowledged the batch; the bytes are then used again, for events
 * of the same process. It rejects when the process answered with an error or is gone.
 */
export type Transport =
  | { readonly form: 'bytes'; send(params: Uint8Array, count: number): Promise<void> }
  | { readonly form: 'texts'; send(texts: readonly string[]): Promise<void> };

export interface LaneEvents {
  /** A batch is done, whatever the answer: `error` is what the process or its handler said. */
  settled(batch: Batch, error: unknown): void;
  /** No acknowledgement within the deadline. Called once; the lane delivers nothing more. */
  silent(): void;
}

/** Batches with a process on the other side of a wire. */
export const WINDOW = 4;

export class DeliveryLane {
  readonly #queue: EventQueue;
  readonly #transport: Transport;
  readonly #structured: ((batch: StructuredBatch) => void) | undefined;
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  readonly #events: LaneEvents;
  readonly #window: number;
  /** Batches with the process. */
  #waiting = 0;
  #timer: Timer | undefined;
  #closed = false;
  batches = 0;
  delivered = 0;

  constructor(
    queue: EventQueue,
    transport: Transport,
    structured: ((batch: StructuredBatch) => void) | undefined,
    clock: Clock,
    deadlineMs: number,
    events: LaneEvents,
  ) {
    this.#queue = queue;
    this.#transport = transport;
    this.#window = transport.form === 'bytes' ? WINDOW : 1;
    this.#structured = structured;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
    this.#events = events;
  }

  /** Delivers what waits, as far as the process has room for it. */
  pump(): void {
    while (!this.#closed && this.#waiting < this.#window) {
      const batch = this.#queue.take();
      if (batch === undefined) return;
      this.batches++;
      this.delivered += batch.count;
      this.#waiting++;
      if (batch.form === 'rows') this.#handRows(batch);
      else this.#send(batch);
    }
  }

  /** Ends deliveries; what is on its way is given up. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    this.#queue.clear();
    this.#queue.abandon();
  }

  #handRows(batch: Batch & { readonly form: 'rows' }): void {
    let error: unknown;
    try {
      this.#structured?.(batch);
    } catch (thrown) {
      error = thrown ?? new Error('handler threw nothing');
    }
    this.#settle(batch, error);
  }

  #send(batch: Exclude<Batch, { readonly form: 'rows' }>): void {
    if (this.#waiting === 1) this.#wind();
    const answer = this.#answer(batch);
    answer.then(
      () => this.#acknowledged(batch, undefined),
      (error: unknown) => this.#acknowledged(batch, error ?? new Error('delivery refused')),
    );
  }

  #answer(batch: Exclude<Batch, { readonly form: 'rows' }>): Promise<void> {
    const transport = this.#transport;
    try {
      if (transport.form === 'bytes') {
        assert(batch.form === 'bytes', 'a bytes transport is given bytes');
        return transport.send(batch.params(), batch.count);
      }
      assert(batch.form === 'texts', 'a texts transport is given texts');
      return transport.send(batch.texts);
    } catch (thrown) {
      return Promise.reject(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  }

  #acknowledged(batch: Batch, error: unknown): void {
    if (this.#closed) return;
    this.#timer?.cancel();
    if (this.#waiting > 1) this.#wind();
    this.#settle(batch, error);
    this.pump();
  }

  #wind(): void {
    this.#timer = this.#clock.after(this.#deadlineMs, () => this.#expire());
  }

  #settle(batch: Batch, error: unknown): void {
    this.#waiting--;
    if (this.#closed) return;
    this.#events.settled(batch, error);
    this.#queue.settle(batch);
  }

  #expire(): void {
    if (this.#closed) return;
    this.close();
    this.#events.silent();
  }
}
