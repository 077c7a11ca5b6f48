// What the command line needs of plugins when there is no daemon: their part of a configuration, and what they declare.
import { dirname } from 'node:path';
import type { PluginReader } from '../cli/io.ts';
import { systemClock } from '../core/clock.ts';
import type { Environment } from '../core/control-socket.ts';
import { BIN_FOLDER } from '../core/program.ts';
import { declarationRow } from '../host/startup/query.ts';
import { loadBuiltins } from './builtins.ts';
import { type Asking, declarationsOf, loadWithPlugins } from './declarations.ts';

export async function pluginReader(environment: Environment, signal: AbortSignal): Promise<PluginReader> {
  const builtins = await loadBuiltins();
  const asking = (path: string): Asking => ({
    builtins,
    folder: path === '-' ? process.cwd() : dirname(path),
    binFolder: BIN_FOLDER,
    environment,
    clock: systemClock,
    signal,
  });
  return {
    usable: builtins.map((builtin) => builtin.name),
    prepare: async (text, options, { declared = [], silent } = {}) => {
      const known: Asking['known'] = ({ name, run, use }) =>
        declared.find((one) => one.plugin === name && one.run === run && one.use === use)?.declaration;
      const loaded = await loadWithPlugins(text, options, { ...asking(options.path), known, silent });
      return { ...loaded.options, read: { text, judged: options.judged === true, result: loaded.result } };
    },
    declarations: async (text, options) => (await declarationsOf(text, options, asking(options.path))).map(declarationRow),
  };
}
