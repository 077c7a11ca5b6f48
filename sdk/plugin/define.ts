/**
 * `definePlugin`: a plugin as one value, the same whether the engine runs it inside or it runs as a process of its own.
 *
 * The host reads the metadata without running anything; `run` calls the author's `setup` with an `Engine`, then lives the
 * plugin. Outside, `await runExternal(definition)` is the whole main module.
 */
import type { Duplex } from 'node:stream';
import { messageOf } from '../rpc/errors.ts';
import { pipePair } from '../rpc/pipe.ts';
import { readVariable } from '../rpc/tls.ts';
import type { Bridge } from './bridge.ts';
import { Engine } from './engine.ts';
import { type PluginLog, stderrLog } from './log.ts';
import { Plugin, type Registration } from './plugin.ts';
import { type QueryHost, runOrDeclare } from './query.ts';

export type Placement = 'main' | 'reactor';
export type FailurePolicy = 'restart' | 'ignore' | 'fatal';

export interface PluginSpec {
  readonly name: string;
  /** Registers handlers and nothing else: no file, no timer, no call. It may run without a start (declaration queries). */
  readonly setup: (engine: Engine) => void | Promise<void>;
  /** `reactor` only for built-in plugins of the route path. Default main. */
  readonly placement?: Placement | undefined;
  /** Address families, canonical names. */
  readonly families?: readonly string[] | undefined;
  /** Config roots the plugin wants to receive (`wants-config`). */
  readonly roots?: readonly string[] | undefined;
  /** Config roots whose presence loads a built-in plugin by itself. */
  readonly autoload?: readonly string[] | undefined;
  readonly dependencies?: readonly string[] | undefined;
  readonly failurePolicy?: FailurePolicy | undefined;
  /** What else stage 1 declares. Commands of `engine.command` need not stand here. */
  readonly declaration?: Registration | undefined;
}

export interface RunContext {
  /** The pipe of the five stages. */
  readonly conn: Duplex;
  /** What to go on with after stage 5. */
  readonly bridge?: Bridge | undefined;
  /** Aborting it ends the plugin. */
  readonly signal?: AbortSignal | undefined;
  /** The configured name, when it is not the plugin's own. */
  readonly name?: string | undefined;
  readonly log?: PluginLog | undefined;
  readonly trace?: ((direction: 'in' | 'out', line: string) => void) | undefined;
}

export interface PluginDefinition {
  readonly name: string;
  readonly placement: Placement;
  readonly roots: readonly string[];
  readonly dependencies: readonly string[];
  readonly autoload: readonly string[];
  readonly failurePolicy: FailurePolicy;
  /** Stage 1 as far as it is known without calling `setup`. */
  readonly declaration: Registration;
  /** Stage 1 in full: calls `setup`, whose calls to the engine are refused. */
  describe(): Promise<Registration>;
  /** Resolves when the plugin has ended; rejects when it could not start. */
  run(context: RunContext): Promise<void>;
  /** Runs it over the connection the environment describes. */
  runExternal(): Promise<void>;
}

export function definePlugin(spec: PluginSpec): PluginDefinition {
  const declaration = declarationOf(spec);
  const prepare = async (plugin: Plugin, context: Omit<RunContext, 'conn'>, inProcess: boolean): Promise<Registration> => {
    const log = context.log ?? stderrLog(plugin.name);
    const engine = new Engine(plugin, {
      log,
      routes: context.bridge?.routes,
      inProcess,
      inReactor: spec.placement === 'reactor',
    });
    await spec.setup(engine);
    const declared = engine.completed(declaration);
    engine.wire(declared);
    return declared;
  };
  return {
    name: spec.name,
    placement: spec.placement ?? 'main',
    roots: spec.roots ?? [],
    dependencies: spec.dependencies ?? [],
    autoload: spec.autoload ?? [],
    failurePolicy: declaration['failure-policy'] ?? 'ignore',
    declaration,
    async describe() {
      const [conn, far] = pipePair();
      const plugin = Plugin.withConn(spec.name, conn);
      try {
        return await prepare(plugin, {}, true);
      } finally {
        await plugin.close();
        conn.destroy();
        far.destroy();
      }
    },
    async run(context) {
      const plugin = Plugin.withConn(context.name ?? spec.name, context.conn, { bridge: context.bridge, trace: context.trace });
      const registration = await prepare(plugin, context, context.bridge !== undefined);
      await plugin.run(registration, context.signal);
    },
    async runExternal() {
      const plugin = Plugin.fromEnv(spec.name);
      await plugin.run(await prepare(plugin, {}, false));
    },
  };
}

/**
 * The main of an external plugin: answers a declaration query or runs until the engine is done with it, then ends the process
 * with the exit code, whatever timers or sockets the author left open.
 */
export async function runExternal(definition: PluginDefinition, host: QueryHost = {}): Promise<never> {
  const environment = host.environment ?? process.env;
  const query = readVariable(environment, 'ZE_PLUGIN_MODE') === 'declare';
  let declaration = definition.declaration;
  try {
    if (query) declaration = await definition.describe();
  } catch (error) {
    process.stderr.write(`error: declaration query: ${messageOf(error)}\n`);
    process.exit(1);
  }
  const code = await runOrDeclare(
    declaration,
    async () => {
      await definition.runExternal();
      return 0;
    },
    host,
  );
  process.exit(code);
}

function declarationOf(spec: PluginSpec): Registration {
  const families = (spec.families ?? []).map((name) => ({ name, mode: 'both' as const }));
  return {
    ...spec.declaration,
    ...listed('families', spec.declaration?.families, families),
    ...listed('dependencies', spec.declaration?.dependencies, spec.dependencies),
    ...listed('wants-config', spec.declaration?.['wants-config'], spec.roots),
    ...(spec.failurePolicy === undefined ? {} : { 'failure-policy': spec.failurePolicy }),
  };
}

/** Both lists joined under the key, or nothing when both are empty. */
function listed<T>(key: string, first: readonly T[] = [], second: readonly T[] = []): Record<string, readonly T[]> {
  const all = [...first, ...second];
  return all.length === 0 ? {} : { [key]: all };
}
