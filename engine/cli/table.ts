/**
 * Answers as tables (daemon-cli §6): a map with one key is unwrapped, a map of uniform maps becomes rows with the key in front,
 * a list of objects one row each, a single record two columns with its lists below it, nothing `(empty)`.
 *
 * Columns stand in the order of the keys when every row has the same keys in the same order (they are the producer's
 * columns then), else sorted.
 */
import { displayWidth, visible } from './escape.ts';

export interface TableStyle {
  /** Box drawing, or aligned columns without boxes. */
  readonly box: boolean;
  /** Columns of the terminal; 0 = no limit. */
  readonly width: number;
  /** Head in bold. */
  readonly colour: boolean;
}

type Row = Readonly<Record<string, unknown>>;

export const EMPTY = '(empty)';
/** How many rows are looked at before the widths of a streamed table are fixed. */
const SCREENFUL = 64;
const MINIMUM_CELL = 6;

/** A whole value as text, ending in a newline. */
export function renderTable(value: unknown, style: TableStyle): string {
  const plain = unwrap(value);
  if (isEmpty(plain)) return `${EMPTY}\n`;
  const rows = rowsOf(plain);
  if (rows !== undefined) return new TableStream(style).whole(rows);
  if (isMap(plain)) return record(plain, style);
  if (Array.isArray(plain)) return plain.map((item) => `${cell(item)}\n`).join('');
  return typeof plain === 'string'
    ? plain
        .split('\n')
        .map((line) => `${visible(line)}\n`)
        .join('')
    : `${cell(plain)}\n`;
}

/** A table whose rows arrive one by one. Every method answers the text to print now. */
export class TableStream {
  readonly #style: TableStyle;
  #columns: readonly string[];
  #widths: readonly number[] = [];
  #held: Row[] = [];
  #open = false;
  #vertical = false;
  #count = 0;

  /** `columns` when the answer declares them, in reading order. */
  constructor(style: TableStyle, columns: readonly string[] = []) {
    this.#style = style;
    this.#columns = columns;
  }

  whole(rows: readonly Row[]): string {
    this.#held = [...rows];
    return this.end();
  }

