import { EXTENDED_LENGTH } from './code.ts';

/** Walks path attributes in place (RFC 4271 §4.3). Made once per reader; `*At` and `*Length` are bytes into `view`. */
export class AttributeCursor {
  view: DataView;
  /** Where the next attribute begins; after `next()` returned false `at < end` means the list is cut short there. */
  at: number;
  end: number;
  /** Where the current attribute's flags are. */
  startAt: number;
  flags: number;
  code: number;
  valueAt: number;
  valueLength: number;

  constructor() {
    this.view = EMPTY;
    this.at = 0;
    this.end = 0;
    this.startAt = 0;
    this.flags = 0;
    this.code = 0;
    this.valueAt = 0;
    this.valueLength = 0;
  }

  /** Moves over another list of `length` bytes. */
  over(view: DataView, at: number, length: number): this {
    this.view = view;
    this.at = at;
    this.end = at + length;
    return this;
  }

  /** False at the end, or cut short: then `at < end` (RFC 7606 §4). */
  next(): boolean {
    const at = this.at;
    if (at + 3 > this.end) return false;
    const flags = this.view.getUint8(at);
    let valueAt = at + 3;
    let length: number;
    if ((flags & EXTENDED_LENGTH) !== 0) {
      if (++valueAt > this.end) return false;
      length = this.view.getUint16(at + 2);
    } else {
      length = this.view.getUint8(at + 2);
    }
    if (valueAt + length > this.end) return false;
    this.startAt = at;
    this.flags = flags;
    this.code = this.view.getUint8(at + 1);
    this.valueAt = valueAt;
    this.valueLength = length;
    this.at = valueAt + length;
    return true;
  }

  /** Moves to the first attribute with the code, from where the cursor stands; false when there is none. */
  find(code: number): boolean {
    while (this.next()) if (this.code === code) return true;
    return false;
  }
}

const EMPTY = new DataView(new ArrayBuffer(0));
