/**
 * A commit as far as files are concerned: the new text waits beside the configuration file, what stood there is kept as a revision, and
 * at the end, when everything else has gone well, the new one is kept as a revision and takes the file's place.
 */
import type { Clock } from '../../core/clock.ts';
import { stageFile } from './safe-write.ts';
import type { Revision, RevisionStore } from './store.ts';

export interface FileCommit {
  readonly configPath: string;
  readonly store: RevisionStore;
  /** What the file holds now; `undefined` when there is none. */
  readonly before: string | undefined;
  readonly text: string;
  readonly author: string;
  readonly comment: string;
  readonly clock: Pick<Clock, 'wall'>;
}

export interface PreparedCommit {
  /** The revision that holds what was before; `undefined` when nothing was. */
  readonly saved: number | undefined;
  readonly notes: readonly string[];
  /** The point of no return. Rejects with the system's error; the old file stands then. */
  write(): Promise<Revision>;
  /** Never rejects. */
  discard(): Promise<void>;
}

/** Who is named for a text that was there before anybody committed, or that was written by other means. */
export const NO_AUTHOR = 'file';

/** Everything that can fail for want of room or permission fails here, with nothing done. */
export async function prepareCommit(commit: FileCommit): Promise<PreparedCommit> {
  const { configPath, store, before, text, author, comment, clock } = commit;
  const staged = await stageFile(configPath, text);
  try {
    await store.prepare();
    const saved = before === undefined ? undefined : await keptBefore(store, before, clock);
    return {
      saved,
      notes: staged.notes,
      write: async () => {
        const revision = await store.save({ text, author, comment, time: clock.wall() });
        try {
          await staged.commit();
        } catch (error) {
          await store.forget(revision.number);
          throw error;
        }
        return revision;
      },
      discard: () => staged.discard(),
    };
  } catch (error) {
    await staged.discard();
    throw error;
  }
}

/** The number of the revision that holds the text; it is made when no commit has. */
export async function keptBefore(store: RevisionStore, text: string, clock: Pick<Clock, 'wall'>): Promise<number> {
  const held = await store.holding(text);
  if (held !== undefined) return held.number;
  const comment = 'found in the file before a commit';
  return (await store.save({ text, author: NO_AUTHOR, comment, time: clock.wall() })).number;
}
