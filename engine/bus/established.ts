/**
 * Which peers are up, and what was negotiated with them: what a process that starts while sessions live is told first. Kept from
 * the rows that pass by, so that it never runs ahead of what the process will see.
 */
import type { EventKind, EventRow, PeerIdentity } from '../bgp/port.ts';

interface Known {
  up: boolean;
  /** Of the up event, so that who comes late can report too. */
  initialReplay: number;
  negotiated: EventRow['negotiated'];
}

/** By peer index. */
export class Established {
  readonly #peers = new Map<number, Known>();

  /** A row of kind state or negotiated. What was negotiated comes first, and holds until the peer goes down. */
  note(row: EventRow): void {
    if (row.kind === 'state' && row.state !== 'up') {
      this.#peers.delete(row.peer);
      return;
    }
    let peer = this.#peers.get(row.peer);
    if (peer === undefined) this.#peers.set(row.peer, (peer = { up: false, initialReplay: 0, negotiated: undefined }));
    if (row.kind === 'state') {
      peer.up = true;
      peer.initialReplay = row.initialReplay;
    } else peer.negotiated = row.negotiated;
  }

  /** The peers there are now: a number that is gone may come back as another peer. */
  keep(list: readonly PeerIdentity[]): void {
    const known = new Set(list.map((peer) => peer.index));
    for (const index of this.#peers.keys()) if (!known.has(index)) this.#peers.delete(index);
  }

  /** For each peer that is up, what was negotiated and its state, as rows like the live ones and in their order. */
  *rows(at: number): Generator<EventRow> {
    for (const [index, { up, initialReplay, negotiated }] of [...this.#peers].sort(([a], [b]) => a - b)) {
      if (!up) continue;
      if (negotiated !== undefined) yield { ...bare('negotiated', index, at), negotiated };
      yield { ...bare('state', index, at), state: 'up', initialReplay };
    }
  }
}

function bare(kind: EventKind, peer: number, at: number): EventRow {
  return {
    kind,
    direction: 'unspecified',
    peer,
    messageId: 0,
    at,
    bytes: NOTHING,
    bytesAt: 0,
    bytesLength: 0,
    asn4: true,
    addPath: [],
    state: '',
    reason: '',
    family: 0,
    negotiated: undefined,
    lost: 0,
    initialReplay: 0,
  };
}

const NOTHING = new Uint8Array(0);
