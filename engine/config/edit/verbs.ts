// The editor's commands: names, usage, one line of help. Help and completion come from here.

export interface EditVerb {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly usage: string;
  readonly help: string;
  /** What the words behind it are: a path that may be made, one that is there, or something else. */
  readonly takes: 'new-path' | 'path' | 'block' | 'words' | 'nothing';
  readonly words?: readonly (readonly [word: string, help: string])[];
}

const verb = (
  name: string,
  takes: EditVerb['takes'],
  usage: string,
  help: string,
  more: { readonly aliases?: readonly string[]; readonly words?: EditVerb['words'] } = {},
): EditVerb => ({
  name,
  takes,
  usage: usage === '' ? name : `${name} ${usage}`,
  help,
  aliases: more.aliases ?? [],
  ...(more.words === undefined ? {} : { words: more.words }),
});

export const EDIT_VERBS: readonly EditVerb[] = [
  verb('set', 'new-path', 'PATH VALUE', 'Create or change; [ A B ] sets a whole list, one word adds to it'),
  verb('delete', 'path', 'PATH', 'Take away a leaf, a block, an entry or a member of a list', { aliases: ['del'] }),
  verb('edit', 'block', 'PATH', 'Go to a block; paths are from there on'),
  verb('up', 'nothing', '[N]', 'Go up one level, or N'),
  verb('top', 'nothing', '[COMMAND]', 'Go to the top; with a command, run it there'),
  verb('exit', 'nothing', '', 'Go back to before the last edit; at the top, leave'),
  verb('quit', 'nothing', '', 'Leave the editor'),
  verb('show', 'path', '[PATH] [| compare | display set | match TEXT | count]', 'The candidate, secrets masked'),
  verb('compare', 'words', '[N]', 'What has changed against what is in force, or against revision N'),
  verb('diff', 'words', '[N]', 'As compare'),
  verb('insert', 'new-path', 'PATH VALUE before X | after X | first | last', 'Order members of a list or filter chain'),
  verb('rename', 'path', 'PATH to NAME', 'Another name for an entry'),
  verb('copy', 'path', 'PATH to NAME', 'A second entry like the first'),
  verb('deactivate', 'path', 'PATH', 'Switch off; it stays in the file', { aliases: ['inactive'] }),
  verb('activate', 'path', 'PATH', 'Switch on again'),
  verb('annotate', 'path', 'PATH "TEXT"', 'The comment above a statement; "" takes it away'),
  verb('validate', 'nothing', '', 'As commit check', { aliases: ['check'] }),
  verb('commit', 'words', '[check] [confirmed SECONDS] [comment TEXT]', 'Validate, keep the revision before, put in force', {
    words: [
      ['check', 'Only say whether it would hold'],
      ['confirmed', 'Take it back after so many seconds unless confirmed (1..3600)'],
      ['comment', 'A text for the history'],
    ],
  }),
  verb('confirm', 'nothing', '', 'Let the commit that waits stay'),
  verb('abort', 'nothing', '', 'Take the commit that waits back now'),
  verb('discard', 'nothing', '', 'Drop all changes'),
  verb('rebase', 'nothing', '', 'Put the changes on top of what somebody else has committed meanwhile'),
  verb('history', 'nothing', '', 'Kept revisions, newest first'),
  verb('rollback', 'words', 'N', 'Make revision N the candidate; 0 is what is in force'),
  verb('status', 'nothing', '', 'What is edited, where, changes, commits that wait'),
  verb('help', 'words', '[COMMAND]', 'This list', { aliases: ['?'] }),
];

export function usageOf(name: string): string {
  return EDIT_VERBS.find((one) => one.name === name)?.usage ?? name;
}

export function helpText(word: string | undefined): string {
  const one = EDIT_VERBS.find((verb) => verb.name === word || verb.aliases.includes(word ?? ''));
  if (one !== undefined) return `${one.usage}\n    ${one.help}\n`;
  const width = Math.max(...EDIT_VERBS.map((verb) => verb.name.length));
  return EDIT_VERBS.map((verb) => `  ${verb.name.padEnd(width)}  ${verb.help}\n`).join('');
}
