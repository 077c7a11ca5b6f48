/** Answers whose consumers are behind: as long as there is one, the link is not read, and everything else on it waits with it. */
import type { LinkAnswer } from './link-answer.ts';

export class Lagging {
  /** With the time they are borne; `undefined` = for ever. */
  readonly #answers = new Map<LinkAnswer, NodeJS.Timeout | undefined>();
  readonly #pause: (paused: boolean) => void;

  constructor(pause: (paused: boolean) => void) {
    this.#pause = pause;
  }

  /** The consumer of an answer is behind, or no longer; past `patienceMs` the answer is given up. */
  note(answer: LinkAnswer, full: boolean, patienceMs: number | undefined): boolean {
    clearTimeout(this.#answers.get(answer));
    this.#answers.delete(answer);
    if (full) this.#answers.set(answer, patienceMs === undefined ? undefined : setTimeout(() => answer.overdue(), patienceMs));
    this.#pause(this.#answers.size > 0);
    return true;
  }

  close(): void {
    for (const timer of this.#answers.values()) clearTimeout(timer);
    this.#answers.clear();
  }
}
