/** `zest plugin init DIR`: a folder with a plugin that works, its test, a configuration and a README. */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { filesOf, type Language, type Place, type PluginPlan } from './files.ts';

export interface InitOptions {
  readonly folder: string;
  readonly language: Language;
  readonly place: Place;
  readonly version: string;
}

export type Initialised =
  | { readonly ok: true; readonly name: string; readonly folder: string; readonly files: readonly string[] }
  | { readonly ok: false; readonly fault: string };

/** A plugin's name, which is also the first word of its commands. */
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

/** Writes the folder. Nothing is written when something is refused. */
export function initPlugin(options: InitOptions): Initialised {
  const folder = resolve(options.folder);
  const name = basename(folder);
  if (!NAME.test(name) || name.length > 64) {
    return refused(`the folder's name becomes the plugin's: lower-case letters, digits and single hyphens, not "${name}"`);
  }
  if (options.language === 'python' && options.place === 'in-process') {
    return refused('only JavaScript runs inside the daemon: a plugin in Python is external');
  }
  const taken = occupied(folder);
  if (taken !== undefined) return refused(taken);
  const plan: PluginPlan = { name, language: options.language, place: options.place, version: options.version };
  const files = filesOf(plan);
  try {
    for (const [path, text] of files) {
      const target = join(folder, path);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, text, { flag: 'wx', mode: path.endsWith('.py') ? 0o755 : 0o644 });
    }
  } catch (error) {
    return refused(`${folder} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
  return { ok: true, name, folder, files: [...files.keys()] };
}

function refused(fault: string): Initialised {
  return { ok: false, fault };
}

function occupied(folder: string): string | undefined {
  try {
    if (!statSync(folder).isDirectory()) return `${folder} is a file`;
    return readdirSync(folder).length === 0 ? undefined : `${folder} is not empty`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? undefined : `${folder} cannot be read: ${(error as Error).message}`;
  }
}
