/**
 * Answers as tables (daemon-cli §6): a map with one key is unwrapped, a map of uniform maps becomes rows with the key in front,
 * a list of objects one row each, a single record two columns with its lists below it, nothing `(empty)`.
 *
 * Columns keep the order of the producer's keys, which is how a person reads them; only rows that disagree about it are sorted.
 */
import { displayWidth, visible } from './escape.ts';
import { VIEW_WIDTH, type ViewColumn } from './view.ts';

export interface TableStyle {
  /** Box drawing, or aligned columns without boxes. */
  readonly box: boolean;
  /** Columns of the terminal; 0 = no limit. */
  readonly width: number;
  /** Head in bold. */
  readonly colour: boolean;
  /** Keys in reading order, as far as they occur; others follow. */
  readonly order?: readonly string[] | undefined;
  /** The columns that are shown, where the rows have them; others are left out. */
  readonly view?: readonly ViewColumn[] | undefined;
}

type Row = Readonly<Record<string, unknown>>;

export const EMPTY = '(empty)';
/** How many rows are looked at before the widths of a streamed table are fixed. */
const SCREENFUL = 64;
const MINIMUM_CELL = 6;

/** A whole value as text, ending in a newline. */
export function renderTable(value: unknown, style: TableStyle): string {
  const { inner, key } = unwrap(value);
  if (isEmpty(inner)) return `${EMPTY}\n`;
  const rows = rowsOf(inner, key);
  if (rows?.length === 1 && isMap(inner)) return record(rows[0]!, style);
  if (rows !== undefined) return new TableStream(style).whole(rows);
  if (isMap(inner)) return record(inner, style);
  if (Array.isArray(inner)) return inner.map((item) => `${cell(item)}\n`).join('');
  if (typeof inner !== 'string') return `${cell(inner)}\n`;
  return inner
    .split('\n')
    .map((line) => `${visible(line)}\n`)
    .join('');
}

