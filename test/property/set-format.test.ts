// Both formats hold the same: what is printed in one reads back as the tree it was printed from, comments and marks included.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Findings } from '../../engine/config/fault.ts';
import { configSchema, loadConfig } from '../../engine/config/load.ts';
import { parseConfig } from '../../engine/config/text/parser.ts';
import { printConfig } from '../../engine/config/text/print.ts';
import { formatOf } from '../../engine/config/set-format/index.ts';
import { printSetConfig } from '../../engine/config/set-format/print.ts';
import { parseSetConfig } from '../../engine/config/set-format/read.ts';
import { type ConfigStatement, shapeOf, type SyntaxTree } from '../../engine/config/text/syntax-tree.ts';
import { makeValidators } from '../../engine/config/rules/validators.ts';
import { extension } from '../../yang/compile/schema.ts';
import { configPieces, followSchema } from '../support/config-texts.ts';

const { root } = configSchema();
const validators = makeValidators();

function read(text: string): { tree: SyntaxTree; findings: Findings } {
  const findings = new Findings();
  return { tree: parseConfig(text, 't', root, validators, findings), findings };
}

function readSet(text: string): { tree: SyntaxTree; findings: Findings } {
  const findings = new Findings();
  return { tree: parseSetConfig(text, 't', root, validators, findings), findings };
}

/** Faults of form; values that do not fit their type are as good as any here. */
const ofForm = (findings: Findings): readonly string[] =>
  findings.faults
    .filter(({ message }) => !/ is not (?!closed)| is out of range| has \d+ char|does not match/.test(message))
    .map((fault) => JSON.stringify(fault));

/** A list that is not repeated has one entry without a key; in set lines it is called by the key it has then. */
function named<T extends SyntaxTree | ConfigStatement>(tree: T): T {
  const anonymous =
    'anonymous' in tree ? { anonymous: tree.anonymous && extension(tree.schema, 'repeatable') !== undefined } : undefined;
  if (!('children' in tree) || tree.children === undefined) return { ...tree, ...anonymous };
  return { ...tree, ...anonymous, children: tree.children.map((child) => named(child)) };
}

function check(text: string): void {
  const { tree, findings } = read(text);
  if (ofForm(findings).length > 0) return;
  const set = printSetConfig(tree);
  const back = readSet(set);
  assert.deepEqual(ofForm(back.findings), [], `${text}\n--- set\n${set}`);
  assert.deepEqual(shapeOf(back.tree), shapeOf(tree), `${text}\n--- hierarchical\n${printConfig(tree)}\n--- set\n${set}`);
  assert.equal(printSetConfig(back.tree), set);
  assert.equal(printConfig(back.tree), printConfig(named(tree)));
  if (tree.children.length > 0) assert.equal(formatOf(set, root), 'set', set);
  if (tree.children.length > 0) assert.equal(formatOf(printConfig(tree), root), 'hierarchical', printConfig(tree));
}

test('hierarchical to set and back is the same tree, for what follows the schema', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1000), { minLength: 1, maxLength: 200 }), (tape) => check(followSchema(tape))),
    { numRuns: 800 },
  );
});

test('hierarchical to set and back is the same tree, for any text without a fault of form', () => {
  fc.assert(fc.property(configPieces, check), { numRuns: 3000 });
});

const line = fc
  .tuple(
    fc.constantFrom(
      'set',
      'set',
      'set',
      'delete',
      'inactive',
      'activate',
      'sett',
      '#user @cli %2026-01-01T00:00:00Z ^x set',
      '#',
    ),
    fc.array(
      fc.constantFrom(
        ...'bgp peer edge session family ipv4/unicast prefix maximum 10 mode update update(2) nlri add 10.0.0.0/8 inactive:peer description "a b" [ ] { } filter import a environment log x debug interface eth0 connection local ip 10.0.0.1 ( ) ; # "'.split(
          ' ',
        ),
      ),
      { maxLength: 9 },
    ),
  )
  .map(([verb, words]) => `${verb} ${words.join(' ')}`);

test('no set text throws, every fault has a place, and what is read is printed and read again', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      const text = lines.join('\n');
      const { tree, findings } = readSet(text);
      for (const fault of findings.faults) assert.ok(fault.line > 0 && fault.column > 0, JSON.stringify(fault));
      loadConfig(text, { path: 't' });
      const printed = printSetConfig(tree);
      assert.deepEqual(shapeOf(readSet(printed).tree), shapeOf(tree), `${text}\n---\n${printed}`);
    }),
    { numRuns: 4000 },
  );
});
