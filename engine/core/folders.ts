/** `mkdir -p`, one level at a time: Node's own never returns where a parent exists but refuses children (`/proc`). */
import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Makes the folder and those above it that are missing, with this mode. Throws the system's error. */
export function makeFolders(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = resolve(path); at !== dirname(at) && !isThere(at); at = dirname(at)) missing.push(at);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** What cannot be looked at is not there: making it says why. */
function isThere(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch {
    return false;
  }
}
