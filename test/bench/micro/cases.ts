// A micro bench: what one call does, how many routes pass in it, and how it is set up.

export interface Bench {
  /** One call; at least some tens of microseconds of work, so that the clock costs nothing. */
  run(): void | Promise<void>;
  /** Before each call, not timed. */
  before?: () => void;
  /** After the last one. */
  close?: () => void | Promise<void>;
}

export interface Case {
  /** `room: what` */
  readonly name: string;
  /** What is counted within one call: routes, lines, calls, …, and how many. */
  readonly per: string;
  readonly count: number;
  make(): Bench;
}

/** Keeps results from being optimised away. */
export const sink = { value: 0 };
