/** JSON that loses no digit: integers past 2^53 are read as bigint and written back as they were. */

/** Stands in front of the digits of a bigint between two passes, behind as many U+0000 as make it different from every text of the value. */
const MARK = 'bigint:';

const STRING_OR_LONG_INTEGER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/**
 * Levels of objects and lists in one value of a peer. JSON.parse reads any depth, but nothing that walks a value afterwards is safe
 * from running out of stack, and the readers of other languages give up near a thousand.
 */
export const MAX_JSON_DEPTH = 512;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Throws SyntaxError, as JSON.parse does for what it cannot read, when the text is nested deeper than that. Any text may come. */
export function checkDepth(text: string | Uint8Array): void {
  // What is too deep holds at least an opening and a closing letter for each level.
  if (text.length <= 2 * MAX_JSON_DEPTH) return;
  const isText = typeof text === 'string';
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const code = isText ? text.charCodeAt(i) : text[i]!;
    if (quoted) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) quoted = false;
    } else if (code === QUOTE) quoted = true;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > MAX_JSON_DEPTH) throw new SyntaxError(`JSON nested deeper than ${MAX_JSON_DEPTH} levels`);
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
}

/** JSON.parse for what comes from outside: no deeper than `MAX_JSON_DEPTH`. */
export function parseShallow(text: string): unknown {
  checkDepth(text);
  return JSON.parse(text);
}

/** The same; an integer that a number cannot hold comes out as bigint. */
export function parseJson(text: string): unknown {
  checkDepth(text);
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  JSON.parse(text); // what is no JSON before the digits are quoted must not become JSON by it
  // U+0000 is written in one way alone: a mark of more of them than follow each other anywhere begins no key and no text of the peer's.
  const nuls = 1 + longestRun(text);
  const mark = '\u0000'.repeat(nuls) + MARK;
  const seen = { bigint: false };
  const marked = text.replace(STRING_OR_LONG_INTEGER, (token) => {
    if (token.startsWith('"') || token.length < 16 || /[.eE]/.test(token) || Number.isSafeInteger(Number(token))) return token;
    seen.bigint = true;
    return `"${NUL_ESCAPED.repeat(nuls)}${MARK}${token}"`;
  });
  if (!seen.bigint) return JSON.parse(text);
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

const NUL_ESCAPED = '\\u0000';

/** How many escaped U+0000 follow each other at most. */
function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/(?:\\u0000)+/g)) longest = Math.max(longest, run.length / NUL_ESCAPED.length);
  return longest;
}

/** Like JSON.stringify; a bigint is written as a JSON number. `undefined` for what JSON cannot say. */
export function stringifyJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // No stack is deep enough for it.
    if (error instanceof RangeError) throw new RangeError('a value is nested too deeply for JSON');
    // A bigint throws; so does what the second pass will throw again.
    if (!(error instanceof TypeError)) throw error;
  }
  for (let nuls = 1; ; nuls++) {
    const mark = '\u0000'.repeat(nuls) + MARK;
    const seen = { bigint: false, mark: false };
    const text = JSON.stringify(value, (key, member: unknown) => {
      if (key.includes(mark) || (typeof member === 'string' && member.includes(mark))) seen.mark = true;
      if (typeof member !== 'bigint') return member;
      seen.bigint = true;
      return `${mark}${member}`;
    }) as string | undefined;
    if (!seen.bigint || text === undefined) return text;
    if (!seen.mark) return text.replaceAll(new RegExp(`"(?:\\\\u0000){${nuls}}${MARK}(-?\\d+)"`, 'g'), '$1');
  }
}
