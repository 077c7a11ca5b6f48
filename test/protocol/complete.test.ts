// The table of fields is whole: it has every method of the protocol's text, and every field of the YANG modules.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { sharedData } from '../support/shared-data.ts';
import { PROTOCOL } from './fields.ts';
import { fieldsOf, shapes } from './shape.ts';

const METHOD = /ze-plugin-(?:engine|callback):[a-z]+(?:-[a-z]+)*/g;
const seed = sharedData('seeds', 'ze-plugin-protocol.txt');

test('every method that the protocol names has its rows', { skip: seed.skip }, () => {
  const text = readFileSync(seed.path, 'utf8');
  const named = new Set([...text.matchAll(METHOD)].map(([name]) => name));
  assert(named.size >= 43, `only ${named.size} methods found`);
  assert.deepEqual(
    [...named].filter((name) => !Object.hasOwn(PROTOCOL, name)),
    [],
  );
});

test('every field of the tables of stage 1 has its row', { skip: seed.skip }, () => {
  const text = readFileSync(seed.path, 'utf8');
  const rows = new Set((PROTOCOL['ze-plugin-engine:declare-registration']?.input?.fields ?? []).map(([path]) => path));
  const tables: readonly (readonly [string, string])[] = [
    ['DeclareRegistrationInput:', ''],
    ['Each CommandDecl has these fields:', 'commands[0].'],
    ['Each PipeDecl has these fields:', 'pipes[0].'],
    ['Each FamilyDecl has these fields:', 'families[0].'],
  ];
  for (const [title, prefix] of tables) {
    const table = text.slice(text.indexOf(title)).split('\n\n')[1] ?? '';
    const names = [...table.matchAll(/^`([a-z-]+)`/gm)].map(([, name]) => name ?? '');
    assert(names.length >= 4, `${title} ${names.length} fields`);
    for (const name of names) {
      const found = [...rows].some(
        (path) => path === prefix + name || new RegExp(`^${prefix.replace('[0]', '\\[0\\]')}${name}[.[]`).test(path),
      );
      assert(found, `${title} ${name} has no row`);
    }
  }
});

test('every method and field of the YANG modules has its row, and no row is about nothing', () => {
  const sides = ['input', 'output'] as const;
  for (const side of sides) {
    const declared = shapes(side);
    assert.deepEqual(Object.keys(PROTOCOL).sort(), Object.keys(declared).sort());
    for (const [method, shape] of Object.entries(declared)) {
      const rows = PROTOCOL[method]?.[side]?.fields.map(([path]) => path) ?? [];
      assert.deepEqual([...new Set(rows)].sort(), [...fieldsOf(shape).keys()].sort(), `${method} ${side}`);
    }
  }
});
