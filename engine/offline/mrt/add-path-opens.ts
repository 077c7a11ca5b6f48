// Some files hold ADD-PATH routes under a record subtype that does not say so; the OPENs of the same file do (RFC 7911 §4).

import { countPrefixes, PrefixCursor } from '../../../sdk/wire/nlri/prefix.ts';

const ADD_PATH = 69;
const CAPABILITIES = 2;

/** Learns from both sides' OPENs of a pair of addresses which families carry path identifiers. */
export class AddPathOpens {
  readonly #prefix = new PrefixCursor();
  /** By pair and family: the direction octet of each OPEN, 1 receive, 2 send, 3 both. */
  readonly #seen = new Map<string, Map<number, number[]>>();

  /** Reads the capabilities of an OPEN body; a malformed one teaches nothing. */
  learn(pair: string, view: DataView, start: number, end: number): void {
    let at = start + 10;
    const parametersEnd = Math.min(end, at + (at <= end ? view.getUint8(at - 1) : 0));
    while (at + 2 <= parametersEnd) {
      const type = view.getUint8(at);
      const parameterEnd = at + 2 + view.getUint8(at + 1);
      if (type === CAPABILITIES && parameterEnd <= parametersEnd) this.#capabilities(pair, view, at + 2, parameterEnd);
      at = parameterEnd;
    }
  }

  /**
   * Does this run of NLRI carry path identifiers? An OPEN of the pair must have offered to send them; since most files hold one side's
   * OPEN alone, the bytes decide: read plainly, a run of path identifiers breaks off or repeats the prefix of length 0.
   */
  applies(pair: string, family: number, view: DataView, at: number, end: number): boolean {
    const directions = this.#seen.get(pair)?.get(family);
    if (directions === undefined || !directions.some((direction) => (direction & 2) !== 0)) return false;
    const maxBits = family >>> 8 === 2 ? 128 : 32;
    if (countPrefixes(view, at, end - at, maxBits, true) < 0) return false;
    let defaults = 0;
    const plain = this.#prefix.over(view, at, end - at, maxBits, false);
    while (plain.next()) if (plain.lengthBits === 0) defaults++;
    return plain.at < plain.end || defaults > 1;
  }

  #capabilities(pair: string, view: DataView, start: number, end: number): void {
    for (let at = start; at + 2 <= end; at += 2 + view.getUint8(at + 1)) {
      const valueEnd = at + 2 + view.getUint8(at + 1);
      if (view.getUint8(at) !== ADD_PATH || valueEnd > end) continue;
      const families = this.#seen.get(pair) ?? new Map<number, number[]>();
      this.#seen.set(pair, families);
      for (let entry = at + 2; entry + 4 <= valueEnd; entry += 4) {
        const family = (view.getUint16(entry) << 8) | view.getUint8(entry + 2);
        const directions = families.get(family) ?? [];
        families.set(family, directions);
        directions.push(view.getUint8(entry + 3));
      }
    }
  }
}
