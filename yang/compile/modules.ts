// The modules at hand, and how a name used in one of them is found: own scope first, then the module, then by prefix
// in an imported module (RFC 7950 §5.5, §7.1.4–5).
import { readStatements, type Statement, YangError } from './reader.ts';

export interface Module {
  readonly name: string;
  readonly prefix: string;
  readonly imports: ReadonlyMap<string, string>;
  readonly statements: readonly Statement[];
  readonly at: Statement;
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

/** RFC 7950 §7, §9: every statement without a prefix. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    'action anydata anyxml argument augment base belongs-to bit case choice config contact container default description deviate ' +
    'deviation enum error-app-tag error-message extension feature fraction-digits grouping identity if-feature import include input ' +
    'key leaf leaf-list length list mandatory max-elements min-elements modifier module must namespace notification ordered-by ' +
    'organization output path pattern position prefix presence range reference refine require-instance revision revision-date rpc ' +
    'status submodule type typedef unique units uses value when yang-version yin-element'
  ).split(' '),
);

/** Nodes, types and values of types one compilation may make: groupings that use each other double with every level. */
export const MAXIMUM_WORK = 50_000;

/** Identities by their base, as `module:name`. */
type Derivations = ReadonlyMap<string, readonly { readonly module: string; readonly name: string }[]>;

export class ModuleSet {
  #work = 0;
  readonly #modules = new Map<string, Module>();
  readonly #submodules: Statement[] = [];
  #derived: { readonly modules: number; readonly by: Derivations } | undefined;

  /** Reads a module; `file` stands in its errors. A module of the same name is refused. Throws `YangError`. */
  add(source: string, file: string): Module | undefined {
    const [top, second] = readStatements(source, file);
    if (top === undefined) throw new YangError({ module: file, line: 1 }, 'the module is empty');
    if (second !== undefined) throw new YangError(second, 'only one module may stand in a file');
    for (const statement of top.children) checkKeywords(statement);
    if (top.keyword === 'submodule') {
      this.#submodules.push(top);
      return undefined;
    }
    if (top.keyword !== 'module') throw new YangError(top, 'a file must hold a module or submodule');
    const name = argument(top);
    if (this.#modules.has(name)) throw new YangError(top, 'a module of this name is already loaded');
    const included = top.children.filter((s) => s.keyword === 'include').flatMap((s) => this.#include(s));
    const statements = [...top.children, ...included];
    const prefix = text(top, 'prefix');
    if (prefix === undefined) throw new YangError(top, 'a module needs a prefix');
    const imports = new Map<string, string>();
    for (const statement of statements.filter((s) => s.keyword === 'import')) {
      imports.set(text(statement, 'prefix') ?? argument(statement), argument(statement));
    }
    const module: Module = { name, prefix, imports, statements, at: top };
    this.#modules.set(name, module);
    return module;
  }

  /** Counts nodes, types, or values of a type, about to be made. Throws `YangError` when there are more than anybody writes. */
  spend(at: Statement, count = 1): void {
    this.#work += count;
    if (this.#work > MAXIMUM_WORK) throw new YangError(at, `the schema grows past ${MAXIMUM_WORK} nodes, types and values`);
  }

  #include(statement: Statement): readonly Statement[] {
    const found = this.#submodules.find((s) => s.argument === statement.argument);
    if (found === undefined) throw new YangError(statement, 'the submodule is not loaded (load it before its module)');
    return found.children;
  }

  get(name: string): Module | undefined {
    return this.#modules.get(name);
  }

  all(): readonly Module[] {
    return [...this.#modules.values()];
  }

  /** A copy that can grow without the original seeing it. */
  fork(): ModuleSet {
    const copy = new ModuleSet();
    for (const [name, module] of this.#modules) copy.#modules.set(name, module);
    copy.#submodules.push(...this.#submodules);
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
    if (module === scope.module) {
      for (let depth = scope.around.length; depth > 0; depth--) {
        const statement = definition(scope.around[depth - 1]!.children, keyword, name);
        if (statement !== undefined) return { statement, scope: { module, around: scope.around.slice(0, depth) } };
      }
    }
    const statement = definition(module.statements, keyword, name);
    if (statement === undefined) throw new YangError(at, `${keyword} "${reference}" is not defined`);
    return { statement, scope: { module, around: [] } };
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
        for (const statement of identity.children) {
          if (statement.keyword !== 'base') continue;
          const base = this.prefixed(argument(statement), statement, module);
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

const DEFINITIONS = new Set(['typedef', 'grouping', 'identity', 'extension']);
const definitions = new WeakMap<readonly Statement[], ReadonlyMap<string, Statement>>();

/** The first statement that defines the name. Statements do not change once read: what they define is looked through once. */
export function definition(
  statements: readonly Statement[],
  keyword: 'typedef' | 'grouping' | 'identity' | 'extension',
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

function checkKeywords(statement: Statement): void {
  if (!statement.keyword.includes(':')) {
    if (!KEYWORDS.has(statement.keyword)) throw new YangError(statement, 'is no statement of YANG');
    for (const inner of statement.children) checkKeywords(inner);
  }
}
