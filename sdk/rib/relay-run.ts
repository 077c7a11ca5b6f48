// Stored routes on their way to one peer: neighbours that share everything but the NLRI leave in one call.
import type { RoutePath } from '../plugin/route-path.ts';
import type { AttributeTable } from './attribute-table.ts';

/** Bytes of NLRI in one call. */
const RUN = 2048;
const ROOM = RUN + 0x10000;

/** What writes an NLRI: a prefix table. */
export interface NlriWriter {
  write(row: number, out: Uint8Array, at: number): number;
}

/**
 * `add` routes, then `flush`, within one slice: a handle is not counted here. Nothing is kept between slices.
 */
export class RelayRun {
  /** NLRI sent since the start, announced or withdrawn. */
  sent = 0;
  readonly #path: RoutePath;
  readonly #attributes: AttributeTable;
  readonly #nlri = new Uint8Array(ROOM);
  #length = 0;
  #destination = 0;
  #source = 0;
  #family = 0;
  #handle = 0;

  constructor(path: RoutePath, attributes: AttributeTable) {
    this.#path = path;
    this.#attributes = attributes;
  }

  /** `handle` 0: withdraw. */
  add(destination: number, source: number, family: number, handle: number, table: NlriWriter, row: number): void {
    const same =
      handle === this.#handle && family === this.#family && source === this.#source && destination === this.#destination;
    if (!same || this.#length >= RUN) this.flush();
    this.#destination = destination;
    this.#source = source;
    this.#family = family;
    this.#handle = handle;
    this.#length += table.write(row, this.#nlri, this.#length);
    this.sent++;
  }

  flush(): void {
    const length = this.#length;
    if (length === 0) return;
    this.#length = 0;
    const handle = this.#handle;
    if (handle === 0) {
      this.#path.relay(this.#destination, this.#source, this.#family, false, this.#nlri, 0, length, NONE, 0, NONE);
      return;
    }
    const { bytes } = this.#attributes;
    const at = this.#attributes.at(handle);
    const hopAt = this.#attributes.hopAt(handle);
    const block = bytes.subarray(at, hopAt);
    const hop = bytes.subarray(hopAt, hopAt + this.#attributes.hopLength(handle));
    this.#path.relay(this.#destination, this.#source, this.#family, true, this.#nlri, 0, length, block, block.length, hop);
  }
}

const NONE = new Uint8Array(0);
