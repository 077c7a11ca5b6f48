// NLRI of an event that only the owner of its family can read: what is asked before the event is written, and what is shown.
import type { Family } from '../../sdk/wire/family.ts';
import type { Decoded } from './wire-codec.ts';

export interface NlriQuestion {
  readonly family: Family;
  readonly name: string;
  /** The plugin. */
  readonly owner: string;
  /** The bytes lie here behind the beginning of the row's body. */
  readonly offset: number;
  /** A copy. */
  readonly nlri: Uint8Array;
  readonly addPath: boolean;
  readonly withdraw: boolean;
}

/** Entries as JSON values, or why there are none: then the bytes are shown with the reason. */
export type NlriAnswer = Decoded<readonly unknown[]>;

/** To the question of the same index. */
export interface AnsweredNlri {
  readonly questions: readonly NlriQuestion[];
  readonly answers: readonly NlriAnswer[];
}
