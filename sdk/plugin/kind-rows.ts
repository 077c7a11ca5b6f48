/** The rows of one kind (and direction) out of a mixed structured batch, without copying anything but row numbers. */
import type { PeerDirectory, StructuredBatch } from './structured.ts';

export class KindRows implements StructuredBatch {
  readonly #kind: number;
  readonly #direction: number;
  #batch: StructuredBatch | undefined;
  #rows = new Int32Array(256);
  count = 0;

  /** `direction` 0 = any. */
  constructor(kind: number, direction = 0) {
    this.#kind = kind;
    this.#direction = direction;
  }

  /** The batch itself when every row is of the kind, else this view of it; `undefined` when none is. Valid as long as `batch`. */
  over(batch: StructuredBatch): StructuredBatch | undefined {
    if (this.#rows.length < batch.count) this.#rows = new Int32Array(batch.count * 2);
    this.count = 0;
    for (let row = 0; row < batch.count; row++) {
      if (batch.kind(row) !== this.#kind) continue;
      if (this.#direction === 0 || batch.direction(row) === this.#direction) this.#rows[this.count++] = row;
    }
    this.#batch = batch;
    if (this.count === 0) return undefined;
    return this.count === batch.count ? batch : this;
  }

  get #source(): StructuredBatch {
    if (this.#batch === undefined) throw new Error('no batch');
    return this.#batch;
  }

  get bytes(): Uint8Array {
    return this.#source.bytes;
  }

  get view(): DataView {
    return this.#source.view;
  }

  get peers(): PeerDirectory {
    return this.#source.peers;
  }

  kind(): number {
    return this.#kind;
  }

  peer(row: number): number {
    return this.#source.peer(this.#rows[row]!);
  }

  direction(row: number): number {
    return this.#source.direction(this.#rows[row]!);
  }

  messageId(row: number): number {
    return this.#source.messageId(this.#rows[row]!);
  }

  at(row: number): number {
    return this.#source.at(this.#rows[row]!);
  }

  length(row: number): number {
    return this.#source.length(this.#rows[row]!);
  }

  asn4(row: number): boolean {
    return this.#source.asn4(this.#rows[row]!);
  }

  addPath(row: number, family: number): boolean {
    return this.#source.addPath(this.#rows[row]!, family);
  }

  up(row: number): boolean {
    return this.#source.up(this.#rows[row]!);
  }

  reason(row: number): string {
    return this.#source.reason(this.#rows[row]!);
  }

  initialReplay(row: number): number {
    return this.#source.initialReplay(this.#rows[row]!);
  }

  unheldRoles(row: number): readonly string[] {
    return this.#source.unheldRoles(this.#rows[row]!);
  }
}
