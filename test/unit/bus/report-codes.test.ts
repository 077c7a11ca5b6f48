// Every code that the source can report stands in the table of this room's README, and the table names no code that nobody reports.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test from 'node:test';
import { listedCodes } from '../../support/report-codes.ts';

const root = resolve(import.meta.dirname, '../../..');
const sources = ['engine', 'plugins'].flatMap((room) =>
  readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(root, room, name), 'utf8')),
);

/** Codes as they are written where something is reported. */
const FORMS: readonly RegExp[] = [
  /\breport\(\s*'(?:error|warning)',\s*'([a-z-]+)'/g,
  /\bfailed\((?:this|peer), '([a-z-]+)'/g,
  /severity: '(?:error|warning)',\s*code: (?:[^\n']*(?:'[a-z]+' \? ))?'([a-z-]+)'/g,
  /severity: 'error',\s*code: [^\n]* : '([a-z-]+)',/g,
  /#warn\((?:process, )?'([a-z-]+)'/g,
  /^ {2}\| '(plugin-[a-z-]+)'/gm,
];
/** A deliberate end is no failure: nothing is reported under it. */
const SILENT = ['plugin-stopped'];

const found = new Set(
  sources.flatMap((text) => FORMS.flatMap((form) => [...text.matchAll(form)].map((match) => match[1] ?? ''))),
);
for (const code of SILENT) found.delete(code);

test('every reported code is explained', () => {
  const listed = listedCodes();
  assert.deepEqual([...found].filter((code) => !listed.includes(code)).sort(), []);
});

test('every explained code is reported by somebody', () => {
  assert.deepEqual(
    listedCodes().filter((code) => !sources.some((text) => text.includes(`'${code}'`))),
    [],
  );
});

test('the search finds the codes of every room', () => {
  for (const code of [
    'update-malformed',
    'notification-sent',
    'listener',
    'event-gap',
    'plugin-crash',
    'plugin-down',
    'rib-full',
    'reload-refused',
    'uncaught-error',
    'state-dir-unwritable',
  ]) {
    assert.ok(found.has(code), code);
  }
});
