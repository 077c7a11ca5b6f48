/**
 * Rows whose NLRI a plugin reads (families that are its own), and everything behind them: the owner is asked as soon as a row comes, and
 * rows leave in the order in which they came, whether it has answered, refused or let its second pass. Who is late once is not asked again
 * until that answer is there, so a hung plugin costs one second, not one a row. Rows are bounded in number and bytes: past half of it the
 * peers that send them are held, past all of it nobody is waited for.
 */
import type { EventRow } from '../bgp/port.ts';
import type { AnsweredNlri, NlriAnswer, NlriQuestion } from '../codec/nlri-question.ts';
import type { Clock, Timer } from '../core/clock.ts';

/** How long an event waits for the owner of a family. */
export const READ_MS = 1000;
/** Questions under way at once: fewer than the calls a plugin's link holds. */
const UNDER_WAY = 8;
export const DEFERRED_ROWS = 1024;
const DEFERRED_BYTES = 4 * 1024 * 1024;
/** In front of a copied body, where a message has its header. */
const HEAD = 19;

export interface DeferredOptions {
  readonly clock: Clock;
  ask(question: NlriQuestion): Promise<NlriAnswer>;
  deliver(row: EventRow, answered: AnsweredNlri | undefined): void;
  /** Every outcome of a question, for reports. */
  answered(question: NlriQuestion, answer: NlriAnswer): void;
  hold(peer: number): void;
  letGo(): void;
}

interface Waiting {
  readonly row: EventRow | undefined;
  readonly action: (() => void) | undefined;
  readonly questions: readonly NlriQuestion[];
  readonly answers: (NlriAnswer | undefined)[];
  open: number;
}

interface Ask {
  readonly item: Waiting;
  readonly index: number;
}

export class Deferred {
  readonly #options: DeferredOptions;
  readonly #queue: Waiting[] = [];
  readonly #asks: Ask[] = [];
  /** Owners that were late, until what they were asked is answered. */
  readonly #late = new Map<string, number>();
  #underWay = 0;
  #bytes = 0;
  #holding = false;
  #leaving = false;

  constructor(options: DeferredOptions) {
    this.#options = options;
  }

  /** Whatever comes now has to stand behind what waits. */
  get waiting(): boolean {
    return this.#queue.length > 0;
  }

  /** Takes a copy of the row. Without questions it only keeps its place. */
  row(row: EventRow, questions: readonly NlriQuestion[]): void {
    const item = {
      row: copied(row),
      action: undefined,
      questions,
      answers: questions.map(() => undefined),
      open: questions.length,
    };
    this.#queue.push(item);
    this.#bytes += row.bytesLength;
    for (let index = 0; index < questions.length; index++) this.#asks.push({ item, index });
    this.#pump();
    if (this.#queue.length >= DEFERRED_ROWS || this.#bytes >= DEFERRED_BYTES) this.#giveUp('too many events wait for its answer');
    else if (questions.length > 0 && row.direction === 'received' && this.#queue.length >= DEFERRED_ROWS / 2) {
      this.#holding = true;
      this.#options.hold(row.peer);
    }
    this.#leave();
  }

  /** Runs behind what waits, at once when nothing does. */
  then(action: () => void): void {
    if (!this.waiting) action();
    else this.#queue.push({ row: undefined, action, questions: [], answers: [], open: 0 });
  }

  #pump(): void {
    while (this.#asks.length > 0 && this.#underWay < UNDER_WAY) {
      const { item, index } = this.#asks.shift()!;
      const question = item.questions[index]!;
      if (item.answers[index] !== undefined) continue;
      if (this.#late.has(question.owner)) this.#settle(item, index, late(question));
      else void this.#ask(item, index, question);
    }
  }

  async #ask(item: Waiting, index: number, question: NlriQuestion): Promise<void> {
    const { owner } = question;
    const state = { late: false };
    this.#underWay++;
    const timer: Timer = this.#options.clock.after(READ_MS, () => {
      state.late = true;
      this.#late.set(owner, (this.#late.get(owner) ?? 0) + 1);
      this.#underWay--;
      this.#settle(item, index, late(question));
      this.#pump();
      this.#leave();
    });
    const answer = await this.#options.ask(question);
    timer.cancel();
    if (state.late) {
      const left = this.#late.get(owner)! - 1;
      if (left === 0) this.#late.delete(owner);
      else this.#late.set(owner, left);
    } else {
      this.#underWay--;
      this.#settle(item, index, answer);
    }
    this.#pump();
    this.#leave();
  }

  #settle(item: Waiting, index: number, answer: NlriAnswer): void {
    if (item.answers[index] !== undefined) return;
    item.answers[index] = answer;
    item.open--;
    this.#options.answered(item.questions[index]!, answer);
  }

  #giveUp(message: string): void {
    this.#asks.length = 0;
    for (const item of this.#queue) {
      for (let i = 0; i < item.questions.length; i++)
        this.#settle(item, i, { ok: false, message: `${item.questions[i]!.owner}: ${message}` });
    }
  }

  /** From the front, as far as answers are there. What a delivery brings about stands behind. */
  #leave(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    while (this.#queue[0]?.open === 0) {
      const { row, action, questions, answers } = this.#queue[0];
      if (row === undefined) action?.();
      else {
        this.#bytes -= row.bytesLength;
        this.#options.deliver(row, questions.length === 0 ? undefined : { questions, answers: answers as NlriAnswer[] });
      }
      this.#queue.shift();
    }
    this.#leaving = false;
    if (this.#holding && this.#queue.length < DEFERRED_ROWS / 8) {
      this.#holding = false;
      this.#options.letGo();
    }
  }
}

function late({ owner }: NlriQuestion): NlriAnswer {
  return { ok: false, message: `${owner} did not answer within ${READ_MS / 1000} s` };
}

function copied(row: EventRow): EventRow {
  const bytes = new Uint8Array(HEAD + row.bytesLength);
  bytes.set(row.bytes.subarray(row.bytesAt, row.bytesAt + row.bytesLength), HEAD);
  return { ...row, bytes, bytesAt: HEAD };
}
