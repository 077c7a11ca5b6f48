// Reloads and commits, one at a time: who asks for a reload during one shares the next, which reads the file again.
export class ReloadTurns<Outcome> {
  readonly #reload: () => Promise<Outcome>;
  #running: Promise<Outcome> | undefined;
  /** The one reload that waits for `#running`: all who ask meanwhile share it. */
  #waiting: Promise<Outcome> | undefined;
  /** The last of the reloads and commits: the next one begins behind it. */
  #last: Promise<unknown> = Promise.resolve();

  /** `reload` does one, in a turn it takes by `inTurn`, and never rejects. */
  constructor(reload: () => Promise<Outcome>) {
    this.#reload = reload;
  }

  request(): Promise<Outcome> {
    if (this.#running === undefined) return this.#begin();
    this.#waiting ??= this.#running.then(() => {
      this.#waiting = undefined;
      return this.#begin();
    });
    return this.#waiting;
  }

  /** After all that came before it. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #begin(): Promise<Outcome> {
    this.#running = this.#reload().finally(() => (this.#running = undefined));
    return this.#running;
  }
}
