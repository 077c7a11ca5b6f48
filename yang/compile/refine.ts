// RFC 7950 §7.13.2 `refine` and §7.20.3.2 `deviate`: a node with some of its properties stated anew.
import { argument, child, elements, oneLine, text, unprefixed } from './modules.ts';
import { type Statement, YangError } from './reader.ts';
import type { Condition, Extensions, LeafListNode, LeafNode, SchemaNode, TypeSpec } from './schema.ts';

export interface Refinement {
  readonly extensions: Extensions | undefined;
  readonly must: readonly Condition[];
}

/** What a refine may say of a kind of node, beside description, reference, config and must. */
const REFINABLE: Readonly<Record<SchemaNode['kind'], readonly string[]>> = {
  container: ['presence'],
  list: ['min-elements', 'max-elements'],
  leaf: ['default', 'mandatory'],
  'leaf-list': ['default', 'min-elements', 'max-elements'],
  anydata: ['mandatory'],
};
const PROPERTIES = new Set(Object.values(REFINABLE).flat());

/** The node as a refine states it. Throws `YangError` when the refine does not fit the kind of node. */
export function refined(node: SchemaNode, s: Statement, { extensions, must }: Refinement): SchemaNode {
  for (const statement of s.children) {
    if (PROPERTIES.has(statement.keyword) && !REFINABLE[node.kind].includes(statement.keyword)) {
      throw new YangError(statement, `does not fit a ${node.kind}`);
    }
  }
  const description = text(s, 'description');
  const config = text(s, 'config');
  const common = {
    ...(description === undefined ? {} : { description: oneLine(description) }),
    ...(extensions === undefined ? {} : { extensions: { ...node.extensions, ...extensions } }),
    ...(must.length === 0 ? {} : { must: [...(node.must ?? []), ...must] }),
  };
  return withConfig(withProperties({ ...node, ...common }, s), config);
}

/** Default, mandatory, presence and counts that stand in a statement replace those of the node. */
export function withProperties(node: SchemaNode, s: Statement): SchemaNode {
  const defaults = s.children.filter((one) => one.keyword === 'default').map(argument);
  const mandatory = text(s, 'mandatory');
  switch (node.kind) {
    case 'leaf': {
      const must = mandatory === undefined ? node.mandatory === true : mandatory === 'true';
      const fallback = defaults[0] ?? (must ? undefined : node.default);
      const rest = without(node, 'mandatory', 'default');
      return { ...rest, ...(fallback === undefined ? {} : { default: fallback }), ...(must ? { mandatory: true } : {}) };
    }
    case 'leaf-list':
      return { ...node, ...counts(node, s), ...(defaults.length === 0 ? {} : { defaults }) };
    case 'list':
      return { ...node, ...counts(node, s) };
    case 'container':
      return child(s, 'presence') === undefined ? node : { ...node, presence: true };
    case 'anydata':
      return mandatory === undefined
        ? node
        : { ...without(node, 'mandatory'), ...(mandatory === 'true' ? { mandatory: true } : {}) };
  }
}

/** `max-elements unbounded` takes a bound away. */
function counts(node: { readonly max?: number }, s: Statement): { min?: number; max?: number } {
  if (text(s, 'max-elements') === 'unbounded' && node.max !== undefined) return { ...elements(s), max: Number.MAX_SAFE_INTEGER };
  return elements(s);
}

function withConfig(node: SchemaNode, config: string | undefined): SchemaNode {
  if (config === undefined) return node;
  return config === 'false' ? { ...node, config: false } : without(node, 'config');
}

function without<N extends SchemaNode>(node: N, ...names: readonly string[]): N {
  return Object.fromEntries(Object.entries(node).filter(([name]) => !names.includes(name))) as unknown as N;
}

export interface Deviation {
  readonly must: readonly Condition[];
  readonly type: TypeSpec | undefined;
}

/** The node as one `deviate` leaves it (`not-supported` is the caller's). Throws `YangError`. */
export function deviated(node: SchemaNode, s: Statement, { must, type }: Deviation): SchemaNode {
  const how = argument(s);
  let out = node;
  if (type !== undefined) {
    if (how !== 'replace') throw new YangError(s, 'a type can be replaced alone');
    if (out.kind !== 'leaf' && out.kind !== 'leaf-list') throw new YangError(s, `a ${out.kind} has no type`);
    out = { ...out, type };
  }
  if (how === 'delete') return withoutStated(out, s);
  const unique = s.children.filter((one) => one.keyword === 'unique').map((one) => argument(one));
  if (unique.length > 0) {
    if (out.kind !== 'list') throw new YangError(s, 'unique belongs to a list');
    const paths = unique.map((one) => one.split(/\s+/).map(unprefixed).join(' '));
    out = { ...out, unique: [...(out.unique ?? []), ...paths] };
  }
  if (must.length > 0) out = { ...out, must: [...(how === 'add' ? (out.must ?? []) : []), ...must] };
  const units = text(s, 'units');
  if (units !== undefined && (out.kind === 'leaf' || out.kind === 'leaf-list')) out = { ...out, type: { ...out.type, units } };
  if (out.kind === 'leaf-list' && how === 'add' && out.defaults !== undefined && child(s, 'default') !== undefined) {
    const more = s.children.filter((one) => one.keyword === 'default').map(argument);
    return withConfig({ ...out, defaults: [...out.defaults, ...more] }, text(s, 'config'));
  }
  return withConfig(withProperties(out, s), text(s, 'config'));
}

/** `deviate delete`: what it names must be there. */
function withoutStated(node: SchemaNode, s: Statement): SchemaNode {
  let out = node;
  for (const one of s.children) {
    const value = argument(one);
    const gone = (): never => {
      throw new YangError(one, 'is not there to be deleted');
    };
    switch (one.keyword) {
      case 'default':
        if (out.kind === 'leaf') out = out.default === value ? without<LeafNode>(out, 'default') : gone();
        else if (out.kind === 'leaf-list' && out.defaults?.includes(value) === true) {
          const defaults = out.defaults.filter((other) => other !== value);
          out = { ...without<LeafListNode>(out, 'defaults'), ...(defaults.length === 0 ? {} : { defaults }) };
        } else gone();
        break;
      case 'units':
        if (out.kind !== 'leaf' && out.kind !== 'leaf-list') gone();
        else
          out = { ...out, type: Object.fromEntries(Object.entries(out.type).filter(([name]) => name !== 'units')) as TypeSpec };
        break;
      case 'must': {
        const source = oneLine(value);
        const left: readonly Condition[] = out.must?.filter((must) => must.source !== source) ?? [];
        if (left.length === (out.must?.length ?? 0)) gone();
        out = { ...without(out, 'must'), ...(left.length === 0 ? {} : { must: left }) };
        break;
      }
      case 'unique': {
        const paths = value.split(/\s+/).map(unprefixed).join(' ');
        if (out.kind !== 'list' || out.unique?.includes(paths) !== true) gone();
        else out = { ...out, unique: out.unique.filter((other) => other !== paths) };
        break;
      }
      default:
        throw new YangError(one, 'cannot be deleted');
    }
  }
  return out;
}
