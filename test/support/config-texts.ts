// Configuration texts for properties: words and punctuation that reach every branch of the parser, and texts that follow the schema.
import fc from 'fast-check';
import { extension, type ParentNode, type SchemaNode } from '../../yang/compile/schema.ts';
import { configSchema } from '../../engine/config/load.ts';

const { root } = configSchema();

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
export const configPieces: fc.Arbitrary<string> = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(' '));

/** A text that follows the schema, every choice taken from a tape of numbers: forms, nesting, comments, marks. */
export function followSchema(tape: readonly number[]): string {
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
