/**
 * Builds UPDATEs once for a list of peers that would get the same bytes, and puts them into each one's outbox: originated,
 * relayed and cached routes. Routes that follow each other with equal attributes for the same peers share messages.
 */
import { UpdateWriter } from '../../../sdk/wire/writer.ts';
import { CHUNK_BYTES } from './chunk.ts';
import type { Peer } from '../session/peer.ts';

export class Courier {
  readonly writer = new UpdateWriter();
  readonly #bytes = new Uint8Array(CHUNK_BYTES);
  readonly #put: (peer: Peer, bytes: Uint8Array, at: number, length: number) => void;
  #targets: readonly Peer[] = [];
  /** Names the group of routes the writer is in, for whoever began it; undefined: begin anew. */
  run: object | undefined;

  constructor(put: (peer: Peer, bytes: Uint8Array, at: number, length: number) => void) {
    this.#put = put;
    this.writer.over(this.#bytes);
  }

  /** What is written next is for these peers; when they are others than before, what was written is handed over first. */
  address(targets: readonly Peer[]): void {
    if (same(targets, this.#targets)) return;
    this.distribute();
    this.#targets = targets;
  }

  get empty(): boolean {
    return this.writer.used === 0;
  }

  /** The writer said FULL: hands over and goes on, the writer's group unbroken. */
  turn(): void {
    this.#hand();
  }

  /** Hands over what was written; the writer's group is over. */
  distribute(): void {
    this.#hand();
    this.run = undefined;
    this.#targets = [];
  }

  #hand(): void {
    this.writer.close();
    const used = this.writer.used;
    if (used > 0) for (const peer of this.#targets) this.#put(peer, this.#bytes, 0, used);
    this.writer.over(this.#bytes);
  }
}

function same(a: readonly Peer[], b: readonly Peer[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
