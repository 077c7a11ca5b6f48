// Both storage formats behind one door: a text is read in the format it is written in, and a tree is written in either.
import { childOf, type ContainerNode } from '../../../yang/compile/schema.ts';
import type { Findings } from '../fault.ts';
import { parseConfig } from '../text/parser.ts';
import { printConfig, type PrintOptions } from '../text/print.ts';
import type { SyntaxTree } from '../text/syntax-tree.ts';
import type { Validators } from '../rules/validators.ts';
import { type ConfigFormat, detectFormat } from './format.ts';
import { printSetConfig } from './print.ts';
import { parseSetConfig } from './read.ts';

export type { ConfigFormat } from './format.ts';

/** Formats a text can be written in. Edit metadata is read, and kept by nobody: revisions say who changed what. */
export type WrittenFormat = 'hierarchical' | 'set';

export function formatOf(text: string, schema: ContainerNode): ConfigFormat {
  return detectFormat(text, (word) => childOf(schema, word) !== undefined);
}

/** Reads a text in whichever format it has. Always answers a tree; what is wrong is in `findings`. Never throws for any text. */
export function readSyntax(
  text: string,
  origin: string,
  schema: ContainerNode,
  validators: Validators,
  findings: Findings,
): SyntaxTree {
  const read = formatOf(text, schema) === 'hierarchical' ? parseConfig : parseSetConfig;
  return read(text, origin, schema, validators, findings);
}

export function writeSyntax(tree: SyntaxTree, format: WrittenFormat, options: PrintOptions = {}): string {
  return format === 'set' ? printSetConfig(tree, options) : printConfig(tree, options);
}
