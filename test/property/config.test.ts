// For any text the parser answers, never throws; what is printed reads back as the same tree.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { extension, type ParentNode, type SchemaNode } from '../../yang/compile/schema.ts';
import { Findings } from '../../engine/config/fault.ts';
import { configSchema, loadConfig } from '../../engine/config/load.ts';
import { parseConfig } from '../../engine/config/parser.ts';
import { printConfig } from '../../engine/config/print.ts';
import { shapeOf, type SyntaxTree } from '../../engine/config/syntax-tree.ts';
import { makeValidators } from '../../engine/config/validators.ts';

const { root } = configSchema();
const validators = makeValidators();
const read = (text: string): SyntaxTree => parseConfig(text, 't', root, validators, new Findings());

/** Words and punctuation that reach every branch of the parser far more often than random bytes do. */
const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      ...'bgp peer group session family capability update nlri attribute process plugin external environment log'.split(' '),
    ),
  },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      '{',
      '}',
      '{',
      '}',
      '[',
      ']',
      '(',
      ')',
      ';',
      ';',
      '\n',
      '\n\n',
      ' ',
      '# note\n',
      '#\n',
      '\n# own\n',
    ),
  },
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      ...'ipv4/unicast add eor 10.0.0.0/8 10.0.0.1 inactive: inactive:x true require send/receive asn local remote ip prefix maximum 100 route-refresh'.split(
        ' ',
      ),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'interface eth0',
      'sysctl',
      'receive [ update state ]',
      'import [ a inactive:b ]',
      'description "a b"',
      "'x'",
      'router-id 1.2.3.4',
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 6 }) },
);
const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(' '));

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

/** A text that follows the schema, every choice taken from a tape of numbers: forms, nesting, comments, marks. */
function follow(tape: readonly number[]): string {
  let at = 0;
  const pick = (n: number): number => (tape[at++ % tape.length] ?? 0) % n;
  const VALUES = ['a', '"b c"', "'#'", '10.0.0.1', '7', 'true', '""', 'x(y)', '"inactive:z"'];
  const note = (): string => ['', '', '', ' # behind\n', '\n# own\n', '\n\n'][pick(6)] ?? '';
  const value = (): string => VALUES[pick(VALUES.length)] ?? 'a';
  const block = (node: ParentNode, depth: number): string => {
    const fields = node.kind === 'list' ? node.children.filter((child) => !node.keys.includes(child.name)) : node.children;
    const count = fields.length === 0 || depth > 5 ? 0 : pick(4);
    return `{${note()}${Array.from({ length: count }, () => one(fields[pick(fields.length)]!, depth + 1)).join(note())}${note()}}`;
  };
  const one = (node: SchemaNode, depth: number): string => {
    const mark = pick(8) === 0 ? 'inactive: ' : '';
    switch (node.kind) {
      case 'leaf':
        return `${mark}${node.name} ${value()};${note()}`;
      case 'leaf-list':
        return `${mark}${node.name} [ ${value()}${note()} inactive:q ${value()} ];${note()}`;
      case 'anydata':
        return '';
      case 'container':
        return `${mark}${node.name}${note()} ${block(node, depth)}${note()}`;
      case 'list': {
        const keys = node.keys.map((_, index) => `k${at % 97}${index}`).join(' ');
        if (extension(node, 'syntax') === 'inline-list' && pick(2) === 0)
          return `${node.name} { ${mark}${keys} ${value()}${note()};${note()} }`;
        return `${mark}${node.name} ${keys} ${block(node, depth)}${note()}`;
      }
    }
  };
  return Array.from({ length: 1 + pick(3) }, () => one(root.children[pick(root.children.length)]!, 0)).join('\n');
}

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
