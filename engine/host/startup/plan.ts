/**
 * Which built-in plugins start, and in which phase (plugin-lifecycle §2): those whose config root is present and what they
 * need; then what the operator names; then decoders of families nobody decodes; then providers of event and send types.
 * Pure: names in, names out.
 */
import type { SchemaDecl } from '../../../yang/generated/methods.ts';
import type { PluginSettings } from '../../config/settings/plugin-settings.ts';

/** A plugin that ships with the daemon. */
export interface BuiltinPlugin {
  readonly name: string;
  readonly placement: 'main' | 'reactor';
  /** Its default export comes from `definePlugin`. */
  readonly moduleUrl: string;
  /** Started when one of these config roots is present. */
  readonly roots?: readonly string[] | undefined;
  readonly dependencies?: readonly string[] | undefined;
  /** What it adds to the configuration's schema. */
  readonly schema?: SchemaDecl | undefined;
  /** Families it decodes. */
  readonly families?: readonly string[] | undefined;
  /** Exclusive roles it takes over. */
  readonly claims?: readonly string[] | undefined;
  /** Custom event types (`receive`) and send types it brings. */
  readonly eventTypes?: readonly string[] | undefined;
  readonly sendTypes?: readonly string[] | undefined;
  /** A refusal of its configuration stops the daemon. */
  readonly fatalOnConfigError?: boolean | undefined;
}

/** What the configuration asks of plugins, whoever fulfils it. */
export interface StartupNeeds {
  /** Top-level roots that are present. */
  readonly roots: readonly string[];
  /** Configured families, by name. */
  readonly families: readonly string[];
  readonly receiveTypes: readonly string[];
  readonly sendTypes: readonly string[];
}

/** The built-ins of a choice, each with what it needs, all that exist. */
export function withDependencies(chosen: readonly BuiltinPlugin[], all: readonly BuiltinPlugin[]): readonly BuiltinPlugin[] {
  const byName = new Map(all.map((builtin) => [builtin.name, builtin]));
  const result = new Set<BuiltinPlugin>();
  const add = (builtin: BuiltinPlugin): void => {
    if (result.has(builtin)) return;
    result.add(builtin);
    for (const name of builtin.dependencies ?? []) {
      const dependency = byName.get(name);
      if (dependency !== undefined) add(dependency);
    }
  };
  for (const builtin of chosen) add(builtin);
  return [...result];
}

export interface Phase {
  readonly name: 'config-path' | 'explicit' | 'families' | 'event-types' | 'send-types';
  /** Built-ins that start by themselves. */
  readonly builtins: readonly BuiltinPlugin[];
  /** Configured plugins. */
  readonly plugins: readonly PluginSettings[];
}

/**
 * Phases 1 and 2. A built-in that the operator names (`use`) starts once, as configured: with phase 1 where that needs it.
 * What an explicit `use` depends on starts with it.
 */
export function firstPhases(
  all: readonly BuiltinPlugin[],
  configured: readonly PluginSettings[],
  roots: readonly string[],
): readonly Phase[] {
  const named = new Map<string, PluginSettings[]>();
  for (const plugin of configured) if (plugin.use !== '') named.set(plugin.use, [...(named.get(plugin.use) ?? []), plugin]);
  const byRoot = withDependencies(
    all.filter((builtin) => (builtin.roots ?? []).some((root) => roots.includes(root))),
    all,
  );
  const early = new Set(byRoot.flatMap((builtin) => named.get(builtin.name) ?? []));
  const explicit = configured.filter((plugin) => !early.has(plugin));
  const used = all.filter((builtin) => explicit.some((plugin) => plugin.use === builtin.name));
  const needed = withDependencies(used, all).filter((builtin) => !byRoot.includes(builtin) && !named.has(builtin.name));
  return [
    { name: 'config-path', builtins: byRoot.filter((builtin) => !named.has(builtin.name)), plugins: [...early] },
    { name: 'explicit', builtins: needed, plugins: explicit },
  ];
}

/** Phases 3 to 5, with what they need and is not there yet. */
export function latePhase(
  name: 'families' | 'event-types' | 'send-types',
  all: readonly BuiltinPlugin[],
  wanted: readonly string[],
  present: (builtin: string) => boolean,
): Phase {
  const provides = (builtin: BuiltinPlugin): readonly string[] => {
    switch (name) {
      case 'families':
        return builtin.families ?? [];
      case 'event-types':
        return builtin.eventTypes ?? [];
      case 'send-types':
        return builtin.sendTypes ?? [];
    }
  };
  const chosen: BuiltinPlugin[] = [];
  for (const want of wanted) {
    if (all.some((builtin) => provides(builtin).includes(want) && present(builtin.name))) continue;
    const provider = all.find((builtin) => provides(builtin).includes(want));
    if (provider !== undefined && !chosen.includes(provider)) chosen.push(provider);
  }
  return { name, builtins: withDependencies(chosen, all).filter((builtin) => !present(builtin.name)), plugins: [] };
}

/**
 * Built-ins that a configuration has run by themselves, by name: those of its roots, of what it names and of plugins that declared to need
 * them (`named`), and whoever provides a family, event or send type it asks for.
 */
export function wantedBuiltins(
  all: readonly BuiltinPlugin[],
  configured: readonly PluginSettings[],
  needs: StartupNeeds,
  named: readonly string[],
): ReadonlySet<string> {
  const first = firstPhases(all, configured, needs.roots).flatMap((phase) => phase.builtins);
  const provides = ({ families = [], eventTypes = [], sendTypes = [] }: BuiltinPlugin): boolean =>
    families.some((one) => needs.families.includes(one)) ||
    eventTypes.some((one) => needs.receiveTypes.includes(one)) ||
    sendTypes.some((one) => needs.sendTypes.includes(one));
  const others = all.filter((builtin) => provides(builtin) || named.includes(builtin.name));
  return new Set(withDependencies([...first, ...others], all).map((builtin) => builtin.name));
}
