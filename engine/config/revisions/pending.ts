/**
 * The mark of a commit that waits for its confirmation: a file in the store. While it is there the candidate is in force and the
 * configuration file still holds what was before, so a daemon that ends, however it ends, comes back with the old configuration; the
 * next start finds the mark, says so and takes it away.
 */
import { unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readRegular } from '../../core/regular-file.ts';
import { codeOf, syncFolder, unread, writeSafely } from './safe-write.ts';
import { PENDING_NAME, type RevisionStore, versionOf } from './store.ts';

export interface PendingMark {
  /** ms since the epoch */
  readonly deadline: number;
  readonly author: string;
  readonly comment: string;
  /** The candidate. */
  readonly text: string;
}

export type FoundMark =
  | { readonly kind: 'none' }
  | { readonly kind: 'mark'; readonly mark: PendingMark }
  | { readonly kind: 'torn'; readonly reason: string };

const MAGIC = '# zest-pending ';

export async function writeMark(store: RevisionStore, { text, ...head }: PendingMark): Promise<void> {
  await store.prepare();
  await writeSafely(pathOf(store), `${MAGIC}${JSON.stringify({ ...head, sha256: versionOf(text) })}\n${text}`);
}

/** Never rejects. */
export async function readMark(store: RevisionStore): Promise<FoundMark> {
  let content: string;
  try {
    content = await readRegular(pathOf(store));
  } catch (error) {
    return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR' ? { kind: 'none' } : { kind: 'torn', reason: unread(error) };
  }
  const end = content.indexOf('\n');
  const text = content.slice(end + 1);
  try {
    if (end < 0 || !content.startsWith(MAGIC)) throw new Error('no first line');
    const head = JSON.parse(content.slice(MAGIC.length, end)) as Readonly<Record<string, unknown>>;
    const { deadline, author, comment, sha256 } = head;
    if (typeof deadline !== 'number' || typeof author !== 'string' || typeof comment !== 'string' || sha256 !== versionOf(text))
      throw new Error('does not meet its checksum');
    return { kind: 'mark', mark: { deadline, author, comment, text } };
  } catch (error) {
    return { kind: 'torn', reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Rejects with the system's error; a mark that is not there is gone. */
export async function removeMark(store: RevisionStore): Promise<void> {
  try {
    await unlink(pathOf(store));
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return;
    throw error;
  }
  await syncFolder(dirname(pathOf(store)));
}

function pathOf(store: RevisionStore): string {
  return join(store.folder, PENDING_NAME);
}
