/**
 * Modules that hold a plugin: their default export comes from `definePlugin`. `.ts` modules load through tsx where that is
 * installed and the runtime can't read them itself.
 */
import { execFile } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { existsSync } from 'node:fs';
import type { Bridge } from '../../../sdk/plugin/bridge.ts';
import type { PluginLog } from '../../../sdk/plugin/log.ts';
import { messageOf } from '../../../sdk/rpc/errors.ts';
import type { PluginSettings } from '../../config/settings/plugin-settings.ts';
import { EXTENSION } from '../../core/program.ts';

const CHECK_MS = 5000;

/** Where a definition runs. */
export interface PluginSite {
  /** The instance's configured name. */
  readonly name: string;
  /** The stages' stream. */
  readonly conn: Duplex;
  /** Absent in a thread of its own: the plugin stays on the stages' stream. */
  readonly bridge?: Bridge | undefined;
  readonly signal: AbortSignal;
  /** Absent in a thread of its own, whose stderr is relayed. */
  readonly log?: PluginLog | undefined;
}

/** What `definePlugin` returns, as far as the engine uses it. */
export interface PluginDefinition {
  run(site: PluginSite): Promise<void>;
  /** Stage 1, without a start. */
  describe?(): Promise<unknown>;
}

/** Is a `use` value a path (from the config file's folder) and not a built-in's name? */
export function isModulePath(use: string): boolean {
  return /^(?:\.{1,2})?\//.test(use);
}

export function moduleUrlOf(use: string, folder: string): string {
  return pathToFileURL(resolve(folder, use)).href;
}

/** Throws what is wrong with the module, as text for the operator. */
export async function loadPlugin(moduleUrl: string): Promise<PluginDefinition> {
  const module = await importModule(moduleUrl).catch(async (error: unknown) => {
    const place = error instanceof SyntaxError ? await placeOfFault(moduleUrl) : '';
    throw place === '' ? error : new Error(`${place}: ${String(error)}`, { cause: error });
  });
  const found = definitionIn(module);
  if (found === undefined) throw new Error(`${moduleUrl}: the default export is not a plugin (definePlugin)`);
  return found;
}

/**
 * Begins to read the modules that these plugins will run from in this thread, while something else is waited for. What is wrong with one is told
 * when it is started.
 */
export function preloadModules(plugins: readonly PluginSettings[], folder: string): void {
  for (const { run, use, isolation } of plugins) {
    if (run === '' && isolation === 'main' && isModulePath(use) && /\.m?js$/.test(use))
      import(moduleUrlOf(use, folder)).catch(() => undefined);
  }
}

/** File and line of a syntax error, which `import()` keeps to itself; '' when it is not in this file but in one that it imports. */
function placeOfFault(moduleUrl: string): Promise<string> {
  return new Promise((resolve) => {
    const file = moduleUrl.startsWith('file:') ? fileURLToPath(moduleUrl) : '';
    if (file === '') resolve('');
    else
      execFile(process.execPath, ['--check', file], { timeout: CHECK_MS }, (_error, _stdout, stderr) => {
        const [first = ''] = stderr.split('\n');
        resolve(/:\d+$/.test(first) ? first : '');
      });
  });
}

/** A module that was compiled from CommonJS interop has its default one level deeper. */
function definitionIn(module: unknown): PluginDefinition | undefined {
  let value = module;
  for (let depth = 0; depth < 3; depth++) {
    if (typeof value !== 'object' || value === null) return undefined;
    if ('run' in value && typeof value.run === 'function') return value as PluginDefinition;
    value = 'default' in value ? value.default : undefined;
  }
  return undefined;
}

async function importModule(moduleUrl: string): Promise<unknown> {
  if (moduleUrl.startsWith('file:') && !existsSync(fileURLToPath(moduleUrl))) throw new Error(`${moduleUrl}: no such file`);
  if (!/\.[cm]?ts$/.test(moduleUrl) || EXTENSION === '.ts') return (await import(moduleUrl)) as unknown;
  let tsx: { tsImport(specifier: string, parentUrl: string): Promise<unknown> };
  try {
    tsx = await import('tsx/esm/api');
  } catch (error) {
    throw new Error(`${moduleUrl}: loading TypeScript needs the package tsx: ${messageOf(error)}`, { cause: error });
  }
  return await tsx.tsImport(moduleUrl, import.meta.url);
}
