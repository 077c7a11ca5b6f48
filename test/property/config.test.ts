// For any text the parser answers, never throws; what is printed reads back as the same tree.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Findings } from '../../engine/config/fault.ts';
import { configSchema, loadConfig } from '../../engine/config/load.ts';
import { parseConfig } from '../../engine/config/text/parser.ts';
import { printConfig } from '../../engine/config/text/print.ts';
import { shapeOf, type SyntaxTree } from '../../engine/config/text/syntax-tree.ts';
import { makeValidators } from '../../engine/config/rules/validators.ts';
import { configPieces as text, followSchema as follow } from '../support/config-texts.ts';

const { root } = configSchema();
const validators = makeValidators();
const read = (text: string): SyntaxTree => parseConfig(text, 't', root, validators, new Findings());

test('no text throws, and every fault has a place', () => {
  fc.assert(
    fc.property(fc.oneof(text, fc.string({ unit: 'binary', maxLength: 300 })), (any) => {
      const result = loadConfig(any, { path: 't' });
      if (!result.ok) for (const fault of result.faults) assert.ok(fault.line > 0 && fault.column > 0, JSON.stringify(fault));
    }),
    { numRuns: 2000 },
  );
});

test('what is printed reads back as the same tree', () => {
  fc.assert(
    fc.property(text, (any) => {
      const tree = read(any);
      const printed = printConfig(tree);
      assert.deepEqual(shapeOf(read(printed)), shapeOf(tree), printed);
      assert.equal(printConfig(read(printed)), printed);
    }),
    { numRuns: 3000 },
  );
});

test('what follows the schema is read without a fault of form, printed and read again', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1000), { minLength: 1, maxLength: 200 }), (tape) => {
      const written = follow(tape);
      const tree = read(written);
      const printed = printConfig(tree);
      assert.deepEqual(shapeOf(read(printed)), shapeOf(tree), `${written}\n---\n${printed}`);
      assert.equal(printConfig(read(printed)), printed);
    }),
    { numRuns: 1500 },
  );
});

test('a hundred thousand random bytes are read in one go', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 100_000, maxLength: 100_000 }), (bytes) => {
      loadConfig(Buffer.from(bytes).toString('latin1'), { path: 't' });
    }),
    { numRuns: 3 },
  );
});
