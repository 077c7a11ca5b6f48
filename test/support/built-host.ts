// The host as it is built: threads of plugins run compiled code only.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { PluginHost } from '../../engine/host/host.ts';

const BUILT = join(import.meta.dirname, '../../dist/engine/host/host.js');

/** `undefined` when dist is not built. */
export async function builtHost(): Promise<typeof PluginHost | undefined> {
  if (!existsSync(BUILT)) return undefined;
  return ((await import(pathToFileURL(BUILT).href)) as { readonly PluginHost: typeof PluginHost }).PluginHost;
}
