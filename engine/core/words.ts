/**
 * A command line as words. Double quotes group, a backslash takes the next character as it is, `|` at the beginning of a
 * word starts a pipe. Shared by the engine's parser and the terminal client, so that both see the same words.
 *
 * Control characters are refused (a tab is a blank): no newline inside a line may ever start another command.
 */
export interface Word {
  readonly text: string;
  /** Columns in UTF-16 units from 1; `end` is one past the word's last. */
  readonly column: number;
  readonly end: number;
  /** Some part stood in quotes or behind a backslash: such a word is never a keyword or a pipe. */
  readonly quoted: boolean;
}

export interface WordFault {
  readonly message: string;
  readonly column: number;
}

export type Words = { readonly ok: true; readonly words: readonly Word[] } | { readonly ok: false; readonly fault: WordFault };

/** More words than this are refused before anything is built of them. */
export const MAXIMUM_WORDS = 65_536;

const PIPE: Pick<Word, 'text' | 'quoted'> = { text: '|', quoted: false };

export function splitWords(text: string, maximum = MAXIMUM_WORDS): Words {
  const words: Word[] = [];
  let at = 0;
  while (at < text.length) {
    if (isBlank(text.charCodeAt(at))) {
      at++;
      continue;
    }
    if (words.length >= maximum) return fault(`more than ${maximum} words`, at);
    if (text[at] === '|') {
      words.push({ ...PIPE, column: at + 1, end: at + 2 });
      at++;
      continue;
    }
    const start = at;
    let value = '';
    let inQuotes = false;
    let quoted = false;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (!inQuotes && isBlank(code)) break;
      if (isControl(code)) return fault(`control character 0x${code.toString(16).padStart(2, '0')}`, at);
      if (code === 0x5c) {
        if (at + 1 >= text.length) return fault('a backslash at the end escapes nothing', at);
        quoted = true;
        at++;
        const next = text.charCodeAt(at);
        if (isControl(next)) return fault(`control character 0x${next.toString(16).padStart(2, '0')}`, at);
        value += text[at] ?? '';
      } else if (code === 0x22) {
        inQuotes = !inQuotes;
        quoted = true;
      } else value += text[at] ?? '';
    }
    if (inQuotes) return fault('unterminated quote', start);
    words.push({ text: value, column: start + 1, end: at + 1, quoted });
  }
  return { ok: true, words };
}

export function isPipe(word: Word): boolean {
  return word.text === '|' && !word.quoted;
}

/** A word in the form `splitWords` reads back as the same text. */
export function quoteWord(text: string): string {
  return text !== '' && !/[\s"\\|]/.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`;
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function isControl(code: number): boolean {
  return code < 0x20 || code === 0x7f;
}

function fault(message: string, at: number): Words {
  return { ok: false, fault: { message, column: at + 1 } };
}
