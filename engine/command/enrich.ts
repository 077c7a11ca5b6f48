/**
 * What plugins add to the answers of commands (`enrich-show`, plugin-rpc-types §4.9).
 *
 * A plugin is asked about the records of an answer: the members of its list (`peers`, a table's rows), or the whole document where
 * it holds no list. `mode` is `brief` in a list and `detail` where one record is all there is; `base` is the record, with the key it
 * stands under (`peer: "192.0.2.1"`). What comes back stands in the record under the enricher's key. Nothing the engine says is
 * overwritten.
 *
 * A call a record is dear, so it is bounded: the first 64 records of an answer, 8 calls at a time, 2 s for all calls of an
 * enricher on an answer. Several enrichers are asked side by side. One that fails or is late is left out of the rest of that
 * answer and logged; the answer goes out without it.
 */
import type { AnswerChunk, AnswerEnd, AnswerHead, AnswerRecord, AnswerSource } from '../../sdk/rpc/answer.ts';
import { parseJson, stringifyJson } from '../../sdk/rpc/json.ts';
import type { EnrichShowInput } from '../../yang/generated/methods.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Enricher, PluginCommands } from './context.ts';

export const ENRICH_MS = 2000;
export const ENRICHED_RECORDS = 64;
const AT_A_TIME = 8;

type Fields = Readonly<Record<string, unknown>>;

export interface EnrichScene {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly plugins: Pick<PluginCommands, 'enrich'>;
}

/** A record of the answer, and what was added to it. */
interface Place {
  readonly base: Fields;
  readonly mode: EnrichShowInput['mode'];
  readonly add: (key: string, data: Fields) => void;
}

/** The answer with what the enrichers add; live answers (`monitor`) stay as they are. */
export function enriched(source: AnswerSource, path: string, enrichers: readonly Enricher[], scene: EnrichScene): AnswerSource {
  if (enrichers.length === 0 || source.immediate === true) return source;
  return new EnrichedSource(source, path, enrichers, scene);
}

class EnrichedSource implements AnswerSource {
  readonly head: AnswerHead;
  readonly checked: boolean;
  readonly #inner: AnswerSource;
  readonly #path: string;
  readonly #scene: EnrichScene;
  readonly #keys: readonly string[];
  #willing: readonly Enricher[];
  #left = ENRICHED_RECORDS;

