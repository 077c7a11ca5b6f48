// YANG modules that plugins bring: what they add to the configuration's schema, who brought it, and what goes again with a plugin.
import { readStatements, YangError } from '../../../yang/compile/reader.ts';
import { extension, isParent, type SchemaNode, type TypeSpec } from '../../../yang/compile/schema.ts';
import type { SchemaTree } from '../../../yang/compile/tree.ts';
import { CONFIG_MODULES } from '../../../yang/generated/modules.ts';
import { clamp } from '../fault.ts';
import { isSecret } from '../secret.ts';
import { makeValidators, type Validators } from '../rules/validators.ts';
import { checkNamed, checkValue } from '../text/values.ts';

/** `schema` of stage 1 (plugin-rpc-types §2.4). */
export interface SchemaDeclaration {
  readonly module: string;
  readonly namespace?: string | undefined;
  readonly 'yang-text'?: string | undefined;
  readonly handlers?: readonly string[] | undefined;
}

export interface PluginModule {
  readonly module: string;
  readonly namespace: string;
  readonly description: string;
  readonly text: string;
  /** Every plugin that declared the module, with the very same text. */
  readonly plugins: readonly string[];
}

interface Entry {
  readonly module: string;
  readonly namespace: string;
  readonly text: string;
  readonly plugins: Set<string>;
}

/** UTF-16 units of a module's text. */
export const MAXIMUM_YANG = 1 << 20;
const MAXIMUM_HANDLERS = 256;

export interface ModuleFacts {
  readonly module: string;
  readonly namespace: string;
  /** On one line. */
  readonly description: string;
}

/** What a module says of itself; '' where it says nothing. Throws `YangError`. */
export function moduleFacts(text: string, name: string): ModuleFacts {
  const [top] = readStatements(text, name);
  const of = (keyword: string): string => top?.children.find((one) => one.keyword === keyword)?.argument ?? '';
  return {
    module: top?.argument ?? '',
    namespace: of('namespace'),
    description: of('description').replaceAll(/\s+/g, ' ').trim(),
  };
}

export class PluginSchemas {
  readonly #base: SchemaTree;
  readonly #entries = new Map<string, Entry>();
  readonly #handlers = new Map<string, readonly string[]>();
  #tree: SchemaTree;

  constructor(base: SchemaTree) {
    this.#base = base;
    this.#tree = base;
  }

  /** The shipped schema with every module that is claimed. */
  get tree(): SchemaTree {
    return this.#tree;
  }

