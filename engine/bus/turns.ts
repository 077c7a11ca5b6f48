/**
 * Who is told when, of what all must learn in order: state changes and End-of-RIB reach one process after another, dependents
 * before what they depend on, each when the one before has taken them (plugin-lifecycle §11). A batch that holds such an event
 * has a turn: it waits for the batch of the process before, and the process behind waits for it. Turns point from the front of
 * the fixed order to its back, so nothing waits in a circle; who does not answer has failed after its delivery time, and the
 * next one's turn comes.
 */
export class Turn {
  readonly #next: Turn[] = [];
  #before = 0;
  #over = false;

  /** The batch may not be delivered yet. */
  get waits(): boolean {
    return this.#before > 0;
  }

  /** Behind the other one. Saying it twice says nothing more. */
  follow(other: Turn): void {
    if (other.#over || other.#next.includes(this)) return;
    other.#next.push(this);
    this.#before++;
  }

  /** The batch was taken, refused or given up. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    for (const turn of this.#next.splice(0)) turn.#before--;
  }
}
