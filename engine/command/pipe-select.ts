/**
 * `| select FIELD[,FIELD…]`: keeps these members of each record, in this order. It renames nothing and counts nothing, so that an alias
 * made of it shows what the command said. What a document holds records in is found as the other pipes find lines.
 */
import type { AnswerChunk, AnswerHead, AnswerRecord, AnswerSource } from '../../sdk/rpc/answer.ts';
import { parseJson, stringifyJson } from '../../sdk/rpc/json.ts';

type Members = Readonly<Record<string, unknown>>;

export class SelectSource implements AnswerSource {
  readonly head: AnswerHead;
  readonly immediate: boolean;
  readonly checked: boolean;
  readonly #inner: AnswerSource;
  readonly #fields: readonly string[];
  /** Of a positional answer: where each kept column stands. */
  readonly #places: readonly number[];

  constructor(inner: AnswerSource, fields: readonly string[]) {
    const { head } = inner;
    const kept = fields.filter((field) => head.columns.includes(field));
    // A positional answer needs a column: where none is left its rows become empty objects.
    this.head = head.itemType !== 'tab' ? head : { ...head, columns: kept, itemType: kept.length > 0 ? 'tab' : 'map' };
    this.#places = kept.map((field) => head.columns.indexOf(field));
    this.immediate = inner.immediate === true;
    this.checked = inner.checked === true;
    this.#inner = inner;
    this.#fields = fields;
  }

  async next(): Promise<AnswerChunk> {
    const chunk = await this.#inner.next();
    if (chunk.kind === 'end') return chunk;
    return { kind: 'records', records: chunk.records.map((record) => (record.rejected ? record : this.#record(record))) };
  }

  cancel(): void {
    this.#inner.cancel();
  }

  #record(record: AnswerRecord): AnswerRecord {
    const value = parseJson(record.json);
    const { itemType } = this.#inner.head;
    const chosen =
      itemType === 'doc'
        ? this.#within(value, 0)
        : itemType === 'map'
          ? this.#pick(value)
          : this.head.itemType === 'map'
            ? {}
            : this.#places.map((place) => (Array.isArray(value) ? ((value as unknown[])[place] ?? null) : null));
    return { rejected: false, json: stringifyJson(chosen) ?? record.json };
  }

  #pick(value: unknown): unknown {
    if (!isMap(value)) return value;
    return Object.fromEntries(this.#fields.filter((field) => Object.hasOwn(value, field)).map((field) => [field, value[field]]));
  }

  /** A list's items, a map's records, else the members of the value itself. */
  #within(value: unknown, depth: number): unknown {
    if (Array.isArray(value)) return (value as unknown[]).map((item) => this.#pick(item));
    if (!isMap(value)) return value;
    const entries = Object.entries(value);
    const named = entries.filter(([key]) => this.#fields.includes(key));
    const [only] = entries;
    if (named.length > 0 || only === undefined) return this.#pick(value);
    if (entries.length === 1 && depth < 3 && typeof only[1] === 'object') return { [only[0]]: this.#within(only[1], depth + 1) };
    if (entries.every(([, member]) => isMap(member)))
      return Object.fromEntries(entries.map(([key, member]) => [key, this.#within(member, depth + 1)]));
    const lists = entries.filter(([key, member]) => key !== 'errors' && Array.isArray(member));
    return lists.length === 0
      ? {}
      : Object.fromEntries(
          entries.filter(([, member]) => Array.isArray(member)).map(([key, member]) => [key, this.#within(member, depth + 1)]),
        );
  }
}

function isMap(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
