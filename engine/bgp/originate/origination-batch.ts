/**
 * Many route commands as one message to the reactor, and their results as another: columns of bytes, since an object for each costs
 * more on its way between threads than the route itself. What two commands in a row have in common (owner, peers, attributes) is
 * written once. A command that is more than one run of NLRI crosses as it is, in its place.
 *
 * A record is its kind (one octet) and, by kind, SCOPE: owner u16, audience u16 · ATTRIBUTES: length u32, next hop's length u8, both ·
 * ANNOUNCE and WITHDRAW: family u32, length u32, NLRI · WHOLE: nothing, the next of `whole`. All but the first two are a command.
 */
import { viewOf } from '../../../sdk/wire/bytes.ts';
import type { Origination } from '../port.ts';

export const SCOPE = 1;
export const ATTRIBUTES = 2;
export const ANNOUNCE = 3;
export const WITHDRAW = 4;
export const WHOLE = 5;

export interface OriginationBatch {
  readonly commands: number;
  readonly records: Uint8Array;
  readonly owners: readonly string[];
  /** Peer indices. */
  readonly audiences: readonly (readonly number[])[];
  readonly whole: readonly Origination[];
}

/** Numbers of a command in `counts`, in this order: announced, withdrawn, peers affected, routes sent. */
export const COUNTS = 4;

export interface OriginationCounts {
  readonly counts: Uint32Array;
  /** Of the commands that have some. */
  readonly warnings: readonly { readonly command: number; readonly texts: readonly string[] }[];
}

const ROOM = 64 * 1024;
/** Tables of owners and audiences: past it a command crosses as it is. */
const MAX_TABLE = 1024;

export class OriginationWriter {
  #bytes = new Uint8Array(ROOM);
  #view = viewOf(this.#bytes);
  #used = 0;
  #commands = 0;
  #owners: string[] = [];
  #audiences: (readonly number[])[] = [];
  #whole: Origination[] = [];
  #owner = '';
  #peers: readonly number[] | undefined;
  #attributes: Uint8Array | undefined;
  #nextHop: Uint8Array | undefined;

  get commands(): number {
    return this.#commands;
  }

  /** One run of NLRI. Arrays that are the same object as before hold the same. */
  routes(
    owner: string,
    peers: readonly number[],
    attributes: Uint8Array,
    nextHop: Uint8Array,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    length: number,
  ): void {
    this.#room(attributes.length + nextHop.length + length + 32);
    if (peers !== this.#peers || owner !== this.#owner) {
      if (this.#audiences.length >= MAX_TABLE || this.#owners.length >= MAX_TABLE) {
        const run = announce
          ? { announce: nlri.slice(0, length), withdraw: NONE }
          : { announce: NONE, withdraw: nlri.slice(0, length) };
        this.whole({ owner, peers, attributes, nextHop, sections: [{ family, ...run, pathId: 0, eor: false }] });
        return;
      }
      this.#scope(owner, peers);
    }
    if (attributes !== this.#attributes || nextHop !== this.#nextHop) this.#take(attributes, nextHop);
    const bytes = this.#bytes;
    let at = this.#used;
    bytes[at] = announce ? ANNOUNCE : WITHDRAW;
    this.#view.setUint32(at + 1, family);
    this.#view.setUint32(at + 5, length);
    at += 9;
    if (length > 48) bytes.set(nlri.subarray(0, length), at);
    else for (let i = 0; i < length; i++) bytes[at + i] = nlri[i]!;
    this.#used = at + length;
    this.#commands++;
  }

  whole(origination: Origination): void {
    this.#room(1);
    this.#bytes[this.#used++] = WHOLE;
    this.#whole.push(origination);
    this.#commands++;
  }

  /** What was written, as a message; the writer is empty again. */
  take(): OriginationBatch {
    const batch = {
      commands: this.#commands,
      records: this.#bytes.slice(0, this.#used),
      owners: this.#owners,
      audiences: this.#audiences,
      whole: this.#whole,
    };
    if (this.#bytes.length > 16 * ROOM) {
      this.#bytes = new Uint8Array(ROOM);
      this.#view = viewOf(this.#bytes);
    }
    this.#used = 0;
    this.#commands = 0;
    this.#owners = [];
    this.#audiences = [];
    this.#whole = [];
    this.#peers = undefined;
    this.#attributes = undefined;
    this.#nextHop = undefined;
    return batch;
  }

  #scope(owner: string, peers: readonly number[]): void {
    this.#owner = owner;
    this.#peers = peers;
    const at = this.#used;
    this.#bytes[at] = SCOPE;
    this.#view.setUint16(at + 1, numberOf(this.#owners, owner));
    this.#view.setUint16(at + 3, numberOf(this.#audiences, peers));
    this.#used = at + 5;
  }

  #take(attributes: Uint8Array, nextHop: Uint8Array): void {
    this.#attributes = attributes;
    this.#nextHop = nextHop;
    const at = this.#used;
    this.#bytes[at] = ATTRIBUTES;
    this.#view.setUint32(at + 1, attributes.length);
    this.#bytes[at + 5] = nextHop.length;
    this.#bytes.set(attributes, at + 6);
    this.#bytes.set(nextHop, at + 6 + attributes.length);
    this.#used = at + 6 + attributes.length + nextHop.length;
  }

  #room(bytes: number): void {
    if (this.#used + bytes <= this.#bytes.length) return;
    const next = new Uint8Array(Math.max(2 * this.#bytes.length, this.#used + bytes));
    next.set(this.#bytes.subarray(0, this.#used));
    this.#bytes = next;
    this.#view = viewOf(next);
  }
}

const NONE = new Uint8Array(0);

/** From the end: what repeats was written lately. */
function numberOf<T>(table: T[], value: T): number {
  const known = table.lastIndexOf(value);
  return known >= 0 ? known : table.push(value) - 1;
}
