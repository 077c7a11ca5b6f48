// The config as it was written: every statement in canonical form, with its comments, its place, its origin and whether it is
// switched off. What prints, edits and compares works on this; what runs works on the effective tree made from it.
import type { ContainerNode, LeafListNode, LeafNode, ListNode } from '../../../yang/compile/schema.ts';
import type { Place } from '../fault.ts';

interface Written {
  readonly name: string;
  readonly place: Place;
  /** Where the statement came from: a file's name, `cli`, `api`. */
  readonly origin: string;
  /** Switched off with `inactive:`; parsed, kept and printed, and as if absent for everything else. */
  readonly inactive: boolean;
  /** Comments on lines of their own before it. */
  readonly comments: string[];
  /** The comment behind it on its line, or ''. */
  trailing: string;
  /** An empty line stands before it. */
  readonly blank: boolean;
}

export interface LeafStatement extends Written {
  readonly kind: 'leaf';
  readonly schema: LeafNode;
  readonly value: string;
}

export interface Member {
  readonly text: string;
  readonly inactive: boolean;
  readonly place: Place;
}

export interface LeafListStatement extends Written {
  readonly kind: 'leaf-list';
  readonly schema: LeafListNode;
  readonly members: Member[];
}

export interface BlockStatement extends Written {
  readonly kind: 'container';
  readonly schema: ContainerNode;
  readonly children: ConfigStatement[];
  /** Comments before the closing brace. */
  readonly closing: string[];
}

/** One entry of a list. An anonymous one (`update { … }`) is keyed `default`. */
export interface EntryStatement extends Written {
  readonly kind: 'entry';
  readonly schema: ListNode;
  readonly keys: readonly string[];
  readonly anonymous: boolean;
  readonly children: ConfigStatement[];
  readonly closing: string[];
}

/** A statement below a freeform container: words, and perhaps a block. Its schema is unknown. */
export interface FreeStatement extends Written {
  readonly kind: 'free';
  readonly words: readonly string[];
  readonly children: FreeStatement[] | undefined;
  readonly closing: string[];
}

export type ConfigStatement = LeafStatement | LeafListStatement | BlockStatement | EntryStatement | FreeStatement;

export interface SyntaxTree {
  readonly origin: string;
  readonly schema: ContainerNode;
  readonly children: ConfigStatement[];
  /** Comments at the end of the text. */
  readonly closing: string[];
}

/** The tree without what an eye does not see in print: places, origins, schema. Two texts that mean the same compare equal. */
export function shapeOf(tree: SyntaxTree | ConfigStatement): unknown {
  // An empty line before the first statement of a block is none.
  const children =
    'children' in tree
      ? tree.children?.map((child, index) => shapeOf(index === 0 ? { ...child, blank: false } : child))
      : undefined;
  if (!('kind' in tree)) return { children, closing: tree.closing };
  const { name, inactive, comments, trailing, blank } = tree;
  const common = { kind: tree.kind, name, inactive, comments, trailing, blank };
  switch (tree.kind) {
    case 'leaf':
      return { ...common, value: tree.value };
    case 'leaf-list':
      return { ...common, members: tree.members.map((member) => [member.text, member.inactive]) };
    case 'container':
      return { ...common, children, closing: tree.closing };
    case 'entry':
      return { ...common, keys: tree.keys, children, closing: tree.closing };
    case 'free':
      return { ...common, words: tree.words, children, closing: tree.closing };
  }
}

/** Adds many at once; a spread would run out of arguments. */
export function append<T>(to: T[], items: Iterable<T>): void {
  for (const item of items) to.push(item);
}
