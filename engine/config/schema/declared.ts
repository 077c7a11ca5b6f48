// What plugins declare, as the daemon and the command line speak of it.
import type { DeclareRegistrationInput } from '../../../yang/generated/methods.ts';

/** What a running plugin has added to the language of the configuration, for editors of it: who began as these settings say is not asked again. */
export interface DeclaredPlugin {
  readonly plugin: string;
  readonly run: string;
  readonly use: string;
  readonly declaration: Pick<DeclareRegistrationInput, 'schema' | 'families'>;
}

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
