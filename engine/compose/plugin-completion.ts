// How a plugin is asked what may stand next (engine/command/README.md): `complete NAME` as a command of its own, which a plugin that knows
// nothing of it refuses without having done anything.
import type { Candidate } from '../command/context.ts';
import type { PluginHost } from '../host/host.ts';

const MAXIMUM_CANDIDATES = 512;
const MAXIMUM_HELP = 256;

/** `words` end with the one that is being typed, '' for a new one. Rejects when the plugin fails or the signal aborts. */
export async function pluginCandidates(
  host: Pick<PluginHost, 'execute'>,
  plugin: string,
  command: string,
  words: readonly string[],
  signal: AbortSignal,
): Promise<readonly Candidate[]> {
  const found: Candidate[] = [];
  for await (const row of host.execute(plugin, { serial: '', command: `complete ${command}`, args: words, peer: '*' }, signal)) {
    const candidate = candidateOf(row);
    if (candidate !== undefined) found.push(candidate);
    if (found.length >= MAXIMUM_CANDIDATES) break;
  }
  return found;
}

/** A word, or `{"word", "help"}`. */
function candidateOf(row: unknown): Candidate | undefined {
  if (typeof row === 'string') return { word: row, help: '' };
  if (typeof row !== 'object' || row === null) return undefined;
  const { word, help } = row as Readonly<Record<string, unknown>>;
  if (typeof word !== 'string') return undefined;
  return { word, help: typeof help === 'string' ? help.slice(0, MAXIMUM_HELP) : '' };
}
