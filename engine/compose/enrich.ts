// Enrichers as plugins declare them, and the way to ask one. When and how often is the command room's business.
import type { EnrichShowInput } from '../../yang/generated/methods.ts';
import type { Enricher } from '../command/context.ts';
import type { PluginHost } from '../host/host.ts';

type Host = Pick<PluginHost, 'link' | 'registry'>;

/** Of running plugins, by name. */
export function enrichers(host: Host | undefined): readonly Enricher[] {
  if (host === undefined) return [];
  const found: Enricher[] = [];
  for (const plugin of host.registry.plugins()) {
    const declared = host.registry.of(plugin)?.enrichers;
    if (declared === undefined || host.link(plugin) === undefined) continue;
    for (const { command, key } of declared) found.push({ plugin, command, key });
  }
  return found.sort((a, b) => (a.plugin < b.plugin ? -1 : a.plugin > b.plugin ? 1 : 0));
}

export async function enrich(
  host: Host,
  plugin: string,
  input: EnrichShowInput,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const link = host.link(plugin);
  if (link === undefined) throw new Error('plugin process not running');
  const { data } = await link.call('ze-plugin-callback:enrich-show', input, signal);
  return data;
}
