// What an editing session commits to: a file with its revisions, or a running daemon. The session knows only this; whoever fulfils
// it decides what "commit" does (write a file, run a transaction). Nothing here throws for an expected outcome; what is thrown is
// the environment's (a file that cannot be read, a daemon that went away), with a message for people.
import type { ConfigFault, ConfigWarning } from '../fault.ts';

/** A configuration as it is in force, and what tells it from any other state of the same target. */
export interface LoadedConfig {
  readonly text: string;
  /**
   * Opaque; equal versions mean equal text. A commit states the version it began with, so that what somebody else wrote in
   * between is never overwritten unseen. A target whose file does not exist yet answers the version of the empty text.
   */
  readonly version: string;
}

/** One kept revision. Numbers rise by one a commit; the highest is the newest. */
export interface RevisionInfo {
  readonly number: number;
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly author: string;
  /** '' when none was given. */
  readonly comment: string;
}

export type CheckResult =
  | {
      readonly ok: true;
      readonly warnings: readonly ConfigWarning[];
      /** What a commit would do, a line each, for people. */
      readonly impact: readonly string[];
      /** Why the target would not take this valid text (a plugin's no); '' when it would. */
      readonly refused: string;
    }
  | { readonly ok: false; readonly faults: readonly ConfigFault[]; readonly warnings: readonly ConfigWarning[] };

export interface CommitOptions {
  /** Version the candidate began with; `undefined` overwrites whatever is there. */
  readonly base: string | undefined;
  readonly comment: string;
  readonly author: string;
  /** Seconds (1..3600) after which the commit is taken back unless `confirm` comes; `undefined` = for good. */
  readonly confirmSeconds: number | undefined;
}

export type CommitRefusal =
  /** The target changed since `base`: load again, rebase or discard. */
  | 'changed'
  /** The text does not hold: `faults` say why. */
  | 'invalid'
  /** A commit waits for its confirmation. */
  | 'pending'
  /** A plugin said no, or failed to apply; all were rolled back. */
  | 'refused'
  /** The target cannot do what was asked (`commit confirmed` on a file without a daemon). */
  | 'unsupported';

export type CommitResult =
  | {
      readonly ok: true;
      /** The revision that now holds what was in force before; `undefined` when there was nothing before. */
      readonly saved: number | undefined;
      readonly version: string;
      readonly warnings: readonly ConfigWarning[];
      /** What the commit did, a line each, for people. */
      readonly notes: readonly string[];
    }
  | {
      readonly ok: false;
      readonly reason: CommitRefusal;
      readonly message: string;
      readonly faults: readonly ConfigFault[];
    };

/** A commit that waits for its confirmation. */
export interface PendingCommit {
  readonly secondsLeft: number;
  readonly author: string;
  readonly comment: string;
}

export type ConfirmResult = { readonly ok: true } | { readonly ok: false; readonly message: string };

export interface CommitTarget {
  /** For prompts and messages: `zest.conf`, `running daemon (zest.conf)`. */
  readonly name: string;
  load(signal?: AbortSignal): Promise<LoadedConfig>;
  /** Everything a commit would check, and nothing of what it would do. */
  check(text: string, signal?: AbortSignal): Promise<CheckResult>;
  commit(text: string, options: CommitOptions, signal?: AbortSignal): Promise<CommitResult>;
  /** Newest first. */
  history(signal?: AbortSignal): Promise<readonly RevisionInfo[]>;
  /** The text of a kept revision; `undefined` when there is none of that number. */
  revision(number: number, signal?: AbortSignal): Promise<string | undefined>;
  /** The commit that waits, if one does. */
  pending(signal?: AbortSignal): Promise<PendingCommit | undefined>;
  /** Makes the waiting commit stay. */
  confirm(signal?: AbortSignal): Promise<ConfirmResult>;
  /** Takes the waiting commit back at once. */
  abort(signal?: AbortSignal): Promise<ConfirmResult>;
}
