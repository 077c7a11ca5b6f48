/** YANG modules in files, each compiled with what it imports and includes: what `zest schema check` says of them. */
import { basename } from 'node:path';
import { readStatements, type Statement, YangError } from '../../../yang/compile/reader.ts';
import { isParent, type SchemaNode } from '../../../yang/compile/schema.ts';
import { SchemaTree } from '../../../yang/compile/tree.ts';

export interface ModuleFile {
  readonly path: string;
  readonly text: string;
}

export interface ModuleReport {
  readonly module: string;
  readonly path: string;
  readonly revision: string;
  /** Data nodes in the tree that it and its imports make. */
  readonly nodes: number;
  /** Statements that are read and mean nothing here, as `notification link-down (line 12)`. */
  readonly leftOut: readonly string[];
  /** `module:line: statement: what is wrong`; empty when it compiles. */
  readonly problem: string;
}

/** Nodes, types and values: modules to be looked at may be far larger than what a plugin may bring. */
const MAXIMUM = 5_000_000;
const LEFT_OUT: ReadonlySet<string> = new Set(['action', 'notification']);

interface Read {
  readonly path: string;
  readonly text: string;
  readonly top: Statement;
}

/**
 * One report a module of `asked`, in its order; a submodule is looked at with its module. `library` are files in which imports are looked
 * for, after those of `asked` themselves; of several files for one module the last by revision counts.
 */
export function checkModules(asked: readonly ModuleFile[], library: readonly ModuleFile[]): readonly ModuleReport[] {
  const known = new Map<string, Read>();
  for (const read of library.map(topOf)) if (!(read instanceof YangError)) keepLatest(known, read);
  const reads = asked.map(topOf);
  const mine = new Map<string, Read>();
  for (const read of reads) if (!(read instanceof YangError)) keepLatest(mine, read);
  for (const [name, read] of mine) known.set(name, read);
  return reads.flatMap((read, index) => {
    const file = asked[index]!;
    if (read instanceof YangError) return [{ ...blank(file), problem: read.message }];
    if (read.top.keyword !== 'submodule') return [compiled(read, known)];
    if (mine.has(belongsTo(read))) return [];
    return [{ ...blank(file), module: nameOf(read), problem: `its module "${belongsTo(read)}" is not among the files` }];
  });
}

function compiled(read: Read, known: ReadonlyMap<string, Read>): ModuleReport {
  const sources = closure(read, known);
  const report = { ...blank(read), module: nameOf(read), revision: revisionOf(read), leftOut: leftOut(read.top) };
  try {
    const tree = SchemaTree.compile(Object.fromEntries(sources), { maximum: MAXIMUM, namespaces: true });
    return { ...report, nodes: count(tree.root) };
  } catch (error) {
    if (!(error instanceof YangError)) throw error;
    return { ...report, problem: error.message };
  }
}

/** The texts of a module and of everything that it needs, by module name. */
function closure(read: Read, known: ReadonlyMap<string, Read>): ReadonlyMap<string, string> {
  const out = new Map<string, string>();
  const waiting: Read[] = [read];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (out.has(nameOf(next))) continue;
    out.set(nameOf(next), next.text);
    for (const { keyword, argument = '' } of next.top.children) {
      if (keyword !== 'import' && keyword !== 'include') continue;
      const found = known.get(argument);
      if (found !== undefined) waiting.push(found);
    }
  }
  return out;
}

function topOf({ path, text }: ModuleFile): Read | YangError {
  const name = basename(path, '.yang');
  try {
    const [top] = readStatements(text, name);
    if (top === undefined) return new YangError({ module: name, line: 1 }, 'the module is empty');
    return { path, text, top };
  } catch (error) {
    if (error instanceof YangError) return error;
    throw error;
  }
}

function keepLatest(into: Map<string, Read>, read: Read): void {
  const had = into.get(nameOf(read));
  if (had === undefined || revisionOf(had) <= revisionOf(read)) into.set(nameOf(read), read);
}

function leftOut(top: Statement): readonly string[] {
  const out: string[] = [];
  const walk = (statement: Statement): void => {
    if (LEFT_OUT.has(statement.keyword)) out.push(`${statement.keyword} ${statement.argument ?? ''} (line ${statement.line})`);
    else statement.children.forEach(walk);
  };
  walk(top);
  return out;
}

function count(node: SchemaNode): number {
  return isParent(node) ? node.children.reduce((sum, child) => sum + 1 + count(child), 0) : 0;
}

function blank({ path }: { readonly path: string }): ModuleReport {
  return { module: '', path, revision: '', nodes: 0, leftOut: [], problem: '' };
}

function nameOf({ top }: Read): string {
  return top.argument ?? '';
}

function revisionOf({ top }: Read): string {
  return top.children.reduce(
    (last, { keyword, argument = '' }) => (keyword === 'revision' && argument > last ? argument : last),
    '',
  );
}

function belongsTo({ top }: Read): string {
  return top.children.find(({ keyword }) => keyword === 'belongs-to')?.argument ?? '';
}
