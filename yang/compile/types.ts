// RFC 7950 §9: a `type` statement, through its typedefs, down to the built-in type with every restriction worked in.
import { argument, child, definition, type ModuleSet, type Scope, text, weightOf } from './modules.ts';
import { compilePattern, PatternError } from './pattern.ts';
import { type Statement, YangError } from './reader.ts';
import { INTEGER_BOUNDS, type IntegerBase, type Pattern, type Range, type TypeSpec } from './schema.ts';
import { parsePath } from './conditions.ts';

const MAX_TYPEDEFS = 32;
/** What a step of an automaton costs, in characters read. */
const STEP_EFFORT = 32;

export interface ResolvedType {
  readonly type: TypeSpec;
  /** The default a typedef supplies, if one does. */
  readonly default: string | undefined;
}

/** What may restrict a type, by its base (RFC 7950 §9.2–§9.12). */
const RESTRICTIONS: Readonly<Record<string, readonly string[]>> = {
  string: ['length', 'pattern'],
  binary: ['length'],
  decimal64: ['range', 'fraction-digits'],
  enumeration: ['enum'],
  bits: ['bit'],
  leafref: ['path', 'require-instance'],
  'instance-identifier': ['require-instance'],
  identityref: ['base'],
  union: ['type'],
};

export function resolveType(statement: Statement, scope: Scope, modules: ModuleSet, depth = 0): ResolvedType {
  const name = argument(statement);
  modules.spend(statement);
  if (depth > MAX_TYPEDEFS) throw new YangError(statement, 'typedefs refer to each other in a circle');
  const own = builtIn(name, statement, scope, modules, depth);
  if (own !== undefined) {
    checkRestrictions(own, statement);
    return { type: own, default: undefined };
  }
  const found = modules.find('typedef', name, statement, scope);
  const inner = child(found.statement, 'type');
  if (inner === undefined) throw new YangError(found.statement, 'needs a type');
  modules.toil(statement, weightOf(found.statement));
  const base = resolveType(inner, { ...found.scope, around: [...found.scope.around, found.statement] }, modules, depth + 1);
  checkRestrictions(base.type, statement, true);
  const validate = extensionText(found.statement, 'validate', found.scope, modules);
  const units = text(found.statement, 'units');
  const type: TypeSpec = {
    ...restrict(base.type, statement, scope, modules),
    typedef: argument(found.statement),
    ...(validate === undefined ? {} : { validate }),
    ...(units === undefined ? {} : { units }),
  };
  return { type, default: text(found.statement, 'default') ?? base.default };
}

function checkRestrictions(type: TypeSpec, at: Statement, derived = false): void {
  const base = RESTRICTIONS[type.base] ?? (isInteger(type.base) ? ['range'] : []);
  for (const statement of at.children) {
    const { keyword } = statement;
    if (keyword.includes(':')) continue;
    if (!base.includes(keyword)) throw new YangError(statement, `a ${keyword} does not fit a ${type.base}`);
    if (derived && ['fraction-digits', 'path', 'base', 'type'].includes(keyword)) {
      throw new YangError(statement, `a ${keyword} cannot be stated again`);
    }
  }
}

function extensionText(statement: Statement, name: string, scope: Scope, modules: ModuleSet): string | undefined {
  return statement.children.find((s) => {
    if (!s.keyword.endsWith(`:${name}`)) return false;
    return modules.prefixed(s.keyword, s, scope.module).module.name === 'ze-extensions';
  })?.argument;
}

function isInteger(name: string): name is IntegerBase {
  return Object.hasOwn(INTEGER_BOUNDS, name);
}

