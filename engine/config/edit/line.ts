// What was typed, taken apart: the verb, the rest as it stands, and the pipes behind it. Words keep their columns, so that a fault
// points at the letter.
/** Longest line, in UTF-16 units. */
export const MAXIMUM_LINE = 65_536;

export interface Word {
  readonly text: string;
  /** From 1. */
  readonly column: number;
  /** One past its last letter. */
  readonly end: number;
  readonly quoted: boolean;
}

export interface EditLine {
  readonly verb: string;
  /** The words behind the verb, up to the first pipe. */
  readonly words: readonly Word[];
  /** What stands behind the verb, as typed; its first letter is in column `restColumn`. */
  readonly rest: string;
  readonly restColumn: number;
  /** Each pipe's words. */
  readonly pipes: readonly (readonly string[])[];
}

export type LineResult =
  | { readonly ok: true; readonly line: EditLine }
  | { readonly ok: false; readonly column: number; readonly message: string };

export function readEditLine(text: string): LineResult {
  if (text.length > MAXIMUM_LINE) return fault(MAXIMUM_LINE + 1, `the line has ${text.length} characters (max ${MAXIMUM_LINE})`);
  const control = text.search(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028\u2029]/);
  if (control >= 0) {
    const code = text.charCodeAt(control).toString(16).padStart(2, '0');
    return fault(control + 1, `control character 0x${code}; write a line end inside a value as "\\n"`);
  }
  const read = wordsOf(text);
  if ('message' in read) return fault(read.column, read.message);
  const parts: Word[][] = [[]];
  let bar = text.length;
  for (const word of read.words) {
    if (word.text === '|' && !word.quoted) {
      if (parts.length === 1) bar = word.column - 1;
      parts.push([]);
    } else parts.at(-1)!.push(word);
  }
  const [[verb, ...words] = [], ...pipes] = parts;
  const empty = pipes.findIndex((pipe) => pipe.length === 0);
  if (verb === undefined && pipes.length > 0) return fault(1, 'a command is needed before the "|"');
  if (empty >= 0)
    return fault(text.length + 1, 'a word is needed behind the "|": match TEXT, count, compare, display set, no-more');
  const start = words[0]?.column ?? (verb?.end ?? 1) + 1;
  const rest = text.slice(start - 1, bar);
  return {
    ok: true,
    line: { verb: verb?.text ?? '', words, rest, restColumn: start, pipes: pipes.map((pipe) => pipe.map((word) => word.text)) },
  };
}

function fault(column: number, message: string): LineResult {
  return { ok: false, column, message };
}

/** Words by blanks; a quote goes to the next of its kind, a backslash takes what follows. Brackets and braces stay in their words. */
function wordsOf(text: string): { readonly words: readonly Word[] } | { readonly column: number; readonly message: string } {
  const words: Word[] = [];
  let at = 0;
  while (at < text.length) {
    if (text[at] === ' ' || text[at] === '\t') {
      at++;
      continue;
    }
    const start = at;
    let value = '';
    let quoted = false;
    while (at < text.length && text[at] !== ' ' && text[at] !== '\t') {
      const c = text[at]!;
      if (c !== '"' && c !== "'") {
        value += c;
        at++;
        continue;
      }
      quoted = true;
      const open = at++;
      while (at < text.length && text[at] !== c) {
        if (text[at] === '\\') {
          const next = text[++at] ?? '';
          value += next === 'n' ? '\n' : next === 't' ? '\t' : next;
        } else value += text[at] ?? '';
        at++;
      }
      if (at >= text.length) return { column: open + 1, message: 'unterminated string' };
      at++;
    }
    words.push({ text: value, column: start + 1, end: at + 1, quoted });
  }
  return { words };
}
