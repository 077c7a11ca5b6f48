/**
 * A text file that may be in the middle of being written: editors and scripts cut a file to nothing and then fill it, and a
 * reload that is asked for at once would read half of it. Read when it has rested for a moment; never waits for a FIFO's writer.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Clock } from './clock.ts';
import { MAXIMUM_FILE } from './regular-file.ts';

export type FileText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string };

/** Since its last change. */
const REST_MS = 50;
const ATTEMPTS = 40;

/** Never rejects. The reason names the file. */
export async function readSettled(path: string, clock: Clock): Promise<FileText> {
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const read = await readOnce(path, clock);
      if (typeof read !== 'number') return read;
      await new Promise<void>((resolve) => clock.after(read, resolve));
    }
    return refusal(`${path} keeps changing while it is read`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return refusal(code === 'ENOENT' ? `${path}: no such file` : `${path} cannot be read (${code ?? String(error)})`);
  }
}

/** What is said of a file that cannot be read: its name once. */
export function unreadableText(path: string, reason: string): string {
  if (reason.startsWith(`${path}: `)) return `cannot read ${reason}`;
  return `cannot read ${path}: ${reason.startsWith(`${path} `) ? reason.slice(path.length + 1) : reason}`;
}

/** A number: it is to be tried again after so many ms. */
async function readOnce(path: string, clock: Clock): Promise<FileText | number> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const before = await file.stat({ bigint: true });
    if (!before.isFile()) return refusal(`${path} is not a file`);
    if (before.size > MAXIMUM_FILE) return refusal(`${path} holds more than ${MAXIMUM_FILE} bytes`);
    const age = clock.wall() - Number(before.mtimeMs);
    // A time of change in the future tells nothing.
    if (age >= 0 && age < REST_MS) return REST_MS - age;
    const text = await file.readFile('utf8');
    const after = await file.stat({ bigint: true });
    return before.size === after.size && before.mtimeNs === after.mtimeNs ? { ok: true, text } : REST_MS;
  } finally {
    await file.close();
  }
}

function refusal(reason: string): FileText {
  return { ok: false, reason };
}
