// The modules at hand, and how a name used in one of them is found: own scope first, then the module, then by prefix
// in an imported module (RFC 7950 §5.5, §7.1.4–5).
import { checkGrammar } from './grammar.ts';
import { readStatements, type Statement, YangError } from './reader.ts';

/**
 * A module, or what one of its files sees of it: each submodule has prefixes and imports of its own (RFC 7950 §5.1), while the
 * definitions are those of all parts.
 */
export interface Module {
  readonly name: string;
  readonly prefix: string;
  /** Prefix to the module it stands for. */
  readonly imports: ReadonlyMap<string, string>;
  /** Of all parts. */
  readonly statements: readonly Statement[];
  readonly at: Statement;
  /** The file's view for each statement at the top; the module's own file is the first. */
  readonly parts: readonly Part[];
}

interface Part {
  readonly module: Module;
  readonly statements: readonly Statement[];
}

/** Where a statement stands: its module, and the statements around it, innermost last. */
export interface Scope {
  readonly module: Module;
  readonly around: readonly Statement[];
}

export function child(of: Statement, keyword: string): Statement | undefined {
  return of.children.find((statement) => statement.keyword === keyword);
}

export function argument(of: Statement): string {
  if (of.argument === undefined) throw new YangError(of, 'needs an argument');
  return of.argument;
}

/** The argument of the sub-statement `keyword`, if there is one. */
export function text(of: Statement, keyword: string): string | undefined {
  const found = child(of, keyword);
  return found === undefined ? undefined : argument(found);
}

/** `min-elements` and `max-elements` of a statement. */
export function elements(statement: Statement): { min?: number; max?: number } {
  const min = text(statement, 'min-elements');
  const max = text(statement, 'max-elements');
  return {
    ...(min === undefined ? {} : { min: Number(min) }),
    ...(max === undefined || max === 'unbounded' ? {} : { max: Number(max) }),
  };
}

export function unprefixed(name: string): string {
  return name.replace(/^[^:]*:/, '');
}

export function oneLine(description: string): string {
  return description.replaceAll(/\s+/g, ' ').trim();
}

/** Nodes, types and values of types one compilation may make: groupings that use each other double with every level. */
export const MAXIMUM_WORK = 50_000;

/**
 * What one compilation may look at, beside what it makes: characters of groupings, typedefs and augments each time they are worked in, nodes
 * copied when one among them changes, steps of automata. A module of a megabyte costs as much when nothing of it is used twice.
 */
export const MAXIMUM_EFFORT = 1 << 23;
/** Features that may stand on each other. */
const MAXIMUM_FEATURES = 64;

/** Whether a feature is there, by `module:name`. */
export type Features = (feature: string) => boolean;

/** Identities by their base, as `module:name`. */
type Derivations = ReadonlyMap<string, readonly { readonly module: string; readonly name: string }[]>;

export class ModuleSet {
  #work = 0;
  #effort = 0;
  readonly #maximum: number;
  readonly #maximumEffort: number;
  readonly #features: Features;
  readonly #modules = new Map<string, Module>();
  readonly #submodules = new Map<string, Statement>();
  readonly #paths = new WeakMap<object, Statement>();
  /** Features that are being looked at. */
  readonly #asked = new Set<Statement>();
  /** The view of the file that a statement at the top stands in. */
  readonly #homes = new Map<Statement, Module>();
  #derived: { readonly modules: number; readonly by: Derivations } | undefined;

  constructor(options: { readonly maximum?: number | undefined; readonly features?: Features | undefined } = {}) {
    this.#maximum = options.maximum ?? MAXIMUM_WORK;
    this.#maximumEffort = MAXIMUM_EFFORT * Math.max(1, this.#maximum / MAXIMUM_WORK);
    this.#features = options.features ?? (() => true);
  }

