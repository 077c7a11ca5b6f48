/**
 * What a received UPDATE passes before it is anybody's route: filter steps, in order, one message after the other. A step may
 * answer at once, and then nothing is copied or queued; or later, and then the messages of that peer (and of no other) wait in
 * line behind it. The line is bounded: at its limit the peer is not read.
 */
import type { Notice } from './fsm.ts';

/** Bytes that may wait for a step; then the socket is held until half of them are gone. */
const LINE_BYTES = 4 * 1024 * 1024;

export type Verdict =
  | { readonly kind: 'accept' }
  | { readonly kind: 'reject' }
  /** The whole message anew, header included; later steps see it. */
  | { readonly kind: 'replace'; readonly message: Uint8Array }
  | { readonly kind: 'teardown'; readonly notice: Notice; readonly reason: string };

/** The message under judgement: `length` bytes at `at`, valid until the step returns (a promise's step must copy). */
export interface Passage {
  readonly peer: number;
  bytes: Uint8Array;
  at: number;
  length: number;
}

export interface FilterStep {
  readonly name: string;
  run(passage: Passage): Verdict | Promise<Verdict>;
}

export interface PipelineOwner {
  /** An accepted message. `late`: it waited, so this is outside a read callback and the bytes are the pipeline's. */
  passed(bytes: Uint8Array, at: number, length: number, late: boolean): void;
  teardown(notice: Notice, reason: string): void;
  /** A step threw or rejected: its message is dropped. */
  stepFailed(step: string, error: unknown): void;
  /** The line is full, or short again. */
  hold(held: boolean): void;
}

export class Pipeline {
  readonly #owner: PipelineOwner;
  readonly #peer: number;
  readonly #steps: readonly FilterStep[];
  /** Waiting messages from `#first` on. */
  readonly #line: Uint8Array[] = [];
  #first = 0;
  #lineBytes = 0;
  #busy = false;
  #held = false;
  /** Raised when the session goes, so that late answers find nobody. */
  #generation = 0;

  constructor(owner: PipelineOwner, peer: number, steps: readonly FilterStep[]) {
    this.#owner = owner;
    this.#peer = peer;
    this.#steps = steps;
  }

  /** There are no steps: every message passes at once. */
  get direct(): boolean {
    return this.#steps.length === 0;
  }

  get waiting(): number {
    return this.#line.length - this.#first;
  }

  push(bytes: Uint8Array, at: number, length: number): void {
    if (this.#steps.length === 0) {
      this.#owner.passed(bytes, at, length, false);
      return;
    }
    if (!this.#busy) {
      this.#run({ peer: this.#peer, bytes, at, length }, 0, false);
      return;
    }
    this.#line.push(bytes.slice(at, at + length));
    this.#lineBytes += length;
    if (this.#lineBytes > LINE_BYTES && !this.#held) {
      this.#held = true;
      this.#owner.hold(true);
    }
  }

  /** The session ended: what waits is dropped, what is being judged is ignored. */
  clear(): void {
    this.#generation++;
    this.#line.length = 0;
    this.#first = 0;
    this.#lineBytes = 0;
    this.#busy = false;
    this.#release();
  }

  /** Steps from `index` on; returns true when the message is done with, false when a step took its time. */
  #run(passage: Passage, index: number, late: boolean): boolean {
    for (let i = index; i < this.#steps.length; i++) {
      const step = this.#steps[i]!;
      let verdict: Verdict | Promise<Verdict>;
      try {
        verdict = step.run(passage);
      } catch (error) {
        this.#owner.stepFailed(step.name, error);
        return true;
      }
      if (verdict instanceof Promise) {
        this.#await(verdict, passage, i, late);
        return false;
      }
      if (!this.#apply(verdict, passage)) return true;
    }
    this.#owner.passed(passage.bytes, passage.at, passage.length, late);
    return true;
  }

  /** False: the message goes no further. */
  #apply(verdict: Verdict, passage: Passage): boolean {
    switch (verdict.kind) {
      case 'accept':
        return true;
      case 'reject':
        return false;
      case 'replace':
        passage.bytes = verdict.message;
        passage.at = 0;
        passage.length = verdict.message.length;
        return true;
      case 'teardown':
        this.#owner.teardown(verdict.notice, verdict.reason);
        return false;
    }
  }

  #await(answer: Promise<Verdict>, passage: Passage, index: number, late: boolean): void {
    this.#busy = true;
    const generation = this.#generation;
    if (!late) {
      passage.bytes = passage.bytes.slice(passage.at, passage.at + passage.length);
      passage.at = 0;
    }
    answer.then(
      (verdict) => {
        if (generation !== this.#generation) return;
        this.#busy = false;
        const done = this.#apply(verdict, passage) ? this.#run(passage, index + 1, true) : true;
        if (done && generation === this.#generation) this.#next();
      },
      (error: unknown) => {
        if (generation !== this.#generation) return;
        this.#busy = false;
        this.#owner.stepFailed(this.#steps[index]!.name, error);
        this.#next();
      },
    );
  }

  #next(): void {
    const generation = this.#generation;
    while (generation === this.#generation && !this.#busy) {
      const message = this.#line[this.#first];
      if (message === undefined) break;
      if (++this.#first === this.#line.length) {
        this.#line.length = 0;
        this.#first = 0;
      }
      this.#lineBytes -= message.length;
      this.#run({ peer: this.#peer, bytes: message, at: 0, length: message.length }, 0, true);
    }
    if (this.#lineBytes <= LINE_BYTES / 2) this.#release();
  }

  #release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#owner.hold(false);
  }
}
