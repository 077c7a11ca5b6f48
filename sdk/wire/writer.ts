// Packs NLRI that share a kind (announced with one attribute block and next hop, or withdrawn) into as few UPDATEs as fit, many messages
// to a buffer. Lengths are filled in when a message is closed.
import { EXTENDED_LENGTH, MP_REACH_NLRI, MP_UNREACH_NLRI, OPTIONAL } from './attribute/code.ts';
import { copyBytes } from './bytes.ts';
import { type Family, IPV4_UNICAST } from './family.ts';
import { HEADER_LENGTH, MAX_MESSAGE, setMessageLength, UPDATE, writeHeader } from './message.ts';
import { prefixSize, writeIpv4Prefix, writePrefix } from './nlri/prefix.ts';

/** Result of adding an entry. */
export const ADDED = 1;
/** The buffer has no room: `close`, send `bytes` up to `used`, give another buffer with `over`, add again. The group goes on. */
export const FULL = 0;
/** No message of the allowed size can hold the entry with these attributes: the route is to be withheld (RFC 8654 §4). */
export const TOO_LARGE = -1;
export type Added = typeof ADDED | typeof FULL | typeof TOO_LARGE;

/** Length of MP_REACH_NLRI's or MP_UNREACH_NLRI's head with an extended length. */
const MP_HEAD = 4;

/**
 * `over` a buffer, then any number of groups: `beginAnnounce` or `beginWithdraw` followed by `add*`; at last `close`. A message is opened by
 * the first entry that needs one, so an empty group writes nothing.
 */
export class UpdateWriter {
  /** The caller's buffer; messages fill it up to `used` (complete after `close`). */
  bytes: Uint8Array;
  used: number;
  /** Messages opened since the last `over`. */
  messages: number;
  /** MP_REACH_NLRI is written before the other attributes (RFC 7606 §5.1) instead of after them. */
  readonly mpFirst: boolean;
  #family: Family;
  #addPath: boolean;
  #maxMessage: number;
  #withdraw: boolean;
  #mp: boolean;
  #block: Uint8Array;
  #blockAt: number;
  #blockLength: number;
  #nextHop: Uint8Array;
  #nextHopAt: number;
  #nextHopLength: number;
  /** The open message: where it begins (-1: none), where its MP attribute begins, where its entries must end. */
  #start: number;
  #mpAt: number;
  #limit: number;

  constructor(mpFirst = false) {
    this.bytes = NONE;
    this.used = 0;
    this.messages = 0;
    this.mpFirst = mpFirst;
    this.#family = IPV4_UNICAST;
    this.#addPath = false;
    this.#maxMessage = MAX_MESSAGE;
    this.#withdraw = false;
    this.#mp = false;
    this.#block = NONE;
    this.#blockAt = 0;
    this.#blockLength = 0;
    this.#nextHop = NONE;
    this.#nextHopAt = 0;
    this.#nextHopLength = 0;
    this.#start = -1;
    this.#mpAt = 0;
    this.#limit = 0;
  }

  /** Goes on in another buffer from `at`. A message still open in the old one is closed first; the group stays. */
  over(bytes: Uint8Array, at = 0): this {
    this.close();
    this.bytes = bytes;
    this.used = at;
    this.messages = 0;
    return this;
  }

  /**
   * Begins a group of announcements. The block (`length` bytes at `at`) and the next hop are read when messages are opened, so they stay
   * unchanged until the group ends. IPv4 unicast without a next hop here goes in the classic field, its NEXT_HOP being in the block;
   * everything else goes in MP_REACH_NLRI, whose next hop is `nextHopLength` bytes. `maxMessage`: 4096 or 65535.
   */
  beginAnnounce(
    family: Family,
    addPath: boolean,
    maxMessage: number,
    block: Uint8Array,
    at: number,
    length: number,
    nextHop: Uint8Array = NONE,
    nextHopAt = 0,
    nextHopLength: number = nextHop.length,
  ): void {
    this.#begin(family, addPath, maxMessage, false, family !== IPV4_UNICAST || nextHopLength !== 0);
    this.#block = block;
    this.#blockAt = at;
    this.#blockLength = length;
    this.#nextHop = nextHop;
    this.#nextHopAt = nextHopAt;
    this.#nextHopLength = nextHopLength;
  }