  /** Reads a module; `file` stands in its errors. A module of the same name is refused. Throws `YangError`. */
  add(source: string, file: string): Module | undefined {
    const [top, second] = readStatements(source, file);
    if (top === undefined) throw new YangError({ module: file, line: 1 }, 'the module is empty');
    if (second !== undefined) throw new YangError(second, 'only one module may stand in a file');
    if (top.keyword !== 'module' && top.keyword !== 'submodule')
      throw new YangError(top, 'a file must hold a module or submodule');
    checkGrammar(top);
    const name = argument(top);
    if (top.keyword === 'submodule') {
      if (this.#submodules.has(name)) throw new YangError(top, 'a submodule of this name is already loaded');
      this.#submodules.set(name, top);
      return undefined;
    }
    if (this.#modules.has(name)) throw new YangError(top, 'a module of this name is already loaded');
    const tops = [top, ...this.#included(top)];
    const statements = tops.flatMap((file) => file.children);
    const twice = duplicate(statements);
    if (twice !== undefined) throw new YangError(twice, `is defined twice in module ${name}`);
    const parts: Part[] = [];
    for (const at of tops) {
      const prefix = text(at, 'prefix') ?? text(child(at, 'belongs-to')!, 'prefix')!;
      parts.push({ module: { name, prefix, imports: importsOf(at, prefix), statements, at, parts }, statements: at.children });
      for (const statement of at.children) this.#homes.set(statement, parts.at(-1)!.module);
    }
    const module = parts[0]!.module;
    this.#modules.set(name, module);
    return module;
  }

  /** Counts nodes, types, or values of a type, about to be made. Throws `YangError` when there are more than anybody writes. */
  spend(at: Statement, count = 1): void {
    this.#work += count;
    if (this.#work > this.#maximum) throw new YangError(at, `the schema grows past ${this.#maximum} nodes, types and values`);
  }

  /** Counts what is looked at. Throws `YangError` when it is more than modules that people write ask for. */
  toil(at: Statement, count: number): void {
    this.#effort += count;
    if (this.#effort > this.#maximumEffort)
      throw new YangError(at, 'the schema takes more work than any that is made to be used');
  }

  /** Submodules of a module, those that they include too, each once. */
  #included(top: Statement): Statement[] {
    const out = new Set<Statement>();
    const walk = (file: Statement): void => {
      for (const statement of file.children) {
        if (statement.keyword !== 'include') continue;
        const found = this.#submodules.get(argument(statement));
        if (found === undefined) throw new YangError(statement, 'the submodule is not loaded (load it before its module)');
        if (text(found, 'belongs-to') !== top.argument) {
          throw new YangError(statement, `the submodule belongs to module "${text(found, 'belongs-to') ?? ''}"`);
        }
        checkRevision(statement, found);
        if (out.has(found)) continue;
        out.add(found);
        walk(found);
      }
    };
    walk(top);
    return [...out];
  }

  /** Modules that are imported are there, in the revision that is asked for, and import no module that imports them. Throws `YangError`. */
  checkImports(module: Module): void {
    for (const part of module.parts) {
      for (const statement of part.statements) {
        if (statement.keyword !== 'import') continue;
        const name = argument(statement);
        const found = this.#modules.get(name);
        if (found === undefined) throw new YangError(statement, `module "${name}" is not loaded`);
        checkRevision(statement, found.at);
        const open = [found];
        const seen = new Set<Module>();
        for (let one = open.pop(); one !== undefined; one = open.pop()) {
          if (one.name === module.name) throw new YangError(statement, 'modules import each other in a circle');
          for (const part of one.parts) {
            for (const next of part.module.imports.values()) {
              const other = this.#modules.get(next);
              if (other !== undefined && !seen.has(other)) {
                seen.add(other);
                open.push(other);
              }
            }
          }
        }
      }
    }
  }

  /** RFC 7950 §7.20.2: are the features of every `if-feature` below a statement there? Throws `YangError`. */
  enabled(statement: Statement, scope: Scope): boolean {
    return statement.children.every((one) => one.keyword !== 'if-feature' || this.#holds(one, scope.module));
  }

  #holds(at: Statement, module: Module): boolean {
    const words = argument(at).match(/[()]|[^\s()]+/g) ?? [];
    let next = 0;
    let depth = 0;
    const either = (): boolean => {
      let value = both();
      while (words[next] === 'or') {
        next++;
        const right = both();
        value ||= right;
      }
      return value;
    };
    const both = (): boolean => {
      let value = one();
      while (words[next] === 'and') {
        next++;
        const right = one();
        value &&= right;
      }
      return value;
    };
    const one = (): boolean => {
      const word = words[next++];
      if (word === undefined || ++depth > 64) throw new YangError(at, 'is no expression of features');
      if (word === 'not') return !one();
      if (word !== '(') return this.#feature(word, at, module);
      const value = either();
      if (words[next++] !== ')') throw new YangError(at, 'a ")" is missing');
      return value;
    };
    const value = either();
    if (next < words.length) throw new YangError(at, 'is no expression of features');
    return value;
  }

  #feature(reference: string, at: Statement, from: Module): boolean {
    const { module, name } = this.prefixed(reference, at, from);
    const statement = definition(module.statements, 'feature', name);
    if (statement === undefined) throw new YangError(at, `feature "${reference}" is not defined`);
    this.spend(at);
    if (this.#asked.has(statement)) throw new YangError(at, 'features depend on each other in a circle');
    if (this.#asked.size >= MAXIMUM_FEATURES)
      throw new YangError(at, `more than ${MAXIMUM_FEATURES} features depend on each other`);
    this.#asked.add(statement);
    const home = this.#homes.get(statement) ?? module;
    const there = this.#features(`${module.name}:${name}`) && this.enabled(statement, { module: home, around: [] });
    this.#asked.delete(statement);
    return there;
  }

  /** Names of the actions, and of the notifications that are no top-level ones, somewhere in a module. */
  operations(module: Module): ReadonlySet<string> {
    let found = operations.get(module);
    if (found === undefined) {
      const names = new Set<string>();
      const walk = (statements: readonly Statement[]): void => {
        for (const one of statements) {
          if (one.keyword === 'action' || one.keyword === 'notification') names.add(argument(one));
          walk(one.children);
        }
      };
      walk(module.statements);
      operations.set(module, (found = names));
    }
    return found;
  }

  /** Remembers which statement a leafref's path was read from. */
  keepPath(path: object, statement: Statement): void {
    this.#paths.set(path, statement);
  }

  pathStatement(path: object): Statement | undefined {
    return this.#paths.get(path);
  }

  get(name: string): Module | undefined {
    return this.#modules.get(name);
  }

  all(): readonly Module[] {
    return [...this.#modules.values()];
  }

  /** A copy that can grow without the original seeing it. */
  fork(): ModuleSet {
    const copy = new ModuleSet({ features: this.#features });
    for (const [name, module] of this.#modules) copy.#modules.set(name, module);
    for (const [name, statement] of this.#submodules) copy.#submodules.set(name, statement);
    for (const [statement, module] of this.#homes) copy.#homes.set(statement, module);
    return copy;
  }

  /** Splits `prefix:name` and finds the module the prefix stands for. */
  prefixed(reference: string, at: Statement, module: Module): { module: Module; name: string } {
    const colon = reference.indexOf(':');
    if (colon < 0) return { module, name: reference };
    const prefix = reference.slice(0, colon);
    const name = reference.slice(colon + 1);
    if (prefix === module.prefix) return { module, name };
    const imported = module.imports.get(prefix);
    if (imported === undefined) throw new YangError(at, `prefix "${prefix}" is not imported`);
    const found = this.#modules.get(imported);
    if (found === undefined) throw new YangError(at, `module "${imported}" is not loaded`);
    return { module: found, name };
  }

  /** Finds the `typedef` or `grouping` a reference means, with the scope it must be read in. */
  find(keyword: 'typedef' | 'grouping', reference: string, at: Statement, scope: Scope): { statement: Statement; scope: Scope } {
    const { module, name } = this.prefixed(reference, at, scope.module);
    if (module.name === scope.module.name) {
      for (let depth = scope.around.length; depth > 0; depth--) {
        const statement = definition(scope.around[depth - 1]!.children, keyword, name);
        if (statement !== undefined) {
          return { statement, scope: { module: scope.module, around: scope.around.slice(0, depth) } };
        }
      }
    }
    const statement = definition(module.statements, keyword, name);
    if (statement === undefined) throw new YangError(at, `${keyword} "${reference}" is not defined`);
    return { statement, scope: { module: this.#homes.get(statement) ?? module, around: [] } };
  }

  /** Names of every identity derived, directly or not, from `module:name` (RFC 7950 §9.10). */
  derived(module: Module, name: string): string[] {
    const direct = this.#derivations();
    const out = new Set<string>();
    const wanted = [`${module.name}:${name}`];
    for (let at = 0; at < wanted.length; at++) {
      for (const identity of direct.get(wanted[at]!) ?? []) {
        if (out.has(identity.name)) continue;
        out.add(identity.name);
        wanted.push(`${identity.module}:${identity.name}`);
      }
    }
    return [...out];
  }

  /** Made anew when a module has come. */
  #derivations(): Derivations {
    if (this.#derived?.modules === this.#modules.size) return this.#derived.by;
    const by = new Map<string, { readonly module: string; readonly name: string }[]>();
    for (const module of this.#modules.values()) {
      for (const identity of module.statements) {
        if (identity.keyword !== 'identity') continue;
        const home = this.#homes.get(identity) ?? module;
        if (!this.enabled(identity, { module: home, around: [] })) continue;
        for (const statement of identity.children) {
          if (statement.keyword !== 'base') continue;
          const base = this.prefixed(argument(statement), statement, home);
          const key = `${base.module.name}:${base.name}`;
          const found = { module: module.name, name: argument(identity) };
          const list = by.get(key);
          if (list === undefined) by.set(key, [found]);
          else list.push(found);
        }
      }
    }
    this.#derived = { modules: this.#modules.size, by };
    return by;
  }
}

const DEFINITIONS = new Set(['typedef', 'grouping', 'identity', 'extension', 'feature']);
const operations = new WeakMap<Module, ReadonlySet<string>>();
const definitions = new WeakMap<readonly Statement[], ReadonlyMap<string, Statement>>();

/** The first statement that defines the name. Statements do not change once read: what they define is looked through once. */
export function definition(
  statements: readonly Statement[],
  keyword: 'typedef' | 'grouping' | 'identity' | 'extension' | 'feature',
  name: string,
): Statement | undefined {
  let index = definitions.get(statements);
  if (index === undefined) {
    const made = new Map<string, Statement>();
    for (const statement of statements) {
      const key = `${statement.keyword} ${statement.argument ?? ''}`;
      if (DEFINITIONS.has(statement.keyword) && !made.has(key)) made.set(key, statement);
    }
    definitions.set(statements, (index = made));
  }
  return index.get(`${keyword} ${name}`);
}

const weights = new WeakMap<Statement, number>();

/** Characters of a statement and of all below it. */
export function weightOf(statement: Statement): number {
  let weight = weights.get(statement);
  if (weight === undefined) {
    weight = 1 + statement.keyword.length + (statement.argument?.length ?? 0);
    for (const inner of statement.children) weight += weightOf(inner);
    weights.set(statement, weight);
  }
  return weight;
}

function importsOf(file: Statement, own: string): Map<string, string> {
  const out = new Map<string, string>();
  for (const statement of file.children) {
    if (statement.keyword !== 'import') continue;
    const prefix = text(statement, 'prefix')!;
    if (prefix === own || out.has(prefix)) throw new YangError(statement, `prefix "${prefix}" is taken`);
    out.set(prefix, argument(statement));
  }
  return out;
}

/** RFC 7950 §7.1.5.1: one revision of a module is loaded, and it must be the one that is asked for. */
function checkRevision(statement: Statement, found: Statement): void {
  const wanted = text(statement, 'revision-date');
  if (wanted === undefined) return;
  const revisions = found.children.filter((one) => one.keyword === 'revision').map(argument);
  const latest = revisions.sort().at(-1);
  if (latest !== wanted)
    throw new YangError(statement, `revision ${wanted} is not loaded, but ${latest ?? 'one without a date'}`);
}

/** A definition that stands twice in the parts of a module together. */
function duplicate(statements: readonly Statement[]): Statement | undefined {
  const seen = new Set<string>();
  return statements.find((statement) => {
    if (!DEFINITIONS.has(statement.keyword)) return false;
    const key = `${statement.keyword} ${statement.argument ?? ''}`;
    if (seen.has(key)) return true;
    seen.add(key);
    return false;
  });
}
