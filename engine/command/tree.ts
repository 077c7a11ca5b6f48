/**
 * The command tree: one node a word. Built-in commands stand in it from the start, a plugin's come and go with the plugin.
 * Built-ins win over plugins at the same path; a plugin's deprecated names lead to the same command.
 */
import { isBuiltIn, type CommandSpec } from './spec.ts';

interface TreeNode {
  readonly children: Map<string, TreeNode>;
  /** At most one command of each kind ends here. */
  builtIn: CommandSpec | undefined;
  plugin: CommandSpec | undefined;
  /** The plugin name here is an old spelling: reachable, not shown. */
  pluginDeprecated: boolean;
  builtInDeprecated: boolean;
}

export interface Match {
  readonly spec: CommandSpec;
  /** How many of the words make up the path. */
  readonly used: number;
  /** The words are an old spelling of `spec.path`. */
  readonly deprecated: boolean;
}

export class CommandTree {
  readonly #root = newNode();
  readonly #specs = new Map<string, CommandSpec>();

  constructor(builtIns: readonly CommandSpec[]) {
    for (const spec of builtIns) this.add(spec);
  }

  /** Puts a command in. Returns why not, when another owner already has the path. */
  add(spec: CommandSpec): string | undefined {
    const key = keyOf(spec);
    const there = this.#specs.get(key);
    if (there !== undefined && there.owner !== spec.owner)
      return `command conflict: "${spec.path}" already registered by ${there.owner}`;
    const covering = isBuiltIn(spec) ? undefined : this.#covering(spec.path);
    if (covering !== undefined) return `command conflict: "${spec.path}" is taken by "${covering}" of the engine`;
    if (there !== undefined) this.#take(there);
    this.#specs.set(key, spec);
    this.#put(spec.path, spec, false);
    for (const name of spec.deprecatedNames) this.#put(name.toLowerCase(), spec, true);
    return undefined;
  }

  /** The built-in command that words of this path would reach instead of a plugin's: the same path, or one whose arguments they are. */
  #covering(path: string): string | undefined {
    const words = path.split(' ');
    let node: TreeNode | undefined = this.#root;
    for (let used = 0; node !== undefined; used++) {
      const { builtIn } = node;
      if (builtIn !== undefined && (used === words.length || builtIn.args.length > 0)) return builtIn.path;
      node = used < words.length ? node.children.get(words[used] ?? '') : undefined;
    }
    return undefined;
  }

  /** Takes every command of a plugin out. */
  remove(owner: string): void {
    for (const spec of [...this.#specs.values()]) if (spec.owner === owner) this.#take(spec);
  }

  /** The longest path that begins `words` (lower case). Built-ins are tried before plugins. */
  match(words: readonly string[]): Match | undefined {
    let node: TreeNode | undefined = this.#root;
    let builtIn: Match | undefined;
    let plugin: Match | undefined;
    for (let used = 0; ; used++) {
      if (node.builtIn !== undefined) builtIn = { spec: node.builtIn, used, deprecated: node.builtInDeprecated };
      if (node.plugin !== undefined) plugin = { spec: node.plugin, used, deprecated: node.pluginDeprecated };
      node = node.children.get(words[used] ?? '');
      if (node === undefined) break;
    }
    // Built-ins first. Only one that takes no argument gives way to a plugin's longer path: there the words would be a mistake.
    const bare = builtIn?.spec.args.length === 0;
    return bare && plugin !== undefined && plugin.used > (builtIn?.used ?? 0) ? plugin : (builtIn ?? plugin);
  }

  /** The command whose name is exactly this, in any spelling of case, blanks and deprecated names. */
  exact(name: string): CommandSpec | undefined {
    const words = name.trim().toLowerCase().split(/\s+/);
    const found = this.match(words);
    return found?.used === words.length ? found.spec : undefined;
  }

  /** Words that may follow `words` (lower case), without hidden and old ones, in order. */
  next(words: readonly string[]): readonly { readonly word: string; readonly spec: CommandSpec | undefined }[] {
    const node = this.#walk(words);
    if (node === undefined) return [];
    return [...node.children]
      .filter(([, child]) => isShown(child))
      .map(([word, child]) => ({ word, spec: shownSpec(child) }))
      .sort((a, b) => (a.word < b.word ? -1 : 1));
  }

  /** What is known of words that only lead to commands: the words that follow. */
  helpOf(words: readonly string[]): string {
    const below = this.all().filter((spec) => !spec.hidden && spec.path.startsWith(`${words.join(' ')} `));
    return below
      .map((spec) => spec.path.split(' ')[words.length] ?? '')
      .filter((word, i, list) => list.indexOf(word) === i)
      .join(', ');
  }

  /** Does the tree go on below these words (hidden and old spellings too)? */
  reaches(words: readonly string[]): boolean {
    return this.#walk(words) !== undefined;
  }

  /** Every command, built-in and plugin, by path. */
  all(): readonly CommandSpec[] {
    return [...this.#specs.values()].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  }

  #walk(words: readonly string[]): TreeNode | undefined {
    let node: TreeNode | undefined = this.#root;
    for (const word of words) {
      node = node.children.get(word);
      if (node === undefined) return undefined;
    }
    return node;
  }

  #put(path: string, spec: CommandSpec, deprecated: boolean): void {
    let node = this.#root;
    for (const word of path.split(' ')) {
      let child = node.children.get(word);
      if (child === undefined) {
        child = newNode();
        node.children.set(word, child);
      }
      node = child;
    }
    if (isBuiltIn(spec)) {
      // A path of its own is never covered by the old name of another command.
      if (deprecated && node.builtIn !== undefined && !node.builtInDeprecated) return;
      node.builtIn = spec;
      node.builtInDeprecated = deprecated;
    } else {
      if (deprecated && node.plugin !== undefined && !node.pluginDeprecated) return;
      node.plugin = spec;
      node.pluginDeprecated = deprecated;
    }
  }

  #take(spec: CommandSpec): void {
    this.#specs.delete(keyOf(spec));
    prune(this.#root, spec);
  }
}

function newNode(): TreeNode {
  return { children: new Map(), builtIn: undefined, plugin: undefined, pluginDeprecated: false, builtInDeprecated: false };
}

function keyOf(spec: CommandSpec): string {
  return `${isBuiltIn(spec) ? 'b' : 'p'} ${spec.path}`;
}

function prune(node: TreeNode, spec: CommandSpec): void {
  if (node.builtIn === spec) node.builtIn = undefined;
  if (node.plugin === spec) node.plugin = undefined;
  for (const [word, child] of node.children) {
    prune(child, spec);
    if (child.children.size === 0 && child.builtIn === undefined && child.plugin === undefined) node.children.delete(word);
  }
}

function shownSpec(node: TreeNode): CommandSpec | undefined {
  if (node.builtIn !== undefined && !node.builtInDeprecated && !node.builtIn.hidden) return node.builtIn;
  if (node.plugin !== undefined && !node.pluginDeprecated && !node.plugin.hidden) return node.plugin;
  return undefined;
}

function isShown(node: TreeNode): boolean {
  if (shownSpec(node) !== undefined) return true;
  for (const child of node.children.values()) if (isShown(child)) return true;
  return false;
}
