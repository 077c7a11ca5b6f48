/** Memory that both threads see, in which rows of an answer cross: written once as bytes, neither cloned nor collected. */
import { type AnswerRecord, PACKED_ROW_BYTES, type PackedRows } from '../../../sdk/rpc/answer.ts';

/** Records from which on a chunk is packed; fewer are not worth the memory. */
export const PACKED_FROM = 64;
const SLOT_ROWS = 1024;
const ENDS_BYTES = SLOT_ROWS * 4;
/** A chunk of a walk is 96 Ki characters and a row. */
const ROW_BYTES = 128 * 1024;
const SLOT_BYTES = ENDS_BYTES + ROW_BYTES;

export class RowSlots {
  readonly memory: SharedArrayBuffer;
  readonly #ends: readonly Uint32Array[];
  readonly #bytes: readonly Buffer[];

  static memory(slots: number): SharedArrayBuffer {
    return new SharedArrayBuffer(slots * SLOT_BYTES);
  }

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    const slots = Array.from({ length: memory.byteLength / SLOT_BYTES }, (_, slot) => slot * SLOT_BYTES);
    this.#ends = slots.map((at) => new Uint32Array(memory, at, SLOT_ROWS));
    this.#bytes = slots.map((at) => Buffer.from(memory, at + ENDS_BYTES, ROW_BYTES));
  }

  /** Writes the records' texts into a slot that nobody reads. False when they do not all fit, or some are rejected. */
  pack(slot: number, records: readonly AnswerRecord[]): boolean {
    const ends = this.#ends[slot]!;
    const bytes = this.#bytes[slot]!;
    if (records.length > SLOT_ROWS) return false;
    let at = 0;
    for (let i = 0; i < records.length; i++) {
      const { rejected, json } = records[i]!;
      // Three bytes a character at most.
      const most = json.length * 3;
      const width = most <= ROW_BYTES - at && most <= PACKED_ROW_BYTES ? most : Buffer.byteLength(json);
      if (rejected || json === '' || width > ROW_BYTES - at || width > PACKED_ROW_BYTES) return false;
      at += bytes.write(json, at, 'utf8');
      ends[i] = at;
    }
    return true;
  }

  /** What was packed into a slot; it stands there until the slot is packed again. */
  rows(slot: number, count: number): PackedRows | undefined {
    const ends = this.#ends[slot];
    const bytes = this.#bytes[slot];
    return ends === undefined || bytes === undefined || count > SLOT_ROWS ? undefined : { kind: 'packed', bytes, ends, count };
  }
}