  /** Begins a group of withdrawals: the classic field for IPv4 unicast, else MP_UNREACH_NLRI. */
  beginWithdraw(family: Family, addPath: boolean, maxMessage: number): void {
    this.#begin(family, addPath, maxMessage, true, family !== IPV4_UNICAST);
    this.#block = NONE;
    this.#blockLength = 0;
    this.#nextHopLength = 0;
  }

  /** Adds an IPv4 prefix given as u32. `pathId` counts only with ADD-PATH. */
  addIpv4(address: number, lengthBits: number, pathId: number): Added {
    const size = prefixSize(lengthBits, this.#addPath);
    if (this.#start < 0 || this.used + size > this.#limit) {
      const room = this.#open(size);
      if (room !== ADDED) return room;
    }
    this.used = writeIpv4Prefix(this.bytes, this.used, address, lengthBits, this.#addPath, pathId);
    return ADDED;
  }

  /** Adds a prefix whose address bytes are at `from[at]`. */
  addPrefix(from: Uint8Array, at: number, lengthBits: number, pathId: number): Added {
    const size = prefixSize(lengthBits, this.#addPath);
    if (this.#start < 0 || this.used + size > this.#limit) {
      const room = this.#open(size);
      if (room !== ADDED) return room;
    }
    this.used = writePrefix(this.bytes, this.used, from, at, lengthBits, this.#addPath, pathId);
    return ADDED;
  }

  /** Has the open message room for an entry of `size` bytes? Then the caller may write one of as many or fewer at `used`, and move that. */
  hasRoom(size: number): boolean {
    return this.#start >= 0 && this.used + size <= this.#limit;
  }

  /** Adds one entry of any family as it is on the wire, path identifier included. */
  addNlri(from: Uint8Array, at: number, length: number): Added {
    if (this.#start < 0 || this.used + length > this.#limit) {
      const room = this.#open(length);
      if (room !== ADDED) return room;
    }
    copyBytes(from, at, length, this.bytes, this.used);
    this.used += length;
    return ADDED;
  }

  /** Adds a whole message as it is. */
  addMessage(from: Uint8Array, at: number, length: number): Added {
    this.close();
    if (this.used + length > this.bytes.length) return FULL;
    copyBytes(from, at, length, this.bytes, this.used);
    this.used += length;
    this.messages++;
    return ADDED;
  }

  /** Adds the End-of-RIB of a family (RFC 4724 §2). */
  addEndOfRib(family: Family): Added {
    this.close();
    const size = family === IPV4_UNICAST ? HEADER_LENGTH + 4 : HEADER_LENGTH + 10;
    if (this.used + size > this.bytes.length) return FULL;
    writeEndOfRib(this.bytes, this.used, family);
    this.used += size;
    this.messages++;
    return ADDED;
  }

  /** Completes the open message, if any; `used` bytes are then good to send. */
  close(): void {
    const start = this.#start;
    if (start < 0) return;
    this.#start = -1;
    const { bytes } = this;
    if (this.#mp) this.#closeMp();
    const attributesAt = start + HEADER_LENGTH + 2;
    if (this.#withdraw && !this.#mp) {
      setU16(bytes, start + HEADER_LENGTH, this.used - attributesAt);
      setU16(bytes, this.used, 0);
      this.used += 2;
    } else if (this.#mp) {
      setU16(bytes, attributesAt, this.used - attributesAt - 2);
    }
    setMessageLength(bytes, start, this.used - start);
  }

  #begin(family: Family, addPath: boolean, maxMessage: number, withdraw: boolean, mp: boolean): void {
    this.close();
    this.#family = family;
    this.#addPath = addPath;
    this.#maxMessage = maxMessage;
    this.#withdraw = withdraw;
    this.#mp = mp;
  }

  /** Bytes of a message of this group around its entries, of which `tail` come after them. */
  #overhead(tail: number): number {
    const mp = this.#mp ? MP_HEAD + 3 + (this.#withdraw ? 0 : 2 + this.#nextHopLength) : 0;
    return HEADER_LENGTH + 4 + this.#blockLength + mp - tail;
  }

  /** Closes what is open and opens a message with room for an entry of `size` bytes. */
  #open(size: number): Added {
    this.close();
    // What is written on closing: the classic attribute length, or the block when MP_REACH_NLRI goes first.
    const tail = this.#mp ? (this.mpFirst ? this.#blockLength : 0) : this.#withdraw ? 2 : 0;
    const head = this.#overhead(tail);
    if (head + size + tail > this.#maxMessage) return TOO_LARGE;
    const start = this.used;
    if (start + head + size + tail > this.bytes.length) return FULL;
    const end = Math.min(start + this.#maxMessage, this.bytes.length);
    this.#start = start;
    this.#limit = end - tail;
    this.messages++;
    const { bytes } = this;
    let at = writeHeader(bytes, start, 0, UPDATE);
    setU16(bytes, at, 0);
    at += 2;
    if (this.#withdraw && !this.#mp) {
      this.used = at;
      return ADDED;
    }
    setU16(bytes, at, this.#blockLength);
    at += 2;
    if (this.#blockLength !== 0 && !(this.#mp && this.mpFirst)) {
      copyBytes(this.#block, this.#blockAt, this.#blockLength, bytes, at);
      at += this.#blockLength;
    }
    this.used = this.#mp ? this.#openMp(at) : at;
    return ADDED;
  }

  #openMp(at: number): number {
    const { bytes } = this;
    this.#mpAt = at;
    bytes[at] = OPTIONAL | EXTENDED_LENGTH;
    bytes[at + 1] = this.#withdraw ? MP_UNREACH_NLRI : MP_REACH_NLRI;
    let i = at + MP_HEAD;
    setU16(bytes, i, this.#family >>> 8);
    bytes[i + 2] = this.#family & 0xff;
    i += 3;
    if (this.#withdraw) return i;
    bytes[i++] = this.#nextHopLength;
    copyBytes(this.#nextHop, this.#nextHopAt, this.#nextHopLength, bytes, i);
    i += this.#nextHopLength;
    bytes[i++] = 0;
    return i;
  }

  /** Fills in the MP attribute's length, one octet when that is enough, and writes the block where it comes last. */
  #closeMp(): void {
    const { bytes } = this;
    const at = this.#mpAt;
    const length = this.used - at - MP_HEAD;
    if (length <= 255) {
      bytes[at] = OPTIONAL;
      bytes[at + 2] = length;
      bytes.copyWithin(at + 3, at + MP_HEAD, this.used);
      this.used--;
    } else {
      setU16(bytes, at + 2, length);
    }
    if (this.mpFirst && this.#blockLength !== 0) {
      copyBytes(this.#block, this.#blockAt, this.#blockLength, bytes, this.used);
      this.used += this.#blockLength;
    }
  }
}

/** Writes the End-of-RIB of a family at `at`, which has 29 bytes of room; returns the offset after it. */
export function writeEndOfRib(out: Uint8Array, at: number, family: Family): number {
  const classic = family === IPV4_UNICAST;
  let i = writeHeader(out, at, HEADER_LENGTH + (classic ? 4 : 10), UPDATE);
  setU16(out, i, 0);
  setU16(out, i + 2, classic ? 0 : 6);
  i += 4;
  if (classic) return i;
  out[i] = OPTIONAL;
  out[i + 1] = MP_UNREACH_NLRI;
  out[i + 2] = 3;
  setU16(out, i + 3, family >>> 8);
  out[i + 5] = family & 0xff;
  return i + 6;
}

/** The End-of-RIB of a family as a message of its own. */
export function endOfRib(family: Family): Uint8Array {
  const out = new Uint8Array(HEADER_LENGTH + 10);
  return out.subarray(0, writeEndOfRib(out, 0, family));
}

function setU16(out: Uint8Array, at: number, value: number): void {
  out[at] = value >>> 8;
  out[at + 1] = value & 0xff;
}

const NONE = new Uint8Array(0);
