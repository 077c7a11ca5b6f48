/**
 * The line a peer's UPDATEs pass through one after the other: filter steps, in order. A step may answer at once, and then nothing
 * is copied or queued; or later, and then the messages of that peer (and of no other) wait in line behind it. With a single step that takes its time
 * the next ones are already asked about meanwhile, up to a window; what they are answered takes effect in the order they came.
 * The line is bounded: at its limit whoever fills it is told to hold.
 */
import type { Notice } from '../session/fsm.ts';

/** Bytes that may wait for a step; then the owner is told to hold until half of them are gone. */
const LINE_BYTES = 4 * 1024 * 1024;
/** Messages of one peer a single step is asked about at once. */
const WINDOW = 64;
/** Places of messages that are gone, before the line is moved up. */
const GONE = 1024;

export type Verdict =
  | { readonly kind: 'accept' }
  | { readonly kind: 'reject' }
  /**
   * The whole message anew, header included; later steps see it. `removed`: the routes that it announces no more, as withdrawals, where the
   * step knows them; then it speaks of all the others.
   */
  | { readonly kind: 'replace'; readonly message: Uint8Array; readonly removed?: readonly Uint8Array[] }
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
  /** It answers at once and the same message always alike: others may be asked about while one waits for its answer elsewhere. */
  readonly pure?: boolean;
  run(passage: Passage): Verdict | Promise<Verdict>;
}

export interface PipelineOwner {
  /** A message that may go on. `late`: it waited, so the bytes are the pipeline's own and stay as they are. */
  passed(bytes: Uint8Array, at: number, length: number, late: boolean, changes: Changes | undefined): void;
  /** A message that may not, as it came. `removed`: what steps before the one that said so had taken out of it. */
  rejected(bytes: Uint8Array, at: number, length: number, removed: readonly Uint8Array[]): void;
  teardown(notice: Notice, reason: string): void;
  /** A step threw or rejected: its message counts as rejected. */
  stepFailed(step: string, error: unknown): void;
  /** The line is full, or short again. */
  hold(held: boolean): void;
  /** Messages that waited come now, in `release`: outside any read callback. */
  late(release: () => void): void;
}

/** What steps made of a message that went on. */
export interface Changes {
  /** As it was before a step put another in its place without saying what that leaves out. */
  readonly original: Uint8Array | undefined;
  /** Withdrawals of what steps took out. */
  readonly removed: readonly Uint8Array[];
}

type Fate = 'open' | 'passed' | 'rejected' | 'teardown';

/** A place in the line: a message, or an action that must not overtake those before it. */
class Place implements Passage {
  readonly peer: number;
  bytes: Uint8Array;
  at: number;
  length: number;
  /** The next step. */
  step: number;
  fate: Fate = 'open';
  changed = false;
  original: Uint8Array | undefined = undefined;
  removed: readonly Uint8Array[] = NOTHING;
  notice: Notice | undefined = undefined;
  reason = '';
  action: (() => void) | undefined = undefined;
  /** What it counts in the line. */
  readonly size: number;

  constructor(peer: number, bytes: Uint8Array, at: number, length: number, step: number) {
    this.peer = peer;
    this.bytes = bytes;
    this.at = at;
    this.length = length;
    this.step = step;
    this.size = length;
  }

  /** The bytes become ours. */
  keep(): void {
    this.bytes = copyOf(this.bytes, this.at, this.length);
    this.at = 0;
  }

  take(verdict: Verdict): void {
    this.step++;
    switch (verdict.kind) {
      case 'accept':
        break;
      case 'reject':
        this.fate = 'rejected';
        break;
      case 'replace':
        this.changed = true;
        if (verdict.removed === undefined) this.original ??= copyOf(this.bytes, this.at, this.length);
        else if (verdict.removed.length > 0) this.removed = [...this.removed, ...verdict.removed];
        this.bytes = verdict.message;
        this.at = 0;
        this.length = verdict.message.length;
        break;
      case 'teardown':
        this.fate = 'teardown';
        this.notice = verdict.notice;
        this.reason = verdict.reason;
        break;
    }
  }
}

const NONE = new Uint8Array(0);
const NOTHING: readonly Uint8Array[] = [];

/** A copy in memory of its own, also of a Buffer, whose `slice` is a view. */
export function copyOf(bytes: Uint8Array, at: number, length: number): Uint8Array {
  const out = new Uint8Array(length);
  out.set(bytes.subarray(at, at + length));
  return out;
}

export class Pipeline {
  readonly #owner: PipelineOwner;
  readonly #peer: number;
  #steps: readonly FilterStep[];
  /** Messages that may be under question at once. */
  #window: number;
  /** From `#first` on; those from `#next` on have not been asked about. */
  #line: Place[] = [];
  #first = 0;
  #next = 0;
  #lineBytes = 0;
  /** Promises that are out. */
  #open = 0;
  #held = false;
  #turning = false;
  /** Raised when the session goes, so that late answers find nobody. */
  #generation = 0;

  constructor(owner: PipelineOwner, peer: number, steps: readonly FilterStep[]) {
    this.#owner = owner;
    this.#peer = peer;
    this.#steps = steps;
    this.#window = windowOf(steps);
  }

