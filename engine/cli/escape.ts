/**
 * Text that somebody else chose (a neighbour's hostname, a shutdown message, a plugin's row) is data: before it reaches a
 * terminal, every character that could steer one is written as an escape. So are the ones that reorder or split lines.
 */

const STEERING = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
// A lone surrogate is half a character: terminals and files show it as they like.
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** For table cells, text and messages: one line, nothing a terminal obeys. */
export function visible(text: string): string {
  return text.replace(STEERING, (char) => SHORT[char] ?? hexEscape(char)).replace(LONE, hexEscape);
}

/** JSON text with the same characters written as `\uXXXX`, on the lines it has: the value read back is the same. */
export function visibleJson(json: string): string {
  // A raw control character in valid JSON is white space between tokens.
  return json.replace(STEERING, (char) => (char === '\n' ? char : char === '\t' || char === '\r' ? ' ' : unicodeEscape(char)));
}

/** The same on one line. */
export function visibleJsonLine(json: string): string {
  return visibleJson(json).replaceAll('\n', ' ');
}

function hexEscape(char: string): string {
  const code = char.charCodeAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : unicodeEscape(char);
}

function unicodeEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Columns a text takes on a terminal: wide East Asian letters and emoji count two, combining marks none. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (/\p{Mark}/u.test(char)) continue;
    width += isWide(code) ? 2 : 1;
  }
  return width;
}

function isWide(code: number): boolean {
  return (
    code >= 0x1100 &&
    (code <= 0x115f ||
      (code >= 0x2e80 && code <= 0xa4cf) ||
      (code >= 0xac00 && code <= 0xd7a3) ||
      (code >= 0xf900 && code <= 0xfaff) ||
      (code >= 0xfe30 && code <= 0xfe6f) ||
      (code >= 0xff00 && code <= 0xff60) ||
      (code >= 0xffe0 && code <= 0xffe6) ||
      (code >= 0x1f300 && code <= 0x1faff) ||
      (code >= 0x20000 && code <= 0x3fffd))
  );
}