  modules(): readonly PluginModule[] {
    return [...this.#entries.values()].map(({ module, namespace, text, plugins }) => ({
      module,
      namespace,
      description: moduleFacts(text, module).description,
      text,
      plugins: [...plugins].sort(),
    }));
  }

  /** Config path prefixes a plugin says it handles. */
  handlers(plugin: string): readonly string[] {
    return this.#handlers.get(plugin) ?? [];
  }

  /**
   * Works a plugin's module in. Returns why not, and nothing has changed then: the text names plugin, module, line and statement.
   * A module without a text adds nothing (the plugin only says whose paths it handles).
   */
  claim(plugin: string, declaration: SchemaDeclaration): string | undefined {
    const { module, 'yang-text': text = '', handlers = [] } = declaration;
    const refuse = (why: string): string => `schema of plugin ${clamp(plugin)}: ${why}`;
    if (handlers.length > MAXIMUM_HANDLERS) return refuse(`${handlers.length} handlers (max ${MAXIMUM_HANDLERS})`);
    if (text.trim() !== '') {
      const fault = this.#add(plugin, module, declaration.namespace ?? '', text);
      if (fault !== undefined) return refuse(fault);
    }
    if (handlers.length > 0) this.#handlers.set(plugin, handlers);
    return undefined;
  }

  /** Takes back what only this plugin has brought. */
  release(plugin: string): void {
    this.#handlers.delete(plugin);
    let gone = false;
    for (const [module, { plugins }] of this.#entries) {
      if (!plugins.delete(plugin) || plugins.size > 0) continue;
      this.#entries.delete(module);
      gone = true;
    }
    if (gone) this.#tree = this.#rebuilt();
  }

  #add(plugin: string, module: string, namespace: string, text: string): string | undefined {
    if (module === '') return 'it names no module';
    const shown = clamp(module);
    if (text.length > MAXIMUM_YANG) return `module ${shown} has ${text.length} characters (max ${MAXIMUM_YANG})`;
    const before = this.#entries.get(module);
    if (before !== undefined) {
      if (before.text !== text) return `module ${shown} is registered by ${[...before.plugins].join(', ')} with another text`;
      before.plugins.add(plugin);
      return undefined;
    }
    if (Object.hasOwn(CONFIG_MODULES, module)) return `module ${shown} is one of the engine's own`;
    try {
      const tree = this.#tree.augment(text, module);
      const { module: named, namespace: own } = moduleFacts(text, module);
      if (named !== module) return `module ${shown}: the text is that of module ${clamp(named)}`;
      if (own === '') return `module ${shown}: the text has no namespace`;
      if (namespace !== '' && namespace !== own)
        return `module ${shown}: its namespace is ${clamp(own)}, not ${clamp(namespace)}`;
      const owner = [...this.#entries.values()].find((entry) => entry.namespace === own)?.module ?? shippedWith(own);
      if (owner !== undefined) return `module ${shown}: namespace ${clamp(own)} is that of module ${owner}`;
      const fault = checkJoined(tree, module);
      if (fault !== undefined) return fault;
      this.#entries.set(module, { module, namespace: own, text, plugins: new Set([plugin]) });
      this.#tree = tree;
      return undefined;
    } catch (error) {
      if (error instanceof YangError) return error.message;
      throw error;
    }
  }

  /** Without what is gone. A module that stood on one that left stays out of the tree until its plugin comes again. */
  #rebuilt(): SchemaTree {
    let tree = this.#base;
    for (const { module, text } of this.#entries.values()) {
      try {
        tree = tree.augment(text, module);
      } catch (error) {
        if (!(error instanceof YangError)) throw error;
      }
    }
    return tree;
  }
}

function shippedWith(namespace: string): string | undefined {
  return Object.entries(CONFIG_MODULES).find(([name, text]) => moduleFacts(text, name).namespace === namespace)?.[0];
}

/** What the compiler cannot know: validators that exist, defaults that are values of their type. */
function checkJoined(tree: SchemaTree, module: string): string | undefined {
  const validators = makeValidators();
  const walk = (node: SchemaNode, path: string, inside: boolean): string | undefined => {
    const joined = inside || node.joined === module;
    const own = joined ? checkNode(node, validators) : undefined;
    if (own !== undefined) return `${module}: ${path}: ${own}`;
    if (!isParent(node)) return undefined;
    for (const child of node.children) {
      const fault = walk(child, `${path}/${child.name}`, joined);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
  return walk(tree.root, '', false);
}

function checkNode(node: SchemaNode, validators: Validators): string | undefined {
  if (isSecret(node) && node.kind !== 'leaf') return 'only a leaf can be a secret';
  if (node.kind === 'list' && node.children.some((child) => isSecret(child) && node.keys.includes(child.name)))
    return 'a key cannot be a secret: it is part of paths';
  if (node.kind !== 'leaf' && node.kind !== 'leaf-list') return undefined;
  const own = extension(node, 'validate');
  const names = [...validatorsOf(node.type), ...(typeof own === 'string' ? own.split('|') : [])];
  const unknown = names.find((name) => !validators.has(name));
  if (unknown !== undefined) return `the validator "${clamp(unknown)}" does not exist`;
  const defaults = node.kind === 'leaf' ? (node.default === undefined ? [] : [node.default]) : (node.defaults ?? []);
  for (const text of defaults) {
    const fault =
      checkValue(node.type, text, validators) ?? (typeof own === 'string' ? checkNamed(own, text, validators) : undefined);
    if (fault !== undefined) return `default ${fault.message}`;
  }
  return undefined;
}

function validatorsOf(type: TypeSpec): readonly string[] {
  const own = type.validate === undefined ? [] : type.validate.split('|');
  return type.base === 'union' ? [...own, ...type.members.flatMap(validatorsOf)] : own;
}
