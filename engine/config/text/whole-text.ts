// The frame around reading a text, in either format.
import type { ContainerNode } from '../../../yang/compile/schema.ts';
import type { Findings } from '../fault.ts';
import { LexFault } from './lexer.ts';
import type { SyntaxTree } from './syntax-tree.ts';

/** Longest config text, in UTF-16 units. */
const MAXIMUM_TEXT = 64 << 20;

/** The tree that `read` fills: of a text that is not too long, up to where the lexer gives up. */
export function wholeText(
  text: string,
  origin: string,
  schema: ContainerNode,
  findings: Findings,
  read: (tree: SyntaxTree) => void,
): SyntaxTree {
  const tree: SyntaxTree = { origin, schema, children: [], closing: [] };
  if (text.length > MAXIMUM_TEXT) {
    findings.fault({ line: 1, column: 1 }, '', `the text has ${text.length} characters (max ${MAXIMUM_TEXT})`);
    return tree;
  }
  try {
    read(tree);
  } catch (fault) {
    if (!(fault instanceof LexFault)) throw fault;
    findings.fault(fault.place, '', fault.message);
  }
  return tree;
}
