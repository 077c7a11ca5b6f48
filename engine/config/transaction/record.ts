// What a running transaction says and remembers: events of namespace `config`, the outcome of each plugin, the first failure.
import { Outcomes } from './outcomes.ts';
import type { AckCode, EventSink } from './participant.ts';

export type Phase = 'verify' | 'plan' | 'operation-verify' | 'apply';

export interface Failure {
  readonly phase: Phase;
  /** '' = nobody in particular; an engine step's owner where it was one. */
  readonly plugin: string;
  readonly code: Exclude<AckCode, 'ok'>;
  readonly message: string;
}

export class TransactionRecord {
  readonly outcomes: Outcomes;
  readonly #id: string;
  readonly #emit: EventSink;
  readonly #signal: AbortSignal;

  constructor(id: string, names: readonly string[], emit: EventSink, signal: AbortSignal) {
    this.outcomes = new Outcomes(names);
    this.#id = id;
    this.#emit = emit;
    this.#signal = signal;
  }

  /** The daemon stops: nobody is told anything any more. */
  isStopped(): boolean {
    return this.#signal.aborted;
  }

  emit(type: string, payload: Readonly<Record<string, unknown>> = {}): void {
    if (!this.isStopped()) this.#emit(type, { 'transaction-id': this.#id, ...payload });
  }

  /** `<word>-ok` or `<word>-failed`. */
  told(word: string, plugin: string, ack: { readonly code: AckCode; readonly error: string }, more: object = {}): void {
    if (ack.code === 'ok') this.emit(`${word}-ok`, { plugin, status: 'ok', code: 'ok', ...more });
    else this.emit(`${word}-failed`, { plugin, status: 'error', error: ack.error, code: ack.code, ...more });
  }

  failed(phase: Phase, plugin: string, code: Exclude<AckCode, 'ok'>, message: string): Failure {
    this.outcomes.failed(plugin, phase, code, message);
    return { phase, plugin, code, message };
  }
}
