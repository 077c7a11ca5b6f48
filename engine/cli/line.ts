/** A command line as the client sees it: what goes to the daemon, and how the answer is to be printed. */
import { isPipe, splitWords, type Word } from '../core/words.ts';

export type Format = 'json' | 'json-compact' | 'yaml' | 'table' | 'text';
export const FORMATS: readonly Format[] = ['json', 'json-compact', 'yaml', 'table', 'text'];

export interface ClientLine {
  /** The line without its format operators. */
  readonly command: string;
  readonly format: Format | undefined;
  readonly noMore: boolean;
  /** The words before the first pipe, in lower case. */
  readonly words: readonly string[];
}

/**
 * Takes the format operators off. What cannot be read, or says two formats, is left as it is: the daemon complains about it
 * with a column.
 */
export function readLine(text: string): ClientLine {
  const split = splitWords(text);
  if (!split.ok) return { command: text, format: undefined, noMore: false, words: [] };
  const parts = cut(split.words);
  const words = (parts[0]?.words ?? []).map((word) => word.text.toLowerCase());
  let format: Format | undefined;
  let noMore = false;
  let formats = 0;
  const kept: string[] = [];
  for (const [i, part] of parts.entries()) {
    const found = i === 0 ? undefined : formatOf(part.words);
    if (found !== undefined) formats++;
    if (found !== undefined && formats === 1) format = found;
    else if (i > 0 && isNoMore(part.words)) noMore = true;
    else kept.push(text.slice(part.from, part.to).trim());
  }
  if (formats > 1) return { command: text, format: undefined, noMore, words };
  return { command: kept.join(' | '), format, noMore, words };
}

function cut(words: readonly Word[]): { words: Word[]; from: number; to: number }[] {
  const first = words[0];
  const parts = [{ words: [] as Word[], from: first === undefined ? 0 : first.column - 1, to: 0 }];
  for (const word of words) {
    const last = parts.at(-1)!;
    if (isPipe(word)) parts.push({ words: [], from: word.end - 1, to: word.end - 1 });
    else {
      last.words.push(word);
      last.to = word.end - 1;
    }
  }
  return parts;
}

function formatOf(words: readonly Word[]): Format | undefined {
  const [operator, style] = words.map((word) => word.text.toLowerCase());
  if (words.length === 1 && (operator === 'json' || operator === 'yaml' || operator === 'table' || operator === 'text'))
    return operator;
  if (words.length === 2 && operator === 'json' && style === 'pretty') return 'json';
  if (words.length === 2 && operator === 'json' && style === 'compact') return 'json-compact';
  return undefined;
}

function isNoMore(words: readonly Word[]): boolean {
  return words.length === 1 && words[0]?.text.toLowerCase() === 'no-more';
}
