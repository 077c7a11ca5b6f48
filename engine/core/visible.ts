/**
 * Text that somebody else chose (a neighbour's hostname, a shutdown message, a plugin's row) is data: before it reaches a
 * terminal or a log, every character that could steer one is written as an escape. So are the ones that reorder or split lines.
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

/** Lines of text (a message of several), each made visible. */
export function visibleLines(text: string): string {
  return text
    .split('\n')
    .map((line) => visible(line))
    .join('\n');
}

/** For log lines: nothing but the characters that steer is changed, all of them to `\\uXXXX`. */
export function unicodeEscaped(text: string): string {
  return text.replace(STEERING, unicodeEscape);
}

function hexEscape(char: string): string {
  const code = char.charCodeAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : unicodeEscape(char);
}

function unicodeEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
