/**
 * Commands of plugins that are not there now. Who asks for one is told of its plugin, not of a command that is spelled alike.
 */
import { splitWords } from '../core/words.ts';
import type { PluginEntry } from './context.ts';
import type { CommandSpec } from './spec.ts';

export class DepartedCommands {
  /** plugin → names, lower case */
  readonly #plugins = new Map<string, ReadonlySet<string>>();

  note(plugin: string, specs: readonly CommandSpec[]): void {
    const names = specs
      .filter((spec) => spec.owner === plugin)
      .flatMap((spec) => [spec.path, ...spec.deprecatedNames.map((name) => name.toLowerCase())]);
    if (names.length > 0) this.#plugins.set(plugin, new Set(names));
  }

  forget(plugin: string): void {
    this.#plugins.delete(plugin);
  }

  /**
   * Why the text names no command, when that is a plugin that does not run: one whose command it was, or one that never came as
   * far as declaring any and whose name the text begins with. Plugins that the configuration no longer has are forgotten.
   */
  reason(text: string, plugins: readonly PluginEntry[]): string | undefined {
    const split = splitWords(text);
    const words = (split.ok ? split.words : []).map((word) => word.text.toLowerCase());
    const tries = words[0] === 'peer' ? [words, words.slice(2)] : [words];
    const down = plugins.filter((plugin) => plugin.state !== 'running');
    for (const { name, state, 'last-error': why } of down) {
      const names = this.#plugins.get(name);
      const meant = tries.some((line) => line[0] === name.toLowerCase() || (names !== undefined && beginsWith(line, names)));
      if (meant) return `plugin ${name} is ${state}${why === '' ? '' : `: ${why}`}`;
    }
    return undefined;
  }
}

function beginsWith(words: readonly string[], names: ReadonlySet<string>): boolean {
  for (let length = words.length; length > 0; length--) if (names.has(words.slice(0, length).join(' '))) return true;
  return false;
}
