/** The answers that a link writes, by the peer's id: from the request on until the last line, so that the peer can give one up at any time. */
import type { AnswerSource } from './answer.ts';
import { type LineSink, writeAnswer } from './answer-writer.ts';

export class WrittenAnswers {
  readonly #sources = new Map<string, AnswerSource>();
  /** Ids whose answer has no source yet. */
  readonly #preparing = new Set<string>();
  /** Of those, the ones the peer has given up meanwhile. */
  readonly #unwanted = new Set<string>();

  /** Makes the source of an answer, then has it written. */
  async prepare(
    id: string,
    make: () => AnswerSource | Promise<AnswerSource>,
    answer: (source: AnswerSource) => Promise<void>,
  ): Promise<void> {
    this.#preparing.add(id);
    try {
      const source = await make();
      this.#preparing.delete(id);
      await answer(source);
    } finally {
      this.#preparing.delete(id);
      this.#unwanted.delete(id);
    }
  }

  async write(id: string, source: AnswerSource, sink: LineSink): Promise<void> {
    this.#sources.set(id, source);
    if (this.#unwanted.delete(id)) source.cancel();
    try {
      await writeAnswer(id, source, sink);
    } catch {
      // The link closed under the answer: the source is cancelled, and nobody is left to tell.
    } finally {
      this.#sources.delete(id);
    }
  }

  /** The peer reads this one no more. */
  cancel(id: string): void {
    const source = this.#sources.get(id);
    if (source !== undefined) source.cancel();
    else if (this.#preparing.has(id)) this.#unwanted.add(id);
  }

  close(): void {
    for (const source of [...this.#sources.values()]) source.cancel();
    this.#unwanted.clear();
  }
}
