// Route commands come one by one and cross to the reactor together: whatever was asked in one turn of the loop is one message.
import type { Origination, OriginationResult, ReactorPort } from '../bgp/port.ts';

interface Waiting {
  readonly origination: Origination;
  readonly resolve: (result: OriginationResult) => void;
  readonly reject: (error: unknown) => void;
}

export class Originations implements Pick<ReactorPort, 'originate'> {
  readonly #reactor: Pick<ReactorPort, 'originate'>;
  #waiting: Waiting[] = [];

  constructor(reactor: Pick<ReactorPort, 'originate'>) {
    this.#reactor = reactor;
  }

  /** The callers are bounded (outstanding requests of a link, connections of the door), and so is what waits here. */
  originate(batch: readonly Origination[]): Promise<readonly OriginationResult[]> {
    return Promise.all(batch.map((origination) => this.#add(origination)));
  }

  #add(origination: Origination): Promise<OriginationResult> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => void this.#flush());
      this.#waiting.push({ origination, resolve, reject });
    });
  }

  async #flush(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const results = await this.#reactor.originate(waiting.map((one) => one.origination));
      for (const [index, one] of waiting.entries()) one.resolve(results[index] ?? NOTHING);
    } catch (error) {
      for (const one of waiting) one.reject(error);
    }
  }
}

const NOTHING: OriginationResult = {
  announced: 0,
  withdrawn: 0,
  peersAffected: 0,
  routesSent: 0,
  warnings: ['the reactor gave no answer'],
};
