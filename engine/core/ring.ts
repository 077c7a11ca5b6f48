/**
 * A ring of byte records in shared memory: one writer, one reader, on two threads or on one. A record is written in place and
 * published by one store; the reader sees it in place and gives it back by another. Nobody waits: a full ring says so.
 *
 * Layout: four 32-bit control words, then the data, a power of two of bytes. A record is a 32-bit length, the bytes, and padding
 * to eight; it never wraps: what does not fit before the end is filled by a mark and begins at the start. Positions count
 * units of eight bytes and run over freely.
 */
import { assert } from './assert.ts';

const CONTROL_BYTES = 16;
const HEAD = 0;
const TAIL = 1;
/** 1 while the reader has been told and has not begun to drain. */
const WAKE = 2;
/** 1 while the writer waits for room and wants to be told. */
const WANT = 3;
/** In the place of a length: the rest up to the end is unused. */
const SKIP = 0xffff_ffff;
const UNIT = 8;

/** Memory for a ring of `capacityBytes`, a power of two of at least 64 KiB. */
export function ringMemory(capacityBytes: number): SharedArrayBuffer {
  assert(capacityBytes >= 65_536 && (capacityBytes & (capacityBytes - 1)) === 0, 'a ring holds a power of two of bytes');
  return new SharedArrayBuffer(CONTROL_BYTES + capacityBytes);
}

export class RingWriter {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly #control: Int32Array;
  readonly #units: number;
  /** A ring that is empty past this is begun again at its start: memory touched for the first time costs more than what is written to it. */
  readonly #lowUnits: number;
  #head: number;
  #tail: number;
  #reservedUnits = 0;
  #skipUnits = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#control = new Int32Array(memory, 0, 4);
    this.bytes = new Uint8Array(memory, CONTROL_BYTES);
    this.view = new DataView(memory, CONTROL_BYTES);
    this.#units = this.bytes.length / UNIT;
    this.#lowUnits = this.#units >>> 3;
    this.#head = Atomics.load(this.#control, HEAD);
    this.#tail = Atomics.load(this.#control, TAIL);
  }

  /** Largest record that can ever be reserved: half the ring, so that one that skips the end still fits. */
  get largest(): number {
    return (this.#units >> 1) * UNIT - 4;
  }

  /** Room for a record of `length` bytes: its offset in `bytes`, or -1 when the ring is full. Follow with `publish`. */
  reserve(length: number): number {
    if (length > this.largest) return -1;
    const need = (4 + length + UNIT - 1) >>> 3;
    const at = this.#head & (this.#units - 1);
    let skip = at + need > this.#units ? this.#units - at : 0;
    if (skip === 0 && at >= this.#lowUnits && need <= at && this.usedBytes === 0) skip = this.#units - at;
    if (!this.#hasRoom(need + skip)) return -1;
    if (skip > 0) this.view.setUint32(at * UNIT, SKIP, true);
    const start = skip > 0 ? 0 : at;
    this.view.setUint32(start * UNIT, length, true);
    this.#reservedUnits = need;
    this.#skipUnits = skip;
    return start * UNIT + 4;
  }

  /** Makes the reserved record visible. True when the reader must be told. */
  publish(): boolean {
    this.#head = (this.#head + this.#skipUnits + this.#reservedUnits) | 0;
    this.#reservedUnits = 0;
    this.#skipUnits = 0;
    Atomics.store(this.#control, HEAD, this.#head);
    return Atomics.load(this.#control, WAKE) === 0 && Atomics.exchange(this.#control, WAKE, 1) === 0;
  }

  /** Asks to be told when the reader has given room back. */
  wantRoom(): void {
    Atomics.store(this.#control, WANT, 1);
  }

  /** Bytes published and not given back. */
  get usedBytes(): number {
    this.#tail = Atomics.load(this.#control, TAIL);
    return ((this.#head - this.#tail) >>> 0) * UNIT;
  }

  #hasRoom(units: number): boolean {
    if (this.#units - ((this.#head - this.#tail) >>> 0) >= units) return true;
    this.#tail = Atomics.load(this.#control, TAIL);
    return this.#units - ((this.#head - this.#tail) >>> 0) >= units;
  }
}

export class RingReader {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly #control: Int32Array;
  readonly #units: number;
  #tail: number;
  /** The record `next` found. Valid until `release`. */
  at = 0;
  length = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#control = new Int32Array(memory, 0, 4);
    this.bytes = new Uint8Array(memory, CONTROL_BYTES);
    this.view = new DataView(memory, CONTROL_BYTES);
    this.#units = this.bytes.length / UNIT;
    this.#tail = Atomics.load(this.#control, TAIL);
  }

  /** What is published from now on wakes the reader again: call it when nothing is left, and look once more. */
  awake(): void {
    Atomics.store(this.#control, WAKE, 0);
  }

  /** Half of the ring or more is full. */
  get halfFull(): boolean {
    return ((Atomics.load(this.#control, HEAD) - this.#tail) >>> 0) * 2 >= this.#units;
  }

  /** Moves to the next record; false when there is none. */
  next(): boolean {
    for (;;) {
      if (this.#tail === Atomics.load(this.#control, HEAD)) return false;
      const at = (this.#tail & (this.#units - 1)) * UNIT;
      const length = this.view.getUint32(at, true);
      if (length !== SKIP) {
        this.at = at + 4;
        this.length = length;
        return true;
      }
      this.#give(this.#units - at / UNIT);
    }
  }

  /** Gives the record back. True when the writer waits for room and must be told. */
  release(): boolean {
    this.#give((4 + this.length + UNIT - 1) >>> 3);
    this.length = 0;
    return Atomics.load(this.#control, WANT) === 1 && Atomics.exchange(this.#control, WANT, 0) === 1;
  }

  #give(units: number): void {
    this.#tail = (this.#tail + units) | 0;
    Atomics.store(this.#control, TAIL, this.#tail);
  }
}