function builtIn(name: string, at: Statement, scope: Scope, modules: ModuleSet, depth: number): TypeSpec | undefined {
  if (isInteger(name)) return restrict({ base: name }, at, scope, modules);
  switch (name) {
    case 'string':
      return restrict({ base: 'string' }, at, scope, modules);
    case 'binary':
      return restrict({ base: 'binary' }, at, scope, modules);
    case 'boolean':
    case 'empty':
      return { base: name };
    case 'instance-identifier':
      return { base: name };
    case 'decimal64': {
      const digits = text(at, 'fraction-digits');
      if (digits === undefined) throw new YangError(at, 'needs fraction-digits');
      return restrict({ base: 'decimal64', digits: Number(digits) }, at, scope, modules);
    }
    case 'enumeration':
      return enumeration(at, scope, modules);
    case 'bits': {
      checkNumbers(at, 'bit', 'position', 0, 0xffff_ffff);
      return { base: 'bits', values: names(at, 'bit', scope, modules) };
    }
    case 'union': {
      const members = at.children.filter((s) => s.keyword === 'type').map((s) => resolveType(s, scope, modules, depth + 1).type);
      if (members.length === 0) throw new YangError(at, 'needs a type');
      return { base: 'union', members };
    }
    case 'leafref': {
      const path = child(at, 'path');
      if (path === undefined) throw new YangError(at, 'needs a path');
      const free = text(at, 'require-instance') === 'false' ? ({ requireInstance: false } as const) : {};
      const type: TypeSpec = { base: 'leafref', ...parsePath(path, scope, modules), ...free };
      return type;
    }
    case 'identityref': {
      const bases = at.children.filter((s) => s.keyword === 'base');
      if (bases.length === 0) throw new YangError(at, 'needs a base');
      const sets = bases.map((s) => {
        const base = modules.prefixed(argument(s), s, scope.module);
        if (definition(base.module.statements, 'identity', base.name) === undefined) {
          throw new YangError(s, `identity "${argument(s)}" is not defined`);
        }
        const derived = modules.derived(base.module, base.name);
        modules.spend(s, derived.length);
        return new Set(derived);
      });
      // RFC 7950 §9.10.2: of several bases an identity must be derived from all.
      return { base: 'identityref', values: [...sets[0]!].filter((value) => sets.every((set) => set.has(value))) };
    }
    default:
      return undefined;
  }
}

function enumeration(at: Statement, scope: Scope, modules: ModuleSet): TypeSpec {
  const values = names(at, 'enum', scope, modules);
  const numbers = checkNumbers(at, 'enum', 'value', -2147483648, 2147483647);
  const stated = at.children.some((one) => one.keyword === 'enum' && child(one, 'value') !== undefined);
  // Without a stated value they count from 0 (RFC 7950 §9.6.4.2): nothing that needs to be kept.
  return { base: 'enumeration', values, ...(stated ? { numbers: values.map((value) => numbers.get(value)!) } : {}) };
}

function names(at: Statement, keyword: string, scope: Scope, modules: ModuleSet): string[] {
  const statements = at.children.filter((s) => s.keyword === keyword);
  if (statements.length === 0) throw new YangError(at, `needs at least one ${keyword}`);
  modules.spend(at, statements.length);
  const seen = new Set<string>();
  const twice = statements.map(argument).find((name) => seen.size === seen.add(name).size);
  if (twice !== undefined) throw new YangError(at, `${keyword} "${twice}" stands twice`);
  return statements.filter((one) => modules.enabled(one, scope)).map(argument);
}

/** Values of enums, positions of bits: as stated, else one past the highest before. Throws when two are the same or one is out of bounds. */
function checkNumbers(at: Statement, keyword: string, number: string, low: number, high: number): Map<string, number> {
  const out = new Map<string, number>();
  const seen = new Set<number>();
  let next = 0;
  for (const statement of at.children) {
    if (statement.keyword !== keyword) continue;
    const stated = text(statement, number);
    const value = stated === undefined ? next : Number(stated);
    if (value < low || value > high) throw new YangError(statement, `${number} ${value} is out of bounds`);
    if (seen.has(value)) throw new YangError(statement, `${number} ${value} stands twice`);
    seen.add(value);
    out.set(argument(statement), value);
    next = Math.max(next, value + 1);
  }
  return out;
}

