// Hex and JSON side by side, read both ways.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The rows of `vectors/<name>.json`; their shape is the caller's claim, checked by the assertions made with them. */
export function vectors(name: string): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'vectors', `${name}.json`), 'utf8'));
}
