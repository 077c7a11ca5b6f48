/**
 * Many deadlines on one timer of the clock: a heap ordered by due time. A deadline that is moved later (a hold timer, at every
 * message) costs one store; it is looked at again when its old time comes. `poll` fires what is due without waiting for the
 * event loop, so a loop that is busy reading can still send a KEEPALIVE in time.
 */
import type { Clock, Timer } from './clock.ts';

/** One thing that may fall due. Made once and set many times; belongs to the `Deadlines` that made it. */
export class Deadline {
  /** ms of `Clock.now`; Infinity = not set. */
  dueAt = Infinity;
  /** Where the heap believes it is due; -1 = not in the heap. Never later than `dueAt` while set. */
  heapAt = -1;
  readonly action: () => void;
  readonly #owner: Deadlines;

  constructor(owner: Deadlines, action: () => void) {
    this.#owner = owner;
    this.action = action;
  }

  get set(): boolean {
    return this.dueAt !== Infinity;
  }

  /** Due `ms` from now; a former setting is forgotten. */
  in(ms: number): void {
    this.dueAt = this.#owner.clock.now() + ms;
    if (this.heapAt < 0 || this.heapAt > this.dueAt) this.#owner.file(this);
  }

  clear(): void {
    this.dueAt = Infinity;
  }
}

interface Filed {
  readonly at: number;
  readonly deadline: Deadline;
}

export class Deadlines {
  readonly clock: Clock;
  /** Binary heap by `at`; entries whose deadline was moved or cleared are dropped or filed again when they come up. */
  readonly #heap: Filed[] = [];
  #timer: Timer | undefined;
  #timerAt = Infinity;
  #firing = false;
  /** Heap size at which stale entries are swept out. */
  #sweepAt = 1024;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  create(action: () => void): Deadline {
    return new Deadline(this, action);
  }

  /** Earliest moment at which something may be due: one comparison tells a busy loop whether to call `poll`. */
  get nextAt(): number {
    return this.#heap[0]?.at ?? Infinity;
  }

  /** Entries in the heap: what a leak test counts. */
  get size(): number {
    return this.#heap.length;
  }

  /** Fires everything due by now, in order. Not entered twice. */
  poll(): void {
    if (this.#firing) return;
    this.#firing = true;
    try {
      for (let now = this.clock.now(); ; ) {
        const first = this.#heap[0];
        if (first === undefined || first.at > now) break;
        this.#pop();
        const deadline = first.deadline;
        if (deadline.heapAt !== first.at) continue;
        deadline.heapAt = -1;
        if (deadline.dueAt === Infinity) continue;
        if (deadline.dueAt > now) {
          this.file(deadline);
          continue;
        }
        deadline.dueAt = Infinity;
        deadline.action();
        now = this.clock.now();
      }
    } finally {
      this.#firing = false;
      this.#arm();
    }
  }

  /** Called by `Deadline`: puts it into the heap at its due time. */
  file(deadline: Deadline): void {
    deadline.heapAt = deadline.dueAt;
    if (this.#heap.length >= this.#sweepAt) this.#sweep();
    this.#push({ at: deadline.dueAt, deadline });
    if (!this.#firing) this.#arm();
  }

  /** Stops the clock's timer and forgets everything. */
  close(): void {
    for (const filed of this.#heap) {
      filed.deadline.dueAt = Infinity;
      filed.deadline.heapAt = -1;
    }
    this.#heap.length = 0;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = Infinity;
  }

  #arm(): void {
    const next = this.nextAt;
    if (next === this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = next;
    this.#timer = undefined;
    if (next === Infinity) return;
    this.#timer = this.clock.after(Math.max(0, next - this.clock.now()), () => {
      this.#timer = undefined;
      this.#timerAt = Infinity;
      this.poll();
    });
  }

  /** Entries left behind by deadlines that were set earlier or cleared go; what remains is filed anew. */
  #sweep(): void {
    const live = this.#heap.filter((filed) => filed.deadline.heapAt === filed.at && filed.deadline.set);
    for (const filed of this.#heap) if (!filed.deadline.set) filed.deadline.heapAt = -1;
    this.#heap.length = 0;
    for (const filed of live) this.#push(filed);
    this.#sweepAt = Math.max(1024, 2 * live.length);
  }

  #push(entry: Filed): void {
    const heap = this.#heap;
    let i = heap.length;
    heap.push(entry);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (heap[parent]!.at <= entry.at) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    const size = heap.length;
    if (size === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= size) break;
      if (child + 1 < size && heap[child + 1]!.at < heap[child]!.at) child++;
      if (heap[child]!.at >= last.at) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
  }
}