  row(value: unknown): string {
    this.#count++;
    const row = isMap(value) ? value : { value };
    if (this.#open) return this.#line(row);
    this.#held.push(row);
    return this.#held.length >= SCREENFUL ? this.#begin() : '';
  }

  /** What is held is printed although it is less than a screenful: a live view must not wait. */
  flush(): string {
    return this.#open || this.#held.length === 0 ? '' : this.#begin();
  }

  end(): string {
    const held = this.flush();
    if (!this.#open) return `${EMPTY}\n`;
    return this.#style.box && !this.#vertical ? `${held}${this.#rule('└', '┴', '┘')}` : held;
  }

  #begin(): string {
    if (this.#columns.length === 0) this.#columns = columnsOf(this.#held);
    const natural = this.#columns.map((name) =>
      Math.max(displayWidth(visible(name)), ...this.#held.map((row) => displayWidth(cell(row[name])))),
    );
    const widths = fit(natural, this.#style);
    this.#vertical = widths === undefined;
    this.#widths = widths ?? natural;
    this.#open = true;
    this.#count = 0;
    let out = this.#vertical ? '' : this.#head();
    for (const row of this.#held) {
      this.#count++;
      out += this.#line(row);
    }
    this.#held = [];
    return out;
  }

  #head(): string {
    const names = this.#columns.map((name, i) => {
      const text = pad(visible(name), this.#widths[i] ?? 0);
      return this.#style.colour ? `\u001b[1m${text}\u001b[0m` : text;
    });
    if (!this.#style.box) return `${names.join('  ').trimEnd()}\n`;
    return `${this.#rule('┌', '┬', '┐')}│ ${names.join(' │ ')} │\n${this.#rule('├', '┼', '┤')}`;
  }

  #line(row: Row): string {
    if (this.#vertical) return this.#block(row);
    const cells = this.#columns.map((name, i) =>
      pad(clip(cell(row[name]), this.#widths[i] ?? 0), this.#widths[i] ?? 0, typeof row[name] === 'number'),
    );
    return this.#style.box ? `│ ${cells.join(' │ ')} │\n` : `${cells.join('  ').trimEnd()}\n`;
  }

  /** Too many columns for the terminal: each row as a record of its own. */
  #block(row: Row): string {
    const blank = this.#count > 1 ? '\n' : '';
    const present = this.#columns.filter((name) => row[name] !== undefined);
    return (
      blank +
      pairs(
        present.map((name) => [name, row[name]]),
        { ...this.#style, box: false },
      )
    );
  }

  #rule(left: string, middle: string, right: string): string {
    return `${left}${this.#widths.map((width) => '─'.repeat(width + 2)).join(middle)}${right}\n`;
  }
}

/** A record: its plain members as two columns, then each collection under its name. */
function record(value: Row, style: TableStyle): string {
  const nested = Object.entries(value).filter(([, member]) => rowsOf(member) !== undefined);
  const names = new Set(nested.map(([name]) => name));
  const plain = Object.entries(value).filter(([name]) => !names.has(name));
  let out = plain.length > 0 ? pairs(flat(plain), style) : '';
  for (const [name, member] of nested) {
    const title = style.colour ? `\u001b[1m${visible(name)}\u001b[0m` : visible(name);
    out += `${out === '' ? '' : '\n'}${title}\n${new TableStream(style).whole(rowsOf(member) ?? [])}`;
  }
  return out;
}

/** `timer {hold 9}` reads as `timer hold 9`: plain members of a member stand beside it. */
function flat(members: readonly (readonly [string, unknown])[]): (readonly [string, unknown])[] {
  return members.flatMap(([name, member]) =>
    isMap(member) && Object.keys(member).length > 0
      ? flat(Object.entries(member)).map(([inner, value]) => [`${name} ${inner}`, value] as const)
      : [[name, member] as const],
  );
}

function pairs(members: readonly (readonly [string, unknown])[], style: TableStyle): string {
  const nameWidth = Math.max(0, ...members.map(([name]) => displayWidth(visible(name))));
  if (!style.box)
    return members.map(([name, value]) => `${pad(visible(name), nameWidth)}  ${cell(value)}`.trimEnd() + '\n').join('');
  const room = style.width > 0 ? Math.max(MINIMUM_CELL, style.width - nameWidth - 7) : Infinity;
  const valueWidth = Math.min(room, Math.max(0, ...members.map(([, value]) => displayWidth(cell(value)))));
  const rule = (l: string, m: string, r: string): string =>
    `${l}${'─'.repeat(nameWidth + 2)}${m}${'─'.repeat(valueWidth + 2)}${r}\n`;
  const lines = members.map(
    ([name, value]) => `│ ${pad(visible(name), nameWidth)} │ ${pad(clip(cell(value), valueWidth), valueWidth)} │\n`,
  );
  return `${rule('┌', '┬', '┐')}${lines.join('')}${rule('└', '┴', '┘')}`;
}

/** Peels maps of one key off, but not one that is already a record's last fact. */
export function unwrap(value: unknown): unknown {
  let inner = value;
  for (;;) {
    if (!isMap(inner)) return inner;
    const members = Object.values(inner);
    const only = members[0];
    if (members.length !== 1 || typeof only !== 'object' || only === null) return inner;
    // A map of one peer is a table of one row, not that peer's bare record.
    if (
      isMap(only) &&
      Object.values(only).some((member) => typeof member !== 'object' || member === null) &&
      looksLikeKey(Object.keys(inner)[0] ?? '')
    )
      return inner;
    inner = only;
  }
}

/** Keys that are data (an address, a prefix), not a field's name. */
function looksLikeKey(key: string): boolean {
  return /[.:/*]/.test(key);
}

function rowsOf(value: unknown): readonly Row[] | undefined {
  if (Array.isArray(value)) {
    const list = value as readonly unknown[];
    return list.length > 0 && list.every(isMap) ? list : undefined;
  }
  if (!isMap(value)) return undefined;
  const entries = Object.entries(value);
  if (entries.length === 0 || !entries.every(([, member]) => isMap(member))) return undefined;
  const uniform =
    entries.length > 1 ? sharesKeys(entries.map(([, member]) => member as Row)) : looksLikeKey(entries[0]?.[0] ?? '');
  return uniform ? entries.map(([key, member]) => ({ '': key, ...(member as Row) })) : undefined;
}

/** Are these the same kind of record: do they share most of their keys? */
function sharesKeys(maps: readonly Row[]): boolean {
  const [first = {}, ...rest] = maps;
  const keys = Object.keys(first);
  if (keys.length === 0) return rest.every((map) => Object.keys(map).length === 0);
  return rest.every(
    (map) => keys.filter((key) => Object.hasOwn(map, key)).length * 2 >= Math.max(keys.length, Object.keys(map).length),
  );
}

function columnsOf(rows: readonly Row[]): readonly string[] {
  const first = Object.keys(rows[0] ?? {});
  const same = rows.every((row) => {
    const keys = Object.keys(row);
    return keys.length === first.length && keys.every((key, i) => key === first[i]);
  });
  if (same) return first;
  const union = new Set(rows.flatMap((row) => Object.keys(row)));
  return [...union].sort();
}

/** Shrinks the widest columns until the line fits; `undefined` when even narrow ones do not. */
function fit(natural: readonly number[], style: TableStyle): readonly number[] | undefined {
  if (style.width <= 0) return natural;
  const frame = style.box ? natural.length * 3 + 1 : (natural.length - 1) * 2;
  const widths = [...natural];
  let total = widths.reduce((sum, width) => sum + width, 0) + frame;
  while (total > style.width) {
    const widest = Math.max(...widths);
    if (widest <= MINIMUM_CELL * 2) return undefined;
    widths[widths.indexOf(widest)] = widest - 1;
    total--;
  }
  return widths;
}

/** One cell's text. */
export function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return visible(value);
  if (Array.isArray(value))
    return (value as readonly unknown[])
      .map((item) => (typeof item === 'object' ? visible(JSON.stringify(item)) : cell(item)))
      .join(' ');
  return visible(JSON.stringify(value));
}

function pad(text: string, width: number, right = false): string {
  const fill = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return right ? fill + text : text + fill;
}

function clip(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let out = '';
  for (const char of text) {
    if (displayWidth(out) + displayWidth(char) > width - 1) break;
    out += char;
  }
  return `${out}…`;
}

export function isMap(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isMap(value) && Object.keys(value).length === 0;
}