/** A table whose rows arrive one by one. Every method answers the text to print now. */
export class TableStream {
  readonly #style: TableStyle;
  #columns: readonly string[];
  #view: readonly ViewColumn[] | undefined;
  #widths: readonly number[] = [];
  /** Columns made narrower than their cells, to fit the terminal. Others are never cut: a row that is longer sticks out. */
  #cut: readonly boolean[] = [];
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
    if (this.#columns.length === 0) this.#columns = inOrder(columnsOf(this.#held), this.#style.order ?? []);
    const view = this.#style.view?.filter((one) => this.#columns.includes(one.key));
    // Rows of another kind than the view is for are shown whole.
    if (view !== undefined && view.length * 2 > (this.#style.view?.length ?? 0)) {
      this.#view = view;
      this.#columns = view.map((one) => one.key);
    }
    const natural = this.#columns.map((_, i) =>
      Math.max(displayWidth(visible(this.#title(i))), ...this.#held.map((row) => displayWidth(this.#cell(row, i)))),
    );
    const widths = this.#view === undefined ? fit(natural, this.#style) : fitView(natural, this.#view, this.#style);
    this.#vertical = widths === undefined;
    this.#widths = widths ?? natural;
    this.#cut = natural.map((width, i) => (this.#widths[i] ?? 0) < width);
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
    const names = this.#columns.map((_, i) => {
      const text = pad(visible(this.#title(i)), this.#widths[i] ?? 0);
      return this.#style.colour ? `\u001b[1m${text}\u001b[0m` : text;
    });
    if (!this.#style.box) return `${names.join('  ').trimEnd()}\n`;
    return `${this.#rule('┌', '┬', '┐')}│ ${names.join(' │ ')} │\n${this.#rule('├', '┼', '┤')}`;
  }

  #line(row: Row): string {
    if (this.#vertical) return this.#block(row);
    const cells = this.#columns.map((name, i) => {
      const width = this.#widths[i] ?? 0;
      const text = this.#cell(row, i);
      return pad(this.#cut[i] === true ? clip(text, width) : text, width, typeof row[name] === 'number');
    });
    return this.#style.box ? `│ ${cells.join(' │ ')} │\n` : `${cells.join('  ').trimEnd()}\n`;
  }

  #title(column: number): string {
    return this.#view?.[column]?.title ?? this.#columns[column] ?? '';
  }

  #cell(row: Row, column: number): string {
    const value = row[this.#columns[column] ?? ''];
    return cell(this.#view?.[column]?.show?.(value) ?? value);
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
    out += `${out === '' ? '' : '\n'}${title}\n${new TableStream(style).whole(rowsOf(member, name) ?? [])}`;
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

/**
 * Peels maps of one key off. A map whose one key is data (an address) stays: it is a table of one row. `key` is the last name
 * that was peeled off.
 */
export function unwrap(value: unknown): { readonly inner: unknown; readonly key: string } {
  let inner = value;
  let key = '';
  while (isMap(inner)) {
    const [name = '', only] = Object.entries(inner)[0] ?? [];
    if (Object.keys(inner).length !== 1 || typeof only !== 'object' || only === null || looksLikeData(name)) break;
    inner = only;
    key = name;
  }
  return { inner, key };
}

/** Keys that are data (an address, a prefix, a family), not a field's name. */
function looksLikeData(key: string): boolean {
  return /[.:/*]/.test(key);
}

/** Rows of a list of objects, or of a map of uniform maps; its keys then stand in a first column named after the map. */
function rowsOf(value: unknown, name = ''): readonly Row[] | undefined {
  if (Array.isArray(value)) {
    const list = value as readonly unknown[];
    return list.length > 0 && list.every(isMap) ? list : undefined;
  }
  if (!isMap(value)) return undefined;
  const entries = Object.entries(value);
  if (entries.length === 0 || !entries.every(([, member]) => isMap(member))) return undefined;
  const uniform =
    entries.length > 1 ? sharesKeys(entries.map(([, member]) => member as Row)) : looksLikeData(entries[0]?.[0] ?? '');
  return uniform ? entries.map(([key, member]) => ({ [singular(name)]: key, ...(member as Row) })) : undefined;
}

/** `peers` → `peer`: what one key of the map is. */
function singular(name: string): string {
  return name.replace(/(?<=x|sh?|ch)es$|s$/, '');
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

/**
 * The union of the rows' keys. Rows of one producer keep its order, with optional members where they belong; rows that
 * contradict each other have their keys sorted.
 */
function columnsOf(rows: readonly Row[]): readonly string[] {
  const union: string[] = [];
  for (const row of rows) {
    let at = 0;
    for (const key of Object.keys(row)) {
      const known = union.indexOf(key);
      if (known >= 0 && known < at) return [...new Set(rows.flatMap((one) => Object.keys(one)))].sort();
      if (known < 0) union.splice(at, 0, key);
      at = (known < 0 ? at : known) + 1;
    }
  }
  return union;
}

/** Known keys first, in their order. */
function inOrder(columns: readonly string[], order: readonly string[]): readonly string[] {
  if (order.length === 0) return columns;
  return [...order.filter((name) => columns.includes(name)), ...columns.filter((name) => !order.includes(name))];
}

/** A view is cut to its width where it may be, and nowhere else. */
function fitView(natural: readonly number[], view: readonly ViewColumn[], style: TableStyle): readonly number[] {
  const limit = style.width > 0 ? Math.min(style.width, VIEW_WIDTH) : VIEW_WIDTH;
  const frame = style.box ? natural.length * 3 + 1 : (natural.length - 1) * 2;
  const widths = [...natural];
  const flexible = view.flatMap((one, i) => (one.flexible === true ? [i] : []));
  for (let over = widths.reduce((sum, width) => sum + width, 0) + frame - limit; over > 0; over--) {
    const widest = flexible.reduce<number | undefined>(
      (best, i) => (best === undefined || widths[i]! > widths[best]! ? i : best),
      undefined,
    );
    if (widest === undefined || widths[widest]! <= MINIMUM_CELL) break;
    widths[widest]!--;
  }
  return widths;
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

/** A member of an answer as plain text; what is no scalar is ''. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? visible(String(value)) : '';
}

export function isMap(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isMap(value) && Object.keys(value).length === 0;
}
