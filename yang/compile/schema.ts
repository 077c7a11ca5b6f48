// The resolved schema: what is left of YANG once imports, typedefs, groupings and augments are worked in. Plain data, so
// that it can be committed as a literal (`generated/config.ts`) and loaded without parsing anything.

import type { Expression } from './xpath.ts';

/** Inclusive bounds. `min` and `max` of the type are written out as numbers (64-bit bounds lose precision, not order). */
export type Range = readonly [low: number, high: number];

export interface Pattern {
  readonly source: string;
  readonly invert?: true;
  readonly message?: string;
}

export const INTEGER_BOUNDS = {
  int8: [-128, 127],
  int16: [-32768, 32767],
  int32: [-2147483648, 2147483647],
  int64: [-9223372036854775808, 9223372036854775807],
  uint8: [0, 255],
  uint16: [0, 65535],
  uint32: [0, 4294967295],
  uint64: [0, 18446744073709551615],
} as const satisfies Record<string, Range>;

export type IntegerBase = keyof typeof INTEGER_BOUNDS;

/** What every type may carry: the outermost typedef's name, and the validators (`ze:validate`) that must accept the text. */
interface TypeBase {
  readonly typedef?: string;
  readonly validate?: string;
  readonly units?: string;
}

export type TypeSpec =
  | (TypeBase & { readonly base: 'string'; readonly length?: readonly Range[]; readonly patterns?: readonly Pattern[] })
  | (TypeBase & { readonly base: IntegerBase; readonly ranges?: readonly Range[] })
  | (TypeBase & { readonly base: 'decimal64'; readonly digits: number; readonly ranges?: readonly Range[] })
  | (TypeBase & { readonly base: 'binary'; readonly length?: readonly Range[] })
  | (TypeBase & { readonly base: 'boolean' | 'empty' | 'instance-identifier' })
  /** `numbers`: the values of the words, where they are stated. */
  | (TypeBase & { readonly base: 'enumeration'; readonly values: readonly string[]; readonly numbers?: readonly number[] })
  | (TypeBase & { readonly base: 'bits'; readonly values: readonly string[] })
  | (TypeBase & { readonly base: 'identityref'; readonly values: readonly string[] })
  | (TypeBase & {
      readonly base: 'leafref';
      /** Without prefixes. */
      readonly path: string;
      readonly steps: Expression;
      /** The type of what the path names; absent where it names nothing of this tree. */
      readonly target?: TypeSpec;
      /** false: the value need not be there. */
      readonly requireInstance?: boolean;
    })
  | (TypeBase & { readonly base: 'union'; readonly members: readonly TypeSpec[] });

/** Extension statements by `prefix-less` name (`syntax`, `sensitive`); a statement without an argument is `true`. */
export type Extensions = Readonly<Record<string, string | true>>;

/** A `must` or `when` (RFC 7950 §7.5.3, §7.21.5). */
export interface Condition {
  readonly source: string;
  readonly expression: Expression;
  readonly message?: string;
  /** The condition of an augment, a uses, a choice or a case: it is evaluated at the node's parent. */
  readonly above?: boolean;
}

/** A choice among the children of a node (RFC 7950 §7.9). */
export interface Choice {
  /** Its name; for one inside a case: the outer choice, the case, the name, and so on. */
  readonly path: readonly string[];
  readonly cases: readonly string[];
  readonly mandatory?: true;
  /** The case that holds when none is stated. */
  readonly default?: string;
}

interface NodeBase {
  readonly name: string;
  readonly description?: string;
  /** The module that defines the node, when it is not the module of the parent (an augment). */
  readonly module?: string;
  /** The module that brought the node at run time (a plugin's schema); stands on the topmost node of what it brought. */
  readonly joined?: string;
  /** `choice` and `case` the node belongs to, outermost first: at most one case of a choice may be present. */
  readonly choice?: readonly string[];
  readonly must?: readonly Condition[];
  readonly when?: readonly Condition[];
  /** The node states what other places inherit (`ze:template`): its values count there, and nothing is missing here. */
  readonly template?: true;
  readonly config?: false;
  readonly status?: 'deprecated' | 'obsolete';
  readonly extensions?: Extensions;
  /** Name of the grouping, when the body is exactly one `uses`; names the generated interface. */
  readonly grouping?: string;
}

export interface ContainerNode extends NodeBase {
  readonly kind: 'container';
  readonly presence?: true;
  readonly choices?: readonly Choice[];
  readonly children: readonly SchemaNode[];
}

export interface ListNode extends NodeBase {
  readonly kind: 'list';
  readonly keys: readonly string[];
  readonly unique?: readonly string[];
  readonly orderedByUser?: true;
  readonly min?: number;
  readonly max?: number;
  readonly choices?: readonly Choice[];
  readonly children: readonly SchemaNode[];
}

export interface LeafNode extends NodeBase {
  readonly kind: 'leaf';
  readonly type: TypeSpec;
  readonly default?: string;
  readonly mandatory?: true;
}

export interface LeafListNode extends NodeBase {
  readonly kind: 'leaf-list';
  readonly type: TypeSpec;
  readonly orderedByUser?: true;
  readonly defaults?: readonly string[];
  readonly min?: number;
  readonly max?: number;
}

/** `anydata` and `anyxml`: any JSON value. */
export interface AnyNode extends NodeBase {
  readonly kind: 'anydata';
  readonly mandatory?: true;
}

export type SchemaNode = ContainerNode | ListNode | LeafNode | LeafListNode | AnyNode;
export type ParentNode = ContainerNode | ListNode;

export interface RpcNode {
  readonly module: string;
  readonly name: string;
  readonly description?: string;
  readonly extensions?: Extensions;
  readonly input: ContainerNode;
  readonly output: ContainerNode;
}

export function isParent(node: SchemaNode): node is ParentNode {
  return node.kind === 'container' || node.kind === 'list';
}

const indexes = new WeakMap<readonly SchemaNode[], Map<string, SchemaNode>>();

/** The child called `name`. Safe for any text (`constructor`, `__proto__`); the index is built at the first question. */
export function childOf(parent: { readonly children: readonly SchemaNode[] }, name: string): SchemaNode | undefined {
  let index = indexes.get(parent.children);
  if (index === undefined) {
    index = new Map(parent.children.map((child) => [child.name, child]));
    indexes.set(parent.children, index);
  }
  return index.get(name);
}

/** The argument of an extension, `true` when it has none, `undefined` when the node does not carry it. */
export function extension(node: { readonly extensions?: Extensions }, name: string): string | true | undefined {
  return node.extensions !== undefined && Object.hasOwn(node.extensions, name) ? node.extensions[name] : undefined;
}
