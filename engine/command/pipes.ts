/**
 * `| match TEXT` and `| count`, on an answer as it passes: a row is looked at and handed on or dropped, nothing is gathered.
 * A document is taken apart into its lines: the elements of its lists, the entries of its maps, the lines of a text.
 */
import type { AnswerChunk, AnswerEnd, AnswerHead, AnswerRecord, AnswerSource } from '../../sdk/rpc/answer.ts';
import { DOC_HEAD } from '../../sdk/rpc/answer.ts';
import { parseJson, stringifyJson } from '../../sdk/rpc/json.ts';
import { SelectSource } from './pipe-select.ts';
import type { PipeStep } from './pipe-syntax.ts';

export function applyPipes(source: AnswerSource, steps: readonly PipeStep[]): AnswerSource {
  return steps.reduce<AnswerSource>((inner, step) => {
    switch (step.kind) {
      case 'match':
        return new MatchSource(inner, step.text);
      case 'select':
        return new SelectSource(inner, step.fields);
      case 'count':
        return new CountSource(inner);
    }
  }, source);
}

/** Keeps what contains the text, whatever its case. */
class MatchSource implements AnswerSource {
  readonly head: AnswerHead;
  readonly immediate: boolean;
  readonly checked: boolean;
  readonly #inner: AnswerSource;
  readonly #needle: string;
  /** The needle as JSON would hold it, when a row's text alone can tell that it holds no match; '' = it cannot. */
  readonly #quick: string;
  #kept = 0;

  constructor(inner: AnswerSource, text: string) {
    this.head = inner.head;
    this.immediate = inner.immediate === true;
    this.checked = inner.checked === true;
    this.#inner = inner;
    this.#needle = text.toLowerCase();
    this.#quick = /^[\w./:,-]+$/.test(this.#needle) ? this.#needle : '';
  }

  async next(): Promise<AnswerChunk> {
    for (;;) {
      const chunk = await this.#inner.next();
      if (chunk.kind === 'end') return this.head.itemType === 'doc' ? chunk : { ...chunk, produced: this.#kept };
      const kept =
        this.head.itemType === 'doc' ? chunk.records.map((record) => this.#document(record)) : this.#rows(chunk.records);
      if (kept.length > 0) return { kind: 'records', records: kept };
    }
  }

  cancel(): void {
    this.#inner.cancel();
  }

  #rows(records: readonly AnswerRecord[]): readonly AnswerRecord[] {
    const kept = records.filter((record) => record.rejected || this.#matches(record.json));
    for (const record of kept) if (!record.rejected) this.#kept++;
    return kept;
  }

  #matches(json: string): boolean {
    if (this.#quick !== '' && !json.includes('\\') && !json.toLowerCase().includes(this.#quick)) return false;
    return holds(parseJson(json), this.#needle);
  }

  #document(record: AnswerRecord): AnswerRecord {
    if (record.rejected) return record;
    const value = parseJson(record.json);
    return { rejected: false, json: stringifyJson(filterLines(value, this.#needle) ?? emptyLike(value)) ?? 'null' };
  }
}

/** Counts rows and answers `{"count": N}` at the end. */
class CountSource implements AnswerSource {
  readonly head = DOC_HEAD;
  readonly #inner: AnswerSource;
  #ended: AnswerEnd | undefined;

  constructor(inner: AnswerSource) {
    this.#inner = inner;
  }

  async next(): Promise<AnswerChunk> {
    if (this.#ended !== undefined) return this.#ended;
    let count = 0;
    for (;;) {
      const chunk = await this.#inner.next();
      if (chunk.kind === 'end') {
        // A walk that broke off has no count worth printing.
        if (chunk.message !== '' || chunk.truncated === true) return (this.#ended = { ...chunk, produced: 0 });
        this.#ended = { ...chunk, produced: 1, rejected: 0 };
        return { kind: 'records', records: [{ rejected: false, json: `{"count":${count}}` }] };
      }
      for (const record of chunk.records) {
        if (record.rejected) continue;
        count += this.#inner.head.itemType === 'doc' ? countLines(parseJson(record.json)) : 1;
      }
    }
  }

  cancel(): void {
    this.#inner.cancel();
  }
}

type Members = Readonly<Record<string, unknown>>;

function isMap(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Does a line of the value hold the text? Scalars stand beside each other, as they would be printed. */
function holds(value: unknown, needle: string): boolean {
  const parts: string[] = [];
  gather(value, parts);
  return parts.join(' ').toLowerCase().includes(needle);
}

function gather(value: unknown, parts: string[]): void {
  if (Array.isArray(value)) for (const item of value as readonly unknown[]) gather(item, parts);
  else if (isMap(value)) {
    for (const member of Object.values(value)) gather(member, parts);
  } else if (value !== null && value !== undefined) parts.push(typeof value === 'string' ? value : (stringifyJson(value) ?? ''));
}

/** The value with only the lines that hold the text; `undefined` when none does. */
function filterLines(value: unknown, needle: string): unknown {
  if (typeof value === 'string') {
    const lines = value.split('\n').filter((line) => line.toLowerCase().includes(needle));
    return lines.length > 0 ? lines.join('\n') : undefined;
  }
  if (Array.isArray(value)) {
    const items = (value as readonly unknown[]).filter((item) => holds(item, needle));
    return items.length > 0 ? items : undefined;
  }
  if (!isMap(value)) return holds(value, needle) ? value : undefined;
  const rows = isRowMap(value);
  const kept: [string, unknown][] = [];
  for (const [key, member] of Object.entries(value)) {
    if (typeof member !== 'object' || member === null || rows) {
      if (`${key} `.toLowerCase().includes(needle) || holds([key, member], needle)) kept.push([key, member]);
    } else {
      const inner = filterLines(member, needle);
      if (inner !== undefined) kept.push([key, inner]);
    }
  }
  return kept.length > 0 ? fromEntries(kept) : undefined;
}

/** A map whose members are all maps is a table: each entry is a row. One entry alone is a name, unless it looks like data. */
function isRowMap(value: Members): boolean {
  const entries = Object.entries(value);
  return (
    entries.length > 0 &&
    entries.every(([, member]) => isMap(member)) &&
    (entries.length > 1 || /[.:/]/.test(entries[0]?.[0] ?? ''))
  );
}

/** What an answer without lines looks like: the same frame around an empty collection. */
function emptyLike(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  if (!isMap(value)) return typeof value === 'string' ? '' : null;
  const entries = Object.entries(value);
  const [only] = entries;
  return entries.length === 1 && only !== undefined && typeof only[1] === 'object' && only[1] !== null && !isRowMap(value)
    ? fromEntries([[only[0], emptyLike(only[1])]])
    : {};
}

function countLines(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  if (typeof value === 'string') return value === '' ? 0 : value.split('\n').length;
  if (!isMap(value)) return value === null ? 0 : 1;
  const members = Object.values(value);
  if (isRowMap(value)) return members.length;
  const collections = members.filter((member) => Array.isArray(member) || (isMap(member) && isRowMap(member)));
  if (collections.length > 0) return collections.reduce<number>((sum, member) => sum + countLines(member), 0);
  const [only] = members;
  return members.length === 1 && isMap(only) ? countLines(only) : members.length;
}

/** `Object.fromEntries`, with `__proto__` as an ordinary key. */
function fromEntries(entries: readonly (readonly [string, unknown])[]): Members {
  return Object.fromEntries(entries);
}
