// `| match TEXT`, `| count`, `| compare`, `| display set`, `| no-more` behind a command of the editor.
import { nearest } from '../../core/nearest.ts';
import { clamp } from '../fault.ts';
import type { EditLine } from './line.ts';

export const EDIT_PIPES: readonly (readonly [word: string, help: string])[] = [
  ['compare', 'What has changed'],
  ['display', 'display set: as set lines'],
  ['match', 'Lines that hold a text'],
  ['count', 'The number of lines'],
  ['no-more', 'Without paging'],
];

type Piped = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };

export function applyPipes(
  text: string,
  pipes: readonly (readonly string[])[],
  compare: () => string,
  asSet: (line: EditLine) => string,
  line: EditLine,
): Piped {
  let now = text;
  for (const [word = '', argument] of pipes) {
    if (word === 'compare') now = compare();
    else if (word === 'display' && argument === 'set') now = asSet(line);
    else if (word === 'count') now = `${linesOf(now).length}\n`;
    else if (word === 'match' && argument !== undefined) {
      const wanted = argument.toLowerCase();
      now = linesOf(now)
        .filter((one) => one.toLowerCase().includes(wanted))
        .map((one) => `${one}\n`)
        .join('');
    } else if (word !== 'no-more') {
      if (word === 'match' || word === 'display')
        return { ok: false, message: `| ${word} needs a ${word === 'match' ? 'text' : 'word: set'}` };
      const near = nearest(
        word,
        EDIT_PIPES.map(([name]) => name),
      );
      return {
        ok: false,
        message: `unknown pipe operator: ${clamp(word)}${near === undefined ? '' : ` (did you mean "${near}"?)`}`,
      };
    }
  }
  return { ok: true, text: now };
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}
