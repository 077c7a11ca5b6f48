// What was originated, as bytes: for a plugin that keeps it. Neighbouring rows that share everything but their NLRI are one record.
import type { Walker } from '../../sdk/plugin/walk.ts';
import { familyName } from '../../sdk/wire/family.ts';
import type { OriginatedRoute } from './adj-rib-out.ts';
import type { Rib } from './rib.ts';

/** Bytes of NLRI in one record, before the last entry. */
const RUN = 2048;

/** Records `{ peer (its address), owner, family, path-id, attributes, next-hop, nlri }`, bytes in hex; an empty next hop is ours. */
export class OriginationsWalker implements Walker {
  readonly #rib: Rib;
  readonly #peers: readonly number[];
  readonly #room = Buffer.alloc(0x10000);
  readonly #run = Buffer.alloc(RUN + 0x10000);
  readonly #route = emptyRoute();
  readonly #first = emptyRoute();
  #length = 0;
  #peer = 0;
  #row = 0;

  constructor(rib: Rib, peers: readonly number[]) {
    this.#rib = rib;
    this.#peers = peers;
  }

  /** Nothing is remembered from one scan to the next. */
  resume(): void {
    this.#length = 0;
  }

  scan(count: number, emit: (json: string) => void): boolean {
    for (let left = count; left > 0; ) {
      const peer = this.#peers[this.#peer];
      if (peer === undefined) return false;
      if (this.#row >= this.#rib.out.rows(peer)) {
        this.#flush(peer, emit);
        this.#peer++;
        this.#row = 0;
        continue;
      }
      left--;
      this.#add(peer, this.#row++, emit);
    }
    const peer = this.#peers[this.#peer];
    if (peer !== undefined) this.#flush(peer, emit);
    return true;
  }

  #add(peer: number, row: number, emit: (json: string) => void): void {
    const [route, first] = [this.#route, this.#first];
    const size = this.#rib.out.read(peer, row, route, this.#room);
    if (size === 0) return;
    const same =
      route.handle === first.handle &&
      route.family === first.family &&
      route.pathId === first.pathId &&
      route.owner === first.owner;
    if (this.#length > 0 && (!same || this.#length >= RUN)) this.#flush(peer, emit);
    Object.assign(first, route);
    this.#room.copy(this.#run, this.#length, 0, size);
    this.#length += size;
  }

  #flush(peer: number, emit: (json: string) => void): void {
    if (this.#length === 0) return;
    const { family, pathId, handle, owner } = this.#first;
    const table = this.#rib.store.attributes;
    const bytes = Buffer.from(table.bytes.buffer, table.bytes.byteOffset, table.bytes.byteLength);
    const hopAt = table.hopAt(handle);
    emit(
      JSON.stringify({
        peer: this.#rib.routes.peers.address(peer),
        owner,
        family: familyName(family),
        'path-id': pathId,
        attributes: bytes.toString('hex', table.at(handle), hopAt),
        'next-hop': bytes.toString('hex', hopAt, hopAt + table.hopLength(handle)),
        nlri: this.#run.toString('hex', 0, this.#length),
      }),
    );
    this.#length = 0;
  }
}

function emptyRoute(): OriginatedRoute {
  return { family: 0, pathId: 0, handle: 0, owner: '', meta: '' };
}
