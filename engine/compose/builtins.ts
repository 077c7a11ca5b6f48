// The plugins that ship with the daemon: one folder each below plugins/. Deleting a folder removes its feature.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { PluginDefinition } from '../../sdk/plugin/define.ts';
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import type { Attach } from '../bgp/warm-up.ts';
import { EXTENSION, PLUGINS } from '../core/program.ts';
import { type BuiltinPlugin, withDependencies } from '../host/startup/plan.ts';

/** The module of a built-in plugin. */
function moduleOf(name: string): string {
  return new URL(`${name}/index${EXTENSION}`, PLUGINS).href;
}

function builtinNames(): readonly string[] {
  return readdirSync(fileURLToPath(PLUGINS), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

/** Reads what each says of itself; nothing of it runs. */
export async function loadBuiltins(): Promise<readonly BuiltinPlugin[]> {
  return Promise.all(
    builtinNames().map(async (name) => {
      const moduleUrl = moduleOf(name);
      const { default: definition } = (await import(moduleUrl)) as { readonly default: PluginDefinition };
      return {
        name: definition.name,
        placement: definition.placement,
        moduleUrl,
        roots: definition.autoload,
        dependencies: definition.dependencies,
        schema: definition.declaration.schema,
        claims: definition.declaration.claims,
        families: (definition.declaration.families ?? []).map((family) => family.name),
      };
    }),
  );
}

/** Those that start by themselves as soon as there is a bgp block: `process` may name them without a `plugin external` block. */
export function autoloadedNames(builtins: readonly BuiltinPlugin[]): readonly string[] {
  const chosen = builtins.filter((builtin) => builtin.roots?.includes('bgp') === true);
  return withDependencies(chosen, builtins).map((builtin) => builtin.name);
}

/**
 * What puts the route path's plugins on a rehearsal (engine/bgp/warm-up.ts), in the order they would attach. Every plugin's module is loaded for
 * it, though two have something to rehearse: loaded after the rehearsal, they cost the first table twice its time (0.06 → 0.12 s of 100,000
 * routes; 1.5 MB are saved), why is not known.
 */
export async function loadRehearsals(): Promise<Attach> {
  const modules = await Promise.all(
    builtinNames().map(async (name) => (await import(moduleOf(name))) as { rehearse?: (routes: RoutePath) => void }),
  );
  return (scope) => {
    for (const module of modules) module.rehearse?.(scope());
  };
}
