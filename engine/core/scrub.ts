/**
 * Keeps the secrets of the configuration out of what is shown: a plugin that is given a key may quote it in an error, and that text goes
 * into logs, reports and answers. Where the schema is known the value is masked by its place (`engine/config`); here by what it is.
 */
const MASK = '********';
/** A shorter one is a common word, and would blot out more than it hides. */
const SHORTEST = 6;

export class Scrubber {
  #pattern: RegExp | undefined;

  /** The secrets from now on, in place of those before. */
  set(secrets: Iterable<string>): void {
    const longestFirst = [...new Set(secrets)].filter(({ length }) => length >= SHORTEST).sort((a, b) => b.length - a.length);
    this.#pattern = longestFirst.length === 0 ? undefined : new RegExp(longestFirst.map(anyDepth).join('|'), 'g');
  }

  readonly text = (text: string): string => (this.#pattern === undefined ? text : text.replace(this.#pattern, MASK));

  /** Of plain data. */
  readonly value = <T>(value: T): T => {
    if (this.#pattern === undefined) return value;
    const json = JSON.stringify(value) as string | undefined;
    return json === undefined ? value : (JSON.parse(this.text(json)) as T);
  };
}

/** The text as it stands, in JSON, in JSON within JSON, and so on: what is escaped there has the more backslashes the deeper it lies. */
function anyDepth(secret: string): string {
  const ESCAPED: Readonly<Record<string, string>> = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' };
  return Array.from(secret, (character) => {
    if (character === '\\') return '\\\\+';
    if (character === '"') return '\\\\*"';
    const letter = ESCAPED[character];
    if (letter !== undefined) return `(?:${character}|\\\\+${letter})`;
    return character.replace(/[\^$.*+?()[\]{}|/]/, '\\$&');
  }).join('');
}
