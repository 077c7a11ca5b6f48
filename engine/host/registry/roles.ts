/**
 * Exclusive roles (plugin-lifecycle §4): a plugin claims one, and every other learns it before any event can come, so that the one
 * that does the work by default stands down. Claims are known when a plugin may be started: of built-ins from their definition,
 * of others from their first line, which they send before their stages begin.
 */
import type { ProcessBinding } from '../../bgp/port.ts';

/** Who has claimed what. Outlives the sessions of a plugin: it goes with the plugin's place in the configuration. */
export class Roles {
  readonly #claims = new Map<string, readonly string[]>();

  /** What the plugin claims, instead of what was known of it. */
  declare(plugin: string, claims: readonly string[]): void {
    this.#claims.set(plugin, claims);
  }

  forget(plugin: string): void {
    this.#claims.delete(plugin);
  }

  /** Sorted union of the claims of all plugins but one, less its own. */
  claimsBut(plugin: string): readonly string[] {
    const own = new Set(this.#claims.get(plugin));
    const others = [...this.#claims].filter(([name]) => name !== plugin).flatMap(([, claims]) => claims);
    return [...new Set(others)].filter((role) => !own.has(role)).sort();
  }

  /** Roles of which every claimer fails the test, each with its claimers. Sorted. */
  unheld(holds: (plugin: string) => boolean): readonly { readonly role: string; readonly claimers: readonly string[] }[] {
    const claimers = new Map<string, string[]>();
    for (const [plugin, claims] of this.#claims) {
      for (const role of claims) claimers.set(role, [...(claimers.get(role) ?? []), plugin]);
    }
    return [...claimers]
      .filter(([, plugins]) => !plugins.some(holds))
      .map(([role, plugins]) => ({ role, claimers: plugins }))
      .sort((a, b) => (a.role < b.role ? -1 : 1));
  }
}

/** May a plugin that sends only what it is granted send routes to a peer with these bindings? */
export function maySend(plugin: string, bindings: readonly ProcessBinding[]): boolean {
  const send = bindings.find((binding) => binding.process === plugin)?.send ?? [];
  return send.includes('update') || send.includes('raw');
}
