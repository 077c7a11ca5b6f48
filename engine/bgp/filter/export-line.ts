/**
 * The last stretch before the socket of a peer with export filters: every UPDATE for it, whoever wrote it, is asked about and leaves
 * in its order once the answer is there. End-of-RIB, ROUTE-REFRESH and raw bytes keep their place among them unasked. What waits
 * here counts as queued for the peer (`Peer.queuedBytes`), so what makes for a slow receiver makes for a slow filter: best routes
 * leave it a set of rows, messages hold their sources.
 */
import { viewOf } from '../../../sdk/wire/bytes.ts';
import { RESET } from '../../../sdk/wire/fault.ts';
import { HEADER_LENGTH, UPDATE } from '../../../sdk/wire/message.ts';
import { UpdateView } from '../../../sdk/wire/update.ts';
import { Announced } from './announced.ts';
import { divided } from './divide.ts';
import { speaks } from './filter-question.ts';
import type { QuestionHost } from './filter-question.ts';
import { type PolicyTable, stepsOf } from './filter-steps.ts';
import type { Peer } from '../session/peer.ts';
import type { Changes } from './pipeline.ts';
import { Pipeline } from './pipeline.ts';

export interface LineHost extends QuestionHost {
  readonly policies: PolicyTable;
  filterFailed(peer: Peer, step: string, error: unknown): void;
}

export interface LineOwner {
  /** Whole messages, which stay as they are. */
  deliver(bytes: Uint8Array): void;
  deliverRaw(bytes: Uint8Array): void;
  /** Messages that waited leave in `release`. */
  late(release: () => void): void;
}

export class ExportLine {
  readonly #peer: Peer;
  readonly #owner: LineOwner;
  readonly #pipeline: Pipeline;
  readonly #announced: Announced;
  readonly #view = new UpdateView();
  readonly #originalView = new UpdateView();
  readonly #host: LineHost;
  /** While messages come: those that passed at once. */
  #gathered: Uint8Array[] | undefined;

  /** `whole`: nothing was sent to the peer before. */
  constructor(peer: Peer, owner: LineOwner, host: LineHost, whole: boolean) {
    this.#peer = peer;
    this.#owner = owner;
    this.#host = host;
    this.#announced = new Announced(peer.send.families, whole);
    this.#pipeline = new Pipeline(
      {
        passed: (bytes, at, length, late, changes) =>
          this.#passed(late || changes !== undefined ? bytes : bytes.subarray(at, at + length), changes),
        rejected: (bytes, at, length, removed) => {
          peer.counters.exportRejected++;
          for (const message of removed) this.#withdrawOwed(message, 0, message.length, undefined);
          this.#withdrawOwed(bytes, at, length, undefined);
        },
        teardown: () => undefined,
        stepFailed: (step, error) => host.filterFailed(peer, step, error),
        hold: () => undefined,
        late: (release) => owner.late(release),
      },
      peer.index,
      [],
    );
    this.configure();
  }

  /** The peer's filters changed; without any, messages pass behind those that still wait. */
  configure(): void {
    const { send } = this.#peer;
    this.#pipeline.steps = stepsOf(this.#peer, 'export', { arriving: send, replaced: send }, this.#host.policies, this.#host);
  }

  get waitingBytes(): number {
    return this.#pipeline.waitingBytes;
  }

  /** Whole messages of any kind; copied. `shared`: other peers get the same object. */
  take(bytes: Uint8Array, shared = false): void {
    const gathered: Uint8Array[] = [];
    this.#gathered = gathered;
    this.#host.policies.shared = shared ? bytes : undefined;
    try {
      for (let at = 0; at < bytes.length; ) {
        const length = (bytes[at + 16]! << 8) | bytes[at + 17]!;
        this.#pipeline.push(bytes, at, length, bytes[at + HEADER_LENGTH - 1] !== UPDATE || !this.#locate(bytes, at, length));
        at += length;
      }
    } finally {
      this.#gathered = undefined;
      this.#host.policies.shared = undefined;
    }
    if (gathered.length > 0) this.#owner.deliver(joined(gathered));
  }

  /** Does the peer have this route? `nlri` as it went out, `length` bytes at `at`. True for families that are not kept count of. */
  has(family: number, nlri: Uint8Array, at: number, length: number): boolean {
    return this.#announced.has(family, viewOf(nlri), at, length);
  }

  /** What passed at once leaves in one piece, its bytes copied; what waited, by itself. */
  #deliver(message: Uint8Array): void {
    if (this.#gathered === undefined) this.#owner.deliver(message);
    else this.#gathered.push(message);
  }

  /** Bytes that need not be a message, behind everything taken so far. */
  takeRaw(bytes: Uint8Array): void {
    this.#pipeline.after(() => this.#owner.deliverRaw(bytes));
  }

  /** The session ended. */
  clear(): void {
    this.#pipeline.clear();
  }

  /** The view stands on the message; false when there is nothing to ask about. */
  #locate(bytes: Uint8Array, at: number, length: number, view = this.#view): boolean {
    return view.locate(bytes, viewOf(bytes), at, length, this.#peer.send) !== RESET && speaks(view);
  }

  #passed(message: Uint8Array, changes: Changes | undefined): void {
    const original = changes?.original;
    // What filters of ours made longer than the session takes becomes several.
    if (changes !== undefined && message.length > this.#peer.send.maxMessage) {
      this.#passedLong(message, changes);
      return;
    }
    if (changes !== undefined) {
      this.#peer.counters.exportModified++;
      for (const removed of changes.removed) this.#withdrawOwed(removed, 0, removed.length, undefined);
    }
    const speaking = message[HEADER_LENGTH - 1] === UPDATE && this.#locate(message, 0, message.length);
    if (original !== undefined) this.#withdrawOwed(original, 0, original.length, speaking ? this.#view : undefined);
    if (speaking) this.#announced.note(this.#view, false);
    this.#deliver(message);
  }

  /** The same in messages of the size the session takes; of routes that fit none, what the peer has is withdrawn. */
  #passedLong(message: Uint8Array, changes: Changes): void {
    const { messages, refused } = divided(message, this.#peer.send);
    for (const [i, part] of messages.entries()) {
      this.#passed(part, i === 0 ? { ...changes, removed: [...changes.removed, ...refused] } : undefined);
    }
    if (messages.length > 0) return;
    this.#peer.counters.exportRejected++;
    for (const one of [...changes.removed, ...refused]) this.#withdrawOwed(one, 0, one.length, undefined);
  }

  /** What the peer has of the routes in a message that it is not to get, or gets otherwise. */
  #withdrawOwed(bytes: Uint8Array, at: number, length: number, instead: UpdateView | undefined): void {
    const view = this.#originalView;
    if (!this.#locate(bytes, at, length, view)) return;
    for (const message of this.#announced.owed(view, instead)) {
      if (this.#locate(message, 0, message.length, view)) this.#announced.note(view, false);
      this.#deliver(message);
    }
  }
}

function joined(messages: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const message of messages) length += message.length;
  const out = new Uint8Array(length);
  let at = 0;
  for (const message of messages) {
    out.set(message, at);
    at += message.length;
  }
  return out;
}
