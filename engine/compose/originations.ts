/**
 * Route commands come one by one and cross to the reactor together: what was asked in one turn of the loop is one message, and one
 * message is the answer. Those of a plugin's link come by the hundred thousand: they are columns here, nothing is made for each.
 */
import { COUNTS, type OriginationCounts, OriginationWriter } from '../bgp/originate/origination-batch.ts';
import type { Origination, OriginationResult, ReactorPort } from '../bgp/port.ts';

/** Whoever asked. Exactly one of the two is called for each command, once; `id` and `bytes` are what came with it. */
export interface Asker {
  /** The command's numbers are in `counts` at `at`: announced, withdrawn, peers affected, routes sent. */
  done(id: number, bytes: number, counts: Uint32Array, at: number, warnings: readonly string[]): void;
  failed(id: number, bytes: number, error: unknown): void;
}

/** Where commands of links go. */
export interface RouteQueue {
  /** One run of NLRI for the peers, copied. Arrays that are the same object as before hold the same. */
  routes(
    asker: Asker,
    id: number,
    bytes: number,
    owner: string,
    peers: readonly number[],
    attributes: Uint8Array,
    nextHop: Uint8Array,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    length: number,
  ): void;
  /** Any other command, in its place. */
  whole(asker: Asker, id: number, bytes: number, origination: Origination): void;
}

/** Commands gathered past which the turn's end is not waited for. */
const GATHERED = 4096;

export class Originations implements Pick<ReactorPort, 'originate'>, RouteQueue {
  readonly #reactor: Pick<ReactorPort, 'originateBatch'>;
  readonly #writer = new OriginationWriter();
  #askers: Asker[] = [];
  #ids: number[] = [];
  #sizes: number[] = [];
  #scheduled: NodeJS.Immediate | undefined;

  constructor(reactor: Pick<ReactorPort, 'originateBatch'>) {
    this.#reactor = reactor;
  }

  /** The callers are bounded (outstanding requests of a link, connections of the door), and so is what waits here. */
  originate(batch: readonly Origination[]): Promise<readonly OriginationResult[]> {
    return Promise.all(
      batch.map(
        (origination) =>
          new Promise<OriginationResult>((resolve, reject) => this.whole(new Promised(resolve, reject), 0, 0, origination)),
      ),
    );
  }

  routes(
    asker: Asker,
    id: number,
    bytes: number,
    owner: string,
    peers: readonly number[],
    attributes: Uint8Array,
    nextHop: Uint8Array,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    length: number,
  ): void {
    this.#writer.routes(owner, peers, attributes, nextHop, family, announce, nlri, length);
    this.#asked(asker, id, bytes);
  }

  whole(asker: Asker, id: number, bytes: number, origination: Origination): void {
    this.#writer.whole(origination);
    this.#asked(asker, id, bytes);
  }

  #asked(asker: Asker, id: number, bytes: number): void {
    this.#askers.push(asker);
    this.#ids.push(id);
    this.#sizes.push(bytes);
    if (this.#askers.length >= GATHERED) this.#flush();
    else this.#scheduled ??= setImmediate(() => this.#flush());
  }

  #flush(): void {
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const askers = this.#askers;
    const ids = this.#ids;
    const sizes = this.#sizes;
    this.#askers = [];
    this.#ids = [];
    this.#sizes = [];
    this.#reactor.originateBatch(this.#writer.take()).then(
      ({ counts, warnings }) => answer(askers, ids, sizes, counts, warnings),
      (error: unknown) => {
        for (let i = 0; i < askers.length; i++) askers[i]!.failed(ids[i]!, sizes[i]!, error);
      },
    );
  }
}

function answer(
  askers: readonly Asker[],
  ids: readonly number[],
  sizes: readonly number[],
  counts: Uint32Array,
  warnings: OriginationCounts['warnings'],
): void {
  let next = 0;
  for (let i = 0; i < askers.length; i++) {
    const texts = warnings[next]?.command === i ? warnings[next++]!.texts : NO_WARNINGS;
    askers[i]!.done(ids[i]!, sizes[i]!, counts, i * COUNTS, texts);
  }
}

const NO_WARNINGS: readonly string[] = [];

/** One that waits for its result as an object. */
class Promised implements Asker {
  readonly #resolve: (result: OriginationResult) => void;
  readonly #reject: (error: unknown) => void;

  constructor(resolve: (result: OriginationResult) => void, reject: (error: unknown) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  done(_id: number, _bytes: number, counts: Uint32Array, at: number, warnings: readonly string[]): void {
    this.#resolve({
      announced: counts[at]!,
      withdrawn: counts[at + 1]!,
      peersAffected: counts[at + 2]!,
      routesSent: counts[at + 3]!,
      warnings,
    });
  }

  failed(_id: number, _bytes: number, error: unknown): void {
    this.#reject(error);
  }
}
