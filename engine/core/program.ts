/**
 * Where the program's own files are. The built program is bundled (`bundle` in package.json), so a module cannot tell from its own place where
 * another one went: this one is an entry of the bundle and lies two folders below the root of the build, as it does below the root of the source.
 *
 * Bundled, because finding, reading and linking 600 modules was a third of the start. What a thread, a plugin, a test or a user of the package
 * imports by name is an entry; all entries share chunks, so that a class is the same class wherever it is imported from.
 */
import { fileURLToPath } from 'node:url';

/** `.ts` when the source itself runs, `.js` when it was built. */
export const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

const ENGINE = new URL('../', import.meta.url);

/** A module below `engine/` by its path without the extension: `host/bridge/thread-main`. */
export function engineModule(path: string): URL {
  return new URL(`${path}${EXTENSION}`, ENGINE);
}

/** The folder of all built-in plugins. */
export const PLUGINS = new URL('../plugins/', ENGINE);

/** The folder of the program `main`: external plugins that ship with it are found from here. */
export const BIN_FOLDER = fileURLToPath(ENGINE).replace(/\/$/, '');
