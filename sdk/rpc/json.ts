/** JSON that loses no digit: integers past 2^53 are read as bigint and written back as they were. */

/** Stands in front of the digits of a bigint between two passes. A text of the peer's that begins with it is escaped first. */
const MARK = '\u0000bigint:';

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
  const seen = { bigint: false };
  const marked = text.replace(STRING_OR_LONG_INTEGER, (token) => {
    if (token.startsWith('"')) return token.startsWith('"\\u0000') ? `"${MARK_ESCAPED}s${token.slice(1)}` : token;
    if (token.length < 16 || /[.eE]/.test(token) || Number.isSafeInteger(Number(token))) return token;
    seen.bigint = true;
    return `"${MARK_ESCAPED}${token}"`;
  });
  if (!seen.bigint) return JSON.parse(text);
  return JSON.parse(marked, (_key, value: unknown) => {
    if (typeof value !== 'string' || !value.startsWith(MARK)) return value;
    const rest = value.slice(MARK.length);
    return rest.startsWith('s') ? rest.slice(1) : BigInt(rest);
  });
}

const MARK_ESCAPED = '\\u0000bigint:';

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
  for (let mark = MARK; ; mark = `\u0000${mark}`) {
    const seen = { bigint: false, mark: false };
    const text = JSON.stringify(value, (_key, member: unknown) => {
      if (typeof member === 'string' && member.startsWith(mark)) seen.mark = true;
      if (typeof member !== 'bigint') return member;
      seen.bigint = true;
      return `${mark}${member}`;
    }) as string | undefined;
    if (!seen.bigint || text === undefined) return text;
    if (!seen.mark)
      return text.replaceAll(new RegExp(`"(?:\\\\u0000){${mark.length - MARK.length + 1}}bigint:(-?\\d+)"`, 'g'), '$1');
  }
}
