/** The running daemon's configuration as commands see it: what is in force, what was, and the way from one to the next. */
import type { CommitRefusal } from '../config/edit/commit-target.ts';
import type { ConfigFault, ConfigWarning } from '../config/fault.ts';
import type { Revision, StoreFault } from '../config/revisions/store.ts';

export interface CommitRequest {
  /** `undefined`: what the configuration file holds now. */
  readonly text: string | undefined;
  /** Version the text began with; `undefined` overwrites whatever is there. */
  readonly base: string | undefined;
  readonly author: string;
  readonly comment: string;
  readonly confirmSeconds: number | undefined;
}

export type CommitAnswer =
  | {
      readonly ok: true;
      /** Holds what was before. */
      readonly saved: number | undefined;
      /** Holds the commit; `undefined` until it is confirmed, or when nothing changed. */
      readonly revision: number | undefined;
      readonly version: string;
      readonly warnings: readonly ConfigWarning[];
      readonly notes: readonly string[];
      /** What a reload reports. */
      readonly report: Readonly<Record<string, unknown>>;
    }
  | {
      readonly ok: false;
      readonly reason: CommitRefusal;
      readonly message: string;
      readonly faults: readonly ConfigFault[];
      readonly detail?: Readonly<Record<string, unknown>> | undefined;
    };

export type CheckedText =
  | {
      readonly ok: true;
      readonly warnings: readonly ConfigWarning[];
      /** A plugin's objection; '' when nobody objects. */
      readonly refused: string;
      /** The impact, for an answer. */
      readonly fields: Readonly<Record<string, unknown>>;
      /** The same, a line each. */
      readonly lines: readonly string[];
    }
  | {
      readonly ok: false;
      readonly message: string;
      readonly faults: readonly ConfigFault[];
      readonly warnings: readonly ConfigWarning[];
    };

export interface ConfigHistory {
  /** Newest first. */
  readonly revisions: readonly Revision[];
  readonly faults: readonly StoreFault[];
  /** The revision that is in force; `undefined` when none is. */
  readonly current: number | undefined;
  readonly folder: string;
}

export interface ConfigStatus {
  readonly path: string;
  /** Of the text in force. */
  readonly version: string;
  /** What the file holds, compared with what is in force. */
  readonly file: 'in force' | 'differs' | 'missing';
  readonly pending: { readonly author: string; readonly comment: string; readonly secondsLeft: number } | undefined;
}

export interface ConfigControl {
  /** What is in force, secrets and all. */
  text(): { readonly text: string; readonly version: string };
  /** In canonical form, secrets masked; `undefined`: there is no such revision. */
  shown(revision: number | undefined): Promise<string | undefined>;
  /** Everything a commit would check, and nothing of what it would do. `undefined`: the file. */
  check(text: string | undefined): Promise<CheckedText>;
  commit(request: CommitRequest): Promise<CommitAnswer>;
  confirm(): Promise<CommitAnswer>;
  abort(by: string): Promise<CommitAnswer>;
  history(): Promise<ConfigHistory>;
  /** The text of a revision; `undefined`: there is none of that number. */
  revision(number: number): Promise<string | undefined>;
  status(): Promise<ConfigStatus>;
}
