/** Rows that are bytes already: the lines of an answer around them. */
import type { PackedRows } from './answer.ts';

/** What `writeRows` needs of the link; see `LineSink`. */
export interface BlockSink {
  readonly block: () => Promise<Buffer>;
  readonly send: (block: Buffer, length: number) => void;
}

/** `:`, LF and the digits of a length below 2^32. */
const FRAME_BYTES = 12;

/** Writes `row` lines into blocks of the link; returns when every row stands in one that was sent. */
export async function writeRows(id: string, rows: PackedRows, link: BlockSink): Promise<void> {
  const { bytes, ends, count } = rows;
  const prefix = Buffer.from(`#${id} row `);
  let block = await link.block();
  let at = 0;
  let start = 0;
  for (let i = 0; i < count; i++) {
    const end = ends[i]!;
    const width = end - start;
    if (at + prefix.length + width + FRAME_BYTES > block.length && at > 0) {
      link.send(block, at);
      block = await link.block();
      at = 0;
    }
    block.set(prefix, at);
    at = writeDecimal(block, at + prefix.length, width);
    block[at++] = 0x3a;
    block.set(bytes.subarray(start, end), at);
    at += width;
    block[at++] = 0x0a;
    start = end;
  }
  link.send(block, at);
}

/** ASCII digits of a non-negative integer; returns the position behind them. */
function writeDecimal(into: Uint8Array, at: number, value: number): number {
  let digits = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits++;
  let rest = value;
  for (let i = at + digits - 1; i >= at; i--) {
    into[i] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  return at + digits;
}