  constructor(inner: AnswerSource, path: string, enrichers: readonly Enricher[], scene: EnrichScene) {
    this.#inner = inner;
    this.#path = path;
    this.#scene = scene;
    this.#willing = enrichers;
    const { columns, itemType } = inner.head;
    this.#keys = [...new Set(enrichers.map((one) => one.key))].filter((key) => !columns.includes(key));
    this.head = itemType === 'tab' ? { ...inner.head, columns: [...columns, ...this.#keys] } : inner.head;
    this.checked = inner.checked === true;
  }

  async next(): Promise<AnswerChunk> {
    const chunk: AnswerChunk | AnswerEnd = await this.#inner.next();
    if (chunk.kind === 'end') return chunk;
    const { itemType } = this.head;
    if (itemType === 'doc') return { kind: 'records', records: await this.#documents(chunk.records) };
    const take = this.#willing.length === 0 ? 0 : Math.min(this.#left, chunk.records.length);
    this.#left -= take;
    const first = await this.#rows(chunk.records.slice(0, take));
    const rest = chunk.records.slice(take);
    return { kind: 'records', records: [...first, ...(itemType === 'tab' ? rest.map((row) => this.#padded(row)) : rest)] };
  }

  cancel(): void {
    this.#inner.cancel();
  }

  async #documents(records: readonly AnswerRecord[]): Promise<readonly AnswerRecord[]> {
    const [record] = records;
    if (record === undefined || record.rejected) return records;
    const value = parseJson(record.json);
    const places = placesOf(value, this.#path).slice(0, ENRICHED_RECORDS);
    if (places.length === 0 || !(await this.#ask(places))) return records;
    return [{ rejected: false, json: stringifyJson(value) ?? record.json }];
  }

  async #rows(records: readonly AnswerRecord[]): Promise<readonly AnswerRecord[]> {
    const { columns, itemType } = this.head;
    const added = records.map((): Record<string, unknown> => ({}));
    const values = records.map((record) => (record.rejected ? undefined : parseJson(record.json)));
    const bases = values.map((value) =>
      itemType === 'tab' && Array.isArray(value)
        ? Object.fromEntries(columns.slice(0, value.length).map((name, i) => [name, value[i] as unknown]))
        : value,
    );
    const places = bases.flatMap((base, i): Place[] =>
      isMap(base) ? [{ base, mode: 'brief', add: (key, data) => put(added[i]!, base[key], key, data) }] : [],
    );
    await this.#ask(places);
    return records.map((record, i) => {
      if (record.rejected) return record;
      if (itemType === 'tab') return this.#padded(record, added[i]);
      const base = bases[i];
      if (!isMap(base) || Object.keys(added[i]!).length === 0) return record;
      return { rejected: false, json: stringifyJson({ ...base, ...added[i] }) ?? record.json };
    });
  }

  /** A positional row with the enrichers' columns behind it. */
  #padded(record: AnswerRecord, added: Fields = {}): AnswerRecord {
    if (record.rejected) return record;
    const row = parseJson(record.json);
    if (!Array.isArray(row)) return record;
    const json = stringifyJson([...(row as unknown[]), ...this.#keys.map((key) => added[key] ?? null)]);
    return { rejected: false, json: json ?? record.json };
  }

  /** Asks every enricher about every place. `false` = nothing was added. */
  async #ask(places: readonly Place[]): Promise<boolean> {
    if (places.length === 0 || this.#willing.length === 0) return false;
    const answers = await Promise.all(this.#willing.map((enricher) => this.#consult(enricher, places)));
    this.#willing = this.#willing.filter((_, i) => answers[i]?.failed === undefined);
    let any = false;
    for (const [i, { enricher, failed, data }] of answers.entries()) {
      if (failed !== undefined) {
        const { plugin, key } = enricher;
        this.#scene.log.warn({ plugin, key, command: this.#path, reason: failed }, 'a plugin did not add to an answer');
      }
      for (const [at, fields] of data.entries()) {
        if (fields === undefined) continue;
        any = true;
        places[at]!.add(answers[i]!.enricher.key, fields);
      }
    }
    return any;
  }

  async #consult(
    enricher: Enricher,
    places: readonly Place[],
  ): Promise<{ enricher: Enricher; failed: string | undefined; data: (Fields | undefined)[] }> {
    const { clock, signal, plugins } = this.#scene;
    const stop = new AbortController();
    const late = new Promise<never>((_, reject) => {
      stop.signal.addEventListener('abort', () => reject(new Error(`no answer within ${ENRICH_MS / 1000} s`)), { once: true });
    });
    late.catch(() => undefined);
    const timer = clock.after(ENRICH_MS, () => stop.abort());
    const data: (Fields | undefined)[] = places.map(() => undefined);
    let at = 0;
    let failed: string | undefined;
    const lane = async (): Promise<void> => {
      while (at < places.length && failed === undefined && !signal.aborted) {
        const index = at++;
        const { base, mode } = places[index]!;
        const input: EnrichShowInput = { command: enricher.command, key: enricher.key, mode, base };
        const asked = plugins.enrich(enricher.plugin, input, AbortSignal.any([signal, stop.signal]));
        asked.catch(() => undefined);
        const answer = await Promise.race([asked, late]);
        if (isMap(answer) && Object.keys(answer).length > 0) data[index] = answer;
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(AT_A_TIME, places.length) }, lane));
    } catch (error) {
      failed = error instanceof Error ? error.message : String(error);
    } finally {
      timer.cancel();
      stop.abort();
    }
    return { enricher, failed: signal.aborted ? undefined : failed, data };
  }
}

/** What stands there already stays, member by member: of the engine, and of an enricher asked before. */
function put(into: Record<string, unknown>, there: unknown, key: string, data: Fields): void {
  const own: unknown = Object.hasOwn(into, key) ? into[key] : there;
  if (own === undefined) into[key] = { ...data };
  else if (isMap(own)) into[key] = { ...data, ...own };
}

/** The records of a document: of its list, or of a map of records, or the document itself. */
function placesOf(value: unknown, path: string): readonly Place[] {
  const listing = /(?:^| )(?:list|summary)$/.test(path);
  const list = listIn(value, '', 3);
  if (list !== undefined) {
    const mode = list.length > 1 || listing ? 'brief' : 'detail';
    return list.map(([base, record]): Place => ({ base, mode, add: (key, data) => put(record, record[key], key, data) }));
  }
  if (!isMutable(value)) return [];
  return [{ base: value, mode: 'detail', add: (key, data) => put(value, value[key], key, data) }];
}

/** Base and record of each entry; `undefined` when the value holds no list. `name` is what the list is called. */
function listIn(
  value: unknown,
  name: string,
  depth: number,
): readonly (readonly [Fields, Record<string, unknown>])[] | undefined {
  if (Array.isArray(value)) {
    const items = value as unknown[];
    return items.length > 0 && items.every(isMutable) ? items.map((item) => [item, item] as const) : undefined;
  }
  if (!isMutable(value) || depth === 0) return undefined;
  const entries = Object.entries(value);
  if (name !== '' && entries.length > 0 && entries.every(([key, member]) => isMap(member) && /[.:/]/.test(key))) {
    const called = name.replace(/s$/, '');
    return entries.map(([key, member]) => {
      const record = member as Record<string, unknown>;
      return [Object.hasOwn(record, called) ? record : { [called]: key, ...record }, record] as const;
    });
  }
  const collections = entries.filter(([key, member]) => key !== 'errors' && (Array.isArray(member) || isMap(member)));
  const [only] = collections;
  if (only === undefined || collections.length > 1) return undefined;
  return Array.isArray(only[1]) || entries.length === 1 ? listIn(only[1], only[0], depth - 1) : undefined;
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isMutable(value: unknown): value is Record<string, unknown> {
  return isMap(value);
}
