// Real files that are not part of the project: tests that read them are skipped, with the reason, where they are absent.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const folder = process.env['ZEST_SHARED'] ?? resolve(import.meta.dirname, '../../../shared');

/** The path of a shared file, and what to hand to `test` as `skip`: false, or why. */
export function sharedData(...path: string[]): { readonly path: string; readonly skip: false | string } {
  const full = join(folder, ...path);
  return { path: full, skip: existsSync(full) ? false : `needs the data folder (ZEST_SHARED): ${path.join('/')} is absent` };
}
