/**
 * Configuration with what plugins bring to it. A text is read under the shipped schema first; when it holds names that nobody knows,
 * its plugins are asked what they declare (`host/query.ts`), and it is read again under the schema and the families they bring.
 * `loadConfig` itself stays pure: all asking is done here.
 */
import { standardFamily, familyOf, NO_FAMILY } from '../../sdk/wire/family.ts';
import type { DeclareRegistrationInput, FilterDecl } from '../../yang/generated/methods.ts';
import { configSchema, loadConfig, type LoadOptions, type LoadResult, type PluginNote } from '../config/load.ts';
import type { PluginSettings } from '../config/settings/plugin-settings.ts';
import { PluginSchemas } from '../config/schema/plugin-schemas.ts';
import { Settings } from '../config/settings/settings.ts';
import type { BuiltinPlugin } from '../host/startup/plan.ts';
import type { Identity } from '../host/external/query-child.ts';
import { type DeclarationAnswer, queryDeclarations, type QueryOptions } from '../host/startup/query.ts';

export interface Asking extends Omit<QueryOptions, 'timeoutMs'> {
  /** What a running plugin has declared in stage 1: it is not asked again. */
  readonly known?: ((plugin: PluginSettings) => Brought['declaration'] | undefined) | undefined;
  /** Nobody is asked. */
  readonly silent?: boolean | undefined;
  /** As whom programs are asked, where the text names a user the daemon becomes (`daemon/user`). */
  readonly asUser?: ((user: string) => Identity | undefined) | undefined;
}

export interface Loaded {
  readonly result: LoadResult;
  /** Under which the text was read: with the plugins' schema and families. */
  readonly options: LoadOptions;
}

/** Reads a text with what its plugins bring. Starts programs only when the text holds names that nobody knows. */
export async function loadWithPlugins(text: string, options: LoadOptions, asking: Asking): Promise<Loaded> {
  const shipped = withBrought(options, ofBuiltins(asking.builtins), []);
  const first = loadConfig(text, shipped);
  const plugins = first.ok ? first.config.plugins : first.plugins;
  const known = plugins.flatMap((plugin) => {
    const declaration = asking.known?.(plugin);
    return declaration === undefined ? [] : [{ plugin: plugin.name, declaration }];
  });
  if (first.ok && !known.some(({ declaration }) => brings(declaration))) return { result: first, options: shipped };
  const strangers = plugins.filter((plugin) => !known.some((one) => one.plugin === plugin.name));
  const unknown = !first.ok && first.unknownNames && asking.silent !== true;
  const identity = first.ok ? undefined : asking.asUser?.(first.environment.user);
  const answers = unknown && strangers.length > 0 ? await askAbout(strangers, options, { ...asking, identity }) : [];
  if (known.length + answers.length === 0) return { result: first, options: shipped };
  const brought = [...ofBuiltins(asking.builtins), ...known];
  const notes: PluginNote[] = [];
  const filters = new Map<string, readonly FilterDecl[]>();
  for (const answer of answers) {
    if (answer.declaration !== undefined && answer.reason === '') {
      brought.push({ ...answer, declaration: answer.declaration });
      filters.set(answer.plugin, answer.declaration.filters ?? []);
    } else notes.push({ plugin: answer.plugin, message: silence(answer), idle: answer.declaration === undefined });
  }
  const whole = { ...withBrought(options, brought, notes), filters };
  return { result: loadConfig(text, whole), options: whole };
}

/** What each plugin of a text declares, whatever else is wrong with the text. */
export async function declarationsOf(text: string, options: LoadOptions, asking: Asking): Promise<readonly DeclarationAnswer[]> {
  const read = loadConfig(text, options);
  return await askAbout(read.ok ? read.config.plugins : read.plugins, options, asking);
}

export function askAbout(
  plugins: readonly PluginSettings[],
  { env = {}, flags = {} }: Pick<LoadOptions, 'env' | 'flags'>,
  asking: Asking,
): Promise<readonly DeclarationAnswer[]> {
  const timeoutMs = new Settings(env, flags, new Map()).milliseconds('plugin.query.timeout');
  return queryDeclarations(plugins, { ...asking, timeoutMs });
}

interface Brought {
  readonly plugin: string;
  readonly declaration: Pick<DeclareRegistrationInput, 'schema' | 'families'>;
}

function ofBuiltins(builtins: readonly BuiltinPlugin[]): readonly Brought[] {
  return builtins.flatMap(({ name, schema }) => (schema === undefined ? [] : [{ plugin: name, declaration: { schema } }]));
}

/** Does it add anything that a text can name? */
function brings({ schema, families = [] }: Brought['declaration']): boolean {
  return (schema?.['yang-text'] ?? '') !== '' || families.some((family) => standardFamily(family.name) === NO_FAMILY);
}

function withBrought(options: LoadOptions, brought: readonly Brought[], said: readonly PluginNote[]): LoadOptions {
  if (brought.length === 0 && said.length === 0) return options;
  const schemas = new PluginSchemas(options.schema ?? configSchema());
  const notes = [...said];
  // A module may import that of another plugin, wherever that stands: what cannot be worked in yet is tried again.
  let left = brought.filter(({ declaration }) => declaration.schema !== undefined);
  for (let before = left.length + 1; left.length > 0 && left.length < before; ) {
    before = left.length;
    left = left.filter(({ plugin, declaration }) => schemas.claim(plugin, declaration.schema!) !== undefined);
  }
  for (const { plugin, declaration } of left) {
    notes.push({ plugin, message: `would be refused: ${schemas.claim(plugin, declaration.schema!) ?? ''}`, idle: false });
  }
  return { ...options, schema: schemas.tree, families: familiesOf(brought), notes };
}

/** Families whose names say nothing of their numbers. */
function familiesOf(brought: readonly Brought[]): ReadonlyMap<string, number> {
  const families = new Map<string, number>();
  for (const { declaration } of brought) {
    for (const { name, afi = 0, safi = 0 } of declaration.families ?? []) {
      const known = standardFamily(name) !== NO_FAMILY || families.has(name.toLowerCase());
      if (!known && isByte(safi) && Number.isInteger(afi) && afi > 0 && afi <= 0xffff && /^[^/\s]+\/[^/\s]+$/.test(name))
        families.set(name.toLowerCase(), familyOf(afi, safi));
    }
  }
  return families;
}

function isByte(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 0xff;
}

function silence({ outcome, reason, declaration }: DeclarationAnswer): string {
  if (declaration !== undefined) return `would be refused: ${reason}`;
  return (
    `did not say what it adds to the configuration (${outcome}: ${reason}); ` +
    'a plugin that brings configuration or families answers ZE_PLUGIN_MODE=declare; once it runs, a reload knows what it registered'
  );
}
