// Which of the two formats a text is written in (daemon-config §2). Decided by its first line that is neither empty nor a
// comment: a hierarchical text may hold `set {` further down, and a string may hold anything.

/** `set-metadata`: set lines that carry who wrote them, when, and what stood there before. */
export type ConfigFormat = 'hierarchical' | 'set' | 'set-metadata';

export const SET_VERBS: readonly string[] = ['set', 'delete', 'inactive', 'deactivate', 'activate'];

/** `#user @source %time ^previous set …`: the prefix, up to the verb. At least one field beside the user, else it is a comment. */
const METADATA =
  /^[ \t]*#[^\s#]\S*(?:[ \t]+[@%^](?:"(?:[^"\\\n]|\\.)*"|\S*))+[ \t]+(?=(?:set|delete|inactive|deactivate|activate)[ \t])/gm;
const FIRST = /^(?:[ \t\r\uFEFF]*(?:#[^\n]*)?\n)*[ \t\r\uFEFF]*([^\s{}[\];"'#]*)[ \t]*(\S?)/;
const SET_LINE = /^[ \t]*(?:set|delete|inactive) +[a-z]/m;

/**
 * Empty, or comments only: `set`. `isRoot` tells top-level names; where the first word is neither a verb nor a root, one line that
 * begins with a verb makes the text a set text, so that its first fault is told in the right words.
 */
export function detectFormat(text: string, isRoot: (word: string) => boolean): ConfigFormat {
  const first = FIRST.exec(text);
  const word = first?.[1] ?? '';
  const behind = first?.[2] ?? '';
  if (METADATA_LINE.test(text)) return 'set-metadata';
  if (word === '' && behind === '') return 'set';
  if (SET_VERBS.includes(word) && behind !== '{') return 'set';
  if (isRoot(word) || word === '' || word.startsWith('inactive:')) return 'hierarchical';
  return SET_LINE.test(text) ? 'set' : 'hierarchical';
}

const METADATA_LINE = new RegExp(METADATA.source, 'm');

/** The text with every metadata prefix turned into blanks, so that places stay; and how many there were. */
export function withoutMetadata(text: string): { readonly text: string; readonly lines: number } {
  let lines = 0;
  const blanked = text.replaceAll(METADATA, (prefix) => {
    lines++;
    return ' '.repeat(prefix.length);
  });
  return { text: blanked, lines };
}
