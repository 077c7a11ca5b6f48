// What a config means, whole: the reactor's settings, plugins, hub, environment, and the tree that plugins are shown.
import type { ProcessBinding, ReactorSettings } from '../bgp/port.ts';
import { type Branch, toJson } from './tree/effective.ts';
import type { HubServer, PluginSettings } from './settings/plugin-settings.ts';
import type { Settings } from './settings/settings.ts';
import type { SyntaxTree } from './text/syntax-tree.ts';

export interface DaemonEnvironment {
  /** Every setting by its dotted name, with its source. */
  readonly settings: Settings;
  /** Levels by subsystem; '' is the level of every other. */
  readonly logLevels: Readonly<Record<string, string>>;
  readonly logBackend: string;
  readonly logDestination: string;
  /** '' = none. */
  readonly logFile: string;
  /** Lowest level of plugins' lines that is passed on. */
  readonly logRelay: string;
  /** '' = none. */
  readonly pidFile: string;
  readonly readyFile: string;
  /** The daemon becomes this user once its ports are bound; '' = it stays who it is. */
  readonly user: string;
  /** '' = the default place, see engine/core/control-socket. */
  readonly controlSocket: string;
  readonly stateDir: string;
  readonly reactorThread: boolean;
  readonly cacheTtlSeconds: number;
  readonly cacheMaximum: number;
  readonly stageTimeoutMs: number;
  readonly deliveryTimeoutMs: number;
}

/** The bindings of one process, by peer name. */
export type ProcessBindings = ReadonlyMap<string, readonly { readonly peer: string; readonly binding: ProcessBinding }[]>;

export class RunningConfig {
  readonly syntax: SyntaxTree;
  /** The effective tree: inheritance applied, inactive nodes gone. */
  readonly tree: Branch;
  readonly reactor: ReactorSettings;
  readonly plugins: readonly PluginSettings[];
  readonly hub: readonly HubServer[];
  readonly environment: DaemonEnvironment;
  readonly processBindings: ProcessBindings;
  /** True when there is a `bgp` block: without one the BGP subsystem is not loaded. */
  readonly hasBgp: boolean;
  readonly #json = new Map<string, unknown>();

  constructor(parts: Omit<RunningConfig, 'section' | 'sectionText' | 'roots'>) {
    this.syntax = parts.syntax;
    this.tree = parts.tree;
    this.reactor = parts.reactor;
    this.plugins = parts.plugins;
    this.hub = parts.hub;
    this.environment = parts.environment;
    this.processBindings = parts.processBindings;
    this.hasBgp = parts.hasBgp;
  }

  /** Top-level roots that are there. */
  roots(): readonly string[] {
    return [...this.tree.children.keys()];
  }

  /**
   * What stage 2 sends for a wanted root, wrapped in the full path: `bgp/peer` answers `{"bgp":{"peer":{…}}}`, `*` the whole
   * tree. `undefined` when the root does not exist.
   */
  section(root: string): unknown {
    if (!this.#json.has(root)) this.#json.set(root, this.#section(root));
    return this.#json.get(root);
  }

  /** `section` as JSON text; `undefined` when the root does not exist. */
  sectionText(root: string): string | undefined {
    const value = this.section(root);
    return value === undefined ? undefined : JSON.stringify(value);
  }

  #section(root: string): unknown {
    if (root === '*') return toJson(this.tree);
    const path = root.split('/').filter((name) => name !== '');
    let value: unknown = path.length === 0 ? undefined : toJsonAt(this.tree, path[0]!);
    for (const name of path.slice(1)) {
      value =
        typeof value === 'object' && value !== null && Object.hasOwn(value, name)
          ? (value as Record<string, unknown>)[name]
          : undefined;
    }
    if (value === undefined) return undefined;
    return path.reduceRight<unknown>((inner, name) => Object.fromEntries([[name, inner]]), value);
  }
}

function toJsonAt(tree: Branch, name: string): unknown {
  const value = tree.children.get(name);
  return value === undefined ? undefined : toJson(value);
}
