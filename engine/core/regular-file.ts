/**
 * Files that others may have put in our way: whatever stands under the name, reading it neither waits (a pipe that nobody writes would take one
 * of the few threads for file work with it, for good) nor takes more memory than is said.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Bytes of a configuration; a larger file is something else. */
export const MAXIMUM_FILE = 64 << 20;

/** Something else stands there. */
export class NoFile extends Error {
  override readonly name = 'NoFile';
  /** Without the path. */
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(`${path} is ${reason}`);
    this.reason = reason;
  }
}

/** The text of a file. Rejects with the system's error, or with `NoFile`. */
export async function readRegular(path: string, maximum = MAXIMUM_FILE): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new NoFile(path, 'not a file');
    if (found.size > maximum) throw new NoFile(path, `larger than ${maximum >> 20} MiB`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
