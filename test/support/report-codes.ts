// What `show errors` and `show warnings` hold, and the table in which an operator looks their codes up.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ZestProcess } from './zest-process.ts';

export interface ReportEntry {
  readonly code: string;
  readonly severity: 'warning' | 'error';
  readonly source: string;
  readonly subject: string;
  readonly message: string;
  /** ISO 8601 */
  readonly raised: string;
}

export async function reports(zest: ZestProcess): Promise<readonly ReportEntry[]> {
  // What is down has failed before: a warning that is seen has its error.
  const warnings: unknown = await zest.json('show', 'warnings');
  const errors: unknown = await zest.json('show', 'errors');
  return [errors, warnings].flat() as readonly ReportEntry[];
}

/** The codes of the table in engine/bus/README.md. */
export function listedCodes(): readonly string[] {
  const text = readFileSync(join(import.meta.dirname, '../../engine/bus/README.md'), 'utf8');
  return [...text.matchAll(/^\| `([a-z-]+)` \|/gm)].map((match) => match[1] ?? '');
}

export function assertCodesListed(codes: Iterable<string>): void {
  const listed = listedCodes();
  assert.deepEqual([...new Set(codes)].filter((code) => !listed.includes(code)).sort(), [], 'codes that no table explains');
}