/** Works the restrictions written on a use of a type into it; a restriction may only narrow (RFC 7950 §9.2.4). */
function restrict(type: TypeSpec, at: Statement, scope: Scope, modules: ModuleSet): TypeSpec {
  const range = child(at, 'range');
  const length = child(at, 'length');
  switch (type.base) {
    case 'decimal64': {
      const limit = 9223372036854775807 / 10 ** type.digits;
      return range === undefined ? type : { ...type, ranges: bounds(range, type.ranges ?? [[-limit, limit]]) };
    }
    case 'binary':
      return length === undefined ? type : { ...type, length: bounds(length, type.length ?? [[0, Number.MAX_SAFE_INTEGER]]) };
    case 'string': {
      const patterns = at.children.filter((s) => s.keyword === 'pattern').map((s) => readPattern(s, modules));
      return {
        ...type,
        ...(length === undefined ? {} : { length: bounds(length, type.length ?? [[0, Number.MAX_SAFE_INTEGER]]) }),
        ...(patterns.length === 0 ? {} : { patterns: [...(type.patterns ?? []), ...patterns] }),
      };
    }
    case 'enumeration':
    case 'bits': {
      const keyword = type.base === 'bits' ? 'bit' : 'enum';
      if (child(at, keyword) === undefined) return type;
      const values = names(at, keyword, scope, modules);
      const places = new Map(type.values.map((value, place) => [value, place]));
      const foreign = values.find((value) => !places.has(value));
      if (foreign !== undefined) throw new YangError(at, `${keyword} "${foreign}" is none of the type's`);
      if (type.base === 'bits' || type.numbers === undefined) return { ...type, values };
      return { ...type, values, numbers: values.map((value) => type.numbers![places.get(value)!]!) };
    }
    case 'leafref':
    case 'instance-identifier': {
      const required = text(at, 'require-instance');
      return required === undefined || type.base !== 'leafref' ? type : { ...type, requireInstance: required === 'true' };
    }
    case 'boolean':
    case 'empty':
    case 'identityref':
    case 'union':
      return type;
    default:
      return range === undefined ? type : { ...type, ranges: bounds(range, type.ranges ?? [INTEGER_BOUNDS[type.base]]) };
  }
}

function readPattern(statement: Statement, modules: ModuleSet): Pattern {
  const source = argument(statement);
  try {
    modules.toil(statement, compilePattern(source).size * STEP_EFFORT);
  } catch (cause) {
    if (!(cause instanceof PatternError)) throw cause;
    throw new YangError(statement, `is no regular expression: ${cause.message}`);
  }
  const message = text(statement, 'error-message');
  const invert = text(statement, 'modifier') === 'invert-match';
  return { source, ...(invert ? { invert } : {}), ...(message === undefined ? {} : { message }) };
}

/** RFC 7950 §9.2.4: parts in ascending order, none inside another. */
function bounds(statement: Statement, within: readonly Range[]): readonly Range[] {
  const low = within[0]![0];
  const high = within.at(-1)![1];
  const number = (word: string): number => {
    const value = word === 'min' ? low : word === 'max' ? high : Number(word);
    if (!/^(?:min|max|[+-]?(?:\d+(?:\.\d+)?|0[xX][0-9a-fA-F]+))$/.test(word))
      throw new YangError(statement, `"${word}" is no bound`);
    return value;
  };
  let before = -Infinity;
  /** Both ascend: the part that may hold the next one. */
  let outer = 0;
  return argument(statement)
    .split('|')
    .map((part) => {
      const [from = '', to = from] = part.split('..').map((word) => word.trim());
      const range: Range = [number(from), number(to)];
      if (range[0] > range[1]) throw new YangError(statement, `"${part.trim()}" is upside down`);
      if (range[0] <= before && before !== -Infinity)
        throw new YangError(statement, `"${part.trim()}" is not behind the part before`);
      before = range[1];
      while (outer < within.length - 1 && within[outer]![1] < range[1]) outer++;
      if (range[0] < within[outer]![0] || range[1] > within[outer]![1]) {
        throw new YangError(statement, `"${part.trim()}" leaves the bounds of the type`);
      }
      return range;
    });
}
