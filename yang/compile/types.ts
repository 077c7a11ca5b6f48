// RFC 7950 §9: a `type` statement, through its typedefs, down to the built-in type with every restriction worked in.
import { argument, child, definition, type ModuleSet, type Scope, text } from './modules.ts';
import { type Statement, YangError } from './reader.ts';
import { INTEGER_BOUNDS, type IntegerBase, type Pattern, type Range, type TypeSpec } from './schema.ts';

const MAX_TYPEDEFS = 32;

export interface ResolvedType {
  readonly type: TypeSpec;
  /** The default a typedef supplies, if one does. */
  readonly default: string | undefined;
}

export function resolveType(statement: Statement, scope: Scope, modules: ModuleSet, depth = 0): ResolvedType {
  const name = argument(statement);
  modules.spend(statement);
  if (depth > MAX_TYPEDEFS) throw new YangError(statement, 'typedefs refer to each other in a circle');
  const own = builtIn(name, statement, scope, modules, depth);
  if (own !== undefined) return { type: own, default: undefined };
  const found = modules.find('typedef', name, statement, scope);
  const inner = child(found.statement, 'type');
  if (inner === undefined) throw new YangError(found.statement, 'needs a type');
  const base = resolveType(inner, { ...found.scope, around: [...found.scope.around, found.statement] }, modules, depth + 1);
  const validate = extensionText(found.statement, 'validate');
  const units = text(found.statement, 'units');
  const type: TypeSpec = {
    ...restrict(base.type, statement),
    typedef: argument(found.statement),
    ...(validate === undefined ? {} : { validate }),
    ...(units === undefined ? {} : { units }),
  };
  return { type, default: text(found.statement, 'default') ?? base.default };
}

function extensionText(statement: Statement, name: string): string | undefined {
  return statement.children.find((s) => s.keyword.endsWith(`:${name}`))?.argument;
}

function isInteger(name: string): name is IntegerBase {
  return Object.hasOwn(INTEGER_BOUNDS, name);
}

function builtIn(name: string, at: Statement, scope: Scope, modules: ModuleSet, depth: number): TypeSpec | undefined {
  if (isInteger(name)) return restrict({ base: name }, at);
  switch (name) {
    case 'string':
      return restrict({ base: 'string' }, at);
    case 'binary':
      return restrict({ base: 'binary' }, at);
    case 'boolean':
    case 'empty':
    case 'instance-identifier':
      return { base: name };
    case 'decimal64':
      return restrict({ base: 'decimal64', digits: Number(text(at, 'fraction-digits') ?? 1) }, at);
    case 'enumeration':
      return { base: 'enumeration', values: names(at, 'enum', modules) };
    case 'bits':
      return { base: 'bits', values: names(at, 'bit', modules) };
    case 'union': {
      const members = at.children.filter((s) => s.keyword === 'type').map((s) => resolveType(s, scope, modules, depth + 1).type);
      if (members.length === 0) throw new YangError(at, 'needs a type');
      return { base: 'union', members };
    }
    case 'leafref': {
      const path = text(at, 'path');
      if (path === undefined) throw new YangError(at, 'needs a path');
      return { base: 'leafref', path: path.replaceAll(/[A-Za-z_][\w.-]*:/g, '') };
    }
    case 'identityref': {
      const bases = at.children.filter((s) => s.keyword === 'base');
      if (bases.length === 0) throw new YangError(at, 'needs a base');
      const values = bases.flatMap((s) => {
        const base = modules.prefixed(argument(s), s, scope.module);
        if (definition(base.module.statements, 'identity', base.name) === undefined) {
          throw new YangError(s, `identity "${argument(s)}" is not defined`);
        }
        const derived = modules.derived(base.module, base.name);
        modules.spend(s, derived.length);
        return derived;
      });
      return { base: 'identityref', values: [...new Set(values)] };
    }
    default:
      return undefined;
  }
}

function names(at: Statement, keyword: string, modules: ModuleSet): string[] {
  const out = at.children.filter((s) => s.keyword === keyword).map(argument);
  if (out.length === 0) throw new YangError(at, `needs at least one ${keyword}`);
  modules.spend(at, out.length);
  const seen = new Set<string>();
  const twice = out.find((name) => seen.size === seen.add(name).size);
  if (twice !== undefined) throw new YangError(at, `${keyword} "${twice}" stands twice`);
  return out;
}

/** Works the restrictions written on a use of a type into it; a restriction may only narrow (RFC 7950 §9.2.4). */
function restrict(type: TypeSpec, at: Statement): TypeSpec {
  const range = child(at, 'range');
  const length = child(at, 'length');
  const patterns = at.children.filter((s) => s.keyword === 'pattern').map(readPattern);
  if (range !== undefined) {
    if (type.base === 'decimal64') return { ...type, ranges: bounds(range, type.ranges ?? [[-1e15, 1e15]]) };
    if (!isInteger(type.base)) throw new YangError(range, `a range does not fit a ${type.base}`);
    const integer = type as TypeSpec & { base: IntegerBase; ranges?: readonly Range[] };
    return { ...integer, ranges: bounds(range, integer.ranges ?? [INTEGER_BOUNDS[integer.base]]) };
  }
  if (length === undefined && patterns.length === 0) {
    const enums = at.children.filter((s) => s.keyword === 'enum').map(argument);
    return type.base === 'enumeration' && enums.length > 0 ? { ...type, values: enums } : type;
  }
  if (type.base === 'binary' && length !== undefined) return { ...type, length: bounds(length, type.length ?? [[0, Infinity]]) };
  if (type.base !== 'string') throw new YangError(at, `length and pattern do not fit a ${type.base}`);
  return {
    ...type,
    ...(length === undefined ? {} : { length: bounds(length, type.length ?? [[0, Number.MAX_SAFE_INTEGER]]) }),
    ...(patterns.length === 0 ? {} : { patterns: [...(type.patterns ?? []), ...patterns] }),
  };
}

function readPattern(statement: Statement): Pattern {
  const source = argument(statement);
  try {
    new RegExp(`^(?:${source})$`, 'u');
  } catch (cause) {
    throw new YangError(statement, `is no regular expression: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  const message = text(statement, 'error-message');
  const invert = text(statement, 'modifier') === 'invert-match';
  return { source, ...(invert ? { invert } : {}), ...(message === undefined ? {} : { message }) };
}

function bounds(statement: Statement, within: readonly Range[]): readonly Range[] {
  const low = within[0]![0];
  const high = within.at(-1)![1];
  const number = (word: string): number => {
    const value = word === 'min' ? low : word === 'max' ? high : Number(word);
    if (word === '' || Number.isNaN(value)) throw new YangError(statement, `"${word}" is no bound`);
    return value;
  };
  return argument(statement)
    .split('|')
    .map((part) => {
      const [from = '', to = from] = part.split('..').map((word) => word.trim());
      const range: Range = [number(from), number(to)];
      if (range[0] > range[1]) throw new YangError(statement, `"${part.trim()}" is upside down`);
      if (!within.some((outer) => range[0] >= outer[0] && range[1] <= outer[1])) {
        throw new YangError(statement, `"${part.trim()}" leaves the bounds of the type`);
      }
      return range;
    });
}
