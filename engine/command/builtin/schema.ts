/** What the configuration's schema is made of, and what plugins declare: `show schema …`, `show plugin declarations`. */
import { CONFIG_MODULES } from '../../../yang/generated/modules.ts';
import { moduleFacts } from '../../config/schema/plugin-schemas.ts';
import { nearest } from '../../core/nearest.ts';
import type { Call, Handler } from '../dispatch.ts';
import { CommandError, didYouMean } from '../fault.ts';

export const schemaCommands: Readonly<Record<string, Handler>> = {
  'plugin-declarations': declarations,
  'schema-list': list,
  'schema-module': module,
};

async function declarations({ args, context }: Call): Promise<unknown> {
  // Whoever may look must not make the daemon run programs that a file of theirs names.
  if (args.text('config') !== '')
    throw new CommandError(
      'failed',
      'the daemon asks about the configuration it runs; for a file, in a shell: zest show plugin declarations config FILE',
    );
  return { declarations: await context.plugins.declarations() };
}

function list({ context }: Call): unknown {
  const shipped = Object.entries(CONFIG_MODULES).map(([name, text]) => ({ ...moduleFacts(text, name), plugins: [] as string[] }));
  const joined = context.plugins.modules().map(({ module: name, namespace, description, plugins }) => ({
    module: name,
    namespace,
    description,
    plugins,
  }));
  return { modules: [...shipped, ...joined] };
}

function module({ args, context }: Call): unknown {
  const name = args.text('name');
  const joined = context.plugins.modules();
  const text = Object.hasOwn(CONFIG_MODULES, name) ? CONFIG_MODULES[name] : joined.find((one) => one.module === name)?.text;
  if (text !== undefined) return { module: name, text };
  const names = [...Object.keys(CONFIG_MODULES), ...joined.map((one) => one.module)];
  throw new CommandError('argument', `no module is called "${name}"${didYouMean(nearest(name, names))}`);
}