  /** There are no steps, and nobody waits: every message passes at once. */
  get direct(): boolean {
    return this.#steps.length === 0 && this.waiting === 0;
  }

  get waiting(): number {
    return this.#line.length - this.#first;
  }

  get waitingBytes(): number {
    return this.#lineBytes;
  }

  /** Other steps for messages not asked about yet. */
  set steps(steps: readonly FilterStep[]) {
    this.#steps = steps;
    this.#window = windowOf(steps);
  }

  /** `exempt`: no step sees it, but it stays in its order. */
  push(bytes: Uint8Array, at: number, length: number, exempt = false): void {
    if (this.direct) {
      this.#owner.passed(bytes, at, length, false, undefined);
      return;
    }
    const place = new Place(this.#peer, bytes, at, length, exempt ? Infinity : 0);
    if (this.waiting > 0) {
      place.keep();
      this.#enqueue(place);
      this.#ask();
      return;
    }
    this.#advance(place);
    if (place.fate === 'open') {
      place.keep();
      this.#enqueue(place);
      this.#next = this.#line.length;
    } else this.#settle(place, false);
  }

  /** Runs `action` once everything pushed so far is done with; at once when nothing waits. */
  after(action: () => void): void {
    if (this.waiting === 0) {
      action();
      return;
    }
    const place = new Place(this.#peer, NONE, 0, 0, Infinity);
    place.action = action;
    this.#enqueue(place);
    this.#ask();
  }

  /** The session ended: what waits is dropped, what is being judged is ignored. */
  clear(): void {
    this.#generation++;
    this.#line = [];
    this.#first = 0;
    this.#next = 0;
    this.#lineBytes = 0;
    this.#open = 0;
    this.#release();
  }

  #enqueue(place: Place): void {
    this.#line.push(place);
    this.#lineBytes += place.size;
    if (this.#lineBytes <= LINE_BYTES || this.#held) return;
    this.#held = true;
    this.#owner.hold(true);
  }

  /** Steps from where the message stands, until one takes its time or its fate is known. */
  #advance(place: Place): void {
    while (place.step < this.#steps.length) {
      const step = this.#steps[place.step]!;
      let verdict: Verdict | Promise<Verdict>;
      try {
        verdict = step.run(place);
      } catch (error) {
        this.#fail(place, step, error);
        return;
      }
      if (verdict instanceof Promise) {
        this.#await(verdict, place, step);
        return;
      }
      place.take(verdict);
      if (place.fate !== 'open') return;
    }
    place.fate = 'passed';
  }

  #fail(place: Place, step: FilterStep, error: unknown): void {
    place.fate = 'rejected';
    this.#owner.stepFailed(step.name, error);
  }

  #await(answer: Promise<Verdict>, place: Place, step: FilterStep): void {
    this.#open++;
    const generation = this.#generation;
    const go = (answered: () => void): void => {
      if (generation !== this.#generation) return;
      this.#open--;
      answered();
      if (place.fate === 'open') this.#advance(place);
      this.#turn();
    };
    answer.then(
      (verdict) => go(() => place.take(verdict)),
      (error: unknown) => go(() => this.#fail(place, step, error)),
    );
  }

  /** Asks about those whose turn it is; with several steps one message at a time. */
  #ask(): void {
    const window = this.#window;
    while (this.#open < window && this.#next < this.#line.length) this.#advance(this.#line[this.#next++]!);
  }

  /** Lets go of the front of the line as far as it is decided, and asks on. */
  #turn(): void {
    if (this.#turning) return;
    this.#turning = true;
    try {
      this.#ask();
      if (this.#decided) this.#owner.late(() => this.#letGo());
    } finally {
      this.#turning = false;
    }
    if (this.#lineBytes <= LINE_BYTES / 2) this.#release();
  }

  get #decided(): boolean {
    const front = this.#line[this.#first];
    return front !== undefined && this.#first < this.#next && front.fate !== 'open';
  }

  #letGo(): void {
    while (this.#decided) {
      const place = this.#line[this.#first]!;
      if (++this.#first === this.#line.length || this.#first >= GONE) {
        this.#line = this.#line.slice(this.#first);
        this.#next -= this.#first;
        this.#first = 0;
      }
      this.#lineBytes -= place.size;
      // May end the session, and with it the line.
      this.#settle(place, true);
      this.#ask();
    }
  }

  #settle(place: Place, late: boolean): void {
    if (place.action !== undefined) place.action();
    else if (place.fate === 'passed') {
      const { original, removed } = place;
      this.#owner.passed(place.bytes, place.at, place.length, late, place.changed ? { original, removed } : undefined);
    } else if (place.fate === 'teardown') this.#owner.teardown(place.notice!, place.reason);
    else if (place.original === undefined) this.#owner.rejected(place.bytes, place.at, place.length, place.removed);
    else this.#owner.rejected(place.original, 0, place.original.length, place.removed);
  }

  #release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#owner.hold(false);
  }
}

function windowOf(steps: readonly FilterStep[]): number {
  return steps.filter((step) => step.pure !== true).length > 1 ? 1 : WINDOW;
}
