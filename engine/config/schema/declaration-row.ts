// What a plugin declares, as people are shown it: the daemon and the command line speak of the same row.

/**
 * `declared`: it said what it provides · `declared-none`: it said that it provides nothing · `no-answer`: it ran and said nothing
 * that can be read · `unstartable`: it could not be run · `timeout`: it said nothing in time.
 */
export type DeclarationOutcome = 'declared' | 'declared-none' | 'no-answer' | 'unstartable' | 'timeout';

/** A row of `show plugin declarations`, under the names it is shown by. */
export interface DeclarationRow {
  readonly plugin: string;
  readonly outcome: DeclarationOutcome;
  readonly families: readonly string[];
  readonly commands: readonly string[];
  /** Config roots it wants. */
  readonly roots: readonly string[];
  /** The YANG module it brings; '' = none. */
  readonly schema: string;
  /** '' = no declaration. */
  readonly policy: string;
  readonly reason: string;
}
