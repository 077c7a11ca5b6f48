// An answer that walks a table: rows are made when the reader asks for them, a chunk at a time, so a million of them cost no more memory than
// a chunk, and no session waits longer than one takes to make.
import type { AnswerChunk, AnswerHead, AnswerRecord, AnswerSource } from '../rpc/answer.ts';

/** Rows and characters a chunk holds at most. */
const CHUNK_ROWS = 256;
const CHUNK_CHARACTERS = 96 * 1024;
/** Table rows looked at before other work gets its turn, when most of them do not pass the filters. */
const SCAN = 4096;

/** What is walked. `scan` looks at up to `count` table rows and hands texts of records to `emit`; false when nothing is left. */
export interface Walker {
  /** Called before the first scan and after other work had its turn: what was remembered of handles may be wrong now. */
  resume(): void;
  scan(count: number, emit: (json: string) => void): boolean;
}

export class WalkAnswer implements AnswerSource {
  readonly head: AnswerHead;
  readonly checked = true;
  readonly #walker: Walker;
  #records: AnswerRecord[] = [];
  #characters = 0;
  #produced = 0;
  #over = false;

  constructor(envelope: string, walker: Walker) {
    this.head = { itemType: 'map', envelope, columns: [] };
    this.#walker = walker;
  }

  async next(): Promise<AnswerChunk> {
    const emit = (json: string): void => {
      this.#records.push({ rejected: false, json });
      this.#characters += json.length;
    };
    this.#walker.resume();
    for (let scanned = 0; !this.#over && !this.#full(); ) {
      // A few rows at a time, so that a chunk does not grow far past its size.
      this.#over = !this.#walker.scan(64, emit);
      scanned += 64;
      if (scanned >= SCAN && !this.#over) {
        await turn();
        this.#walker.resume();
        scanned = 0;
      }
    }
    if (this.#records.length === 0) return { kind: 'end', produced: this.#produced, rejected: 0, message: '' };
    const records = this.#records;
    this.#records = [];
    this.#characters = 0;
    this.#produced += records.length;
    return { kind: 'records', records };
  }

  cancel(): void {
    this.#over = true;
    this.#records = [];
  }

  #full(): boolean {
    return this.#records.length >= CHUNK_ROWS || this.#characters >= CHUNK_CHARACTERS;
  }
}

/** Walks to the end in slices without keeping the records; how many there were. */
export async function countRecords(walker: Walker, signal: AbortSignal): Promise<number> {
  let count = 0;
  const emit = (): void => {
    count++;
  };
  walker.resume();
  while (!signal.aborted && walker.scan(SCAN, emit)) {
    await turn();
    walker.resume();
  }
  return count;
}

/** Lets timers and sockets have their turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
