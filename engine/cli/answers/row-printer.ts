/**
 * Rows of an answer printed as JSON, from the bytes of the socket to those of the output: a row that is plain JSON is copied and nothing is
 * made of it. Any other takes the way through the renderer.
 */
import type { AnswerHead, RowSink } from '../../../sdk/rpc/answer.ts';
import type { Output } from './output.ts';
import { isPlainJson } from './plain-json.ts';
import type { JsonRenderer } from './render.ts';

export interface RowPrinting {
  readonly output: Output;
  readonly renderer: JsonRenderer;
  /** Rows have come. */
  readonly progress: () => void;
  /** Stops and resumes reading. */
  readonly hold: (held: boolean) => void;
}

export class RowPrinter implements RowSink {
  readonly #to: RowPrinting;
  #scheduled = false;
  #held = false;

  constructor(to: RowPrinting) {
    this.#to = to;
  }

  accepts(head: AnswerHead): boolean {
    if (head.itemType !== 'map') return false;
    this.#to.output.text(this.#to.renderer.head(head));
    return true;
  }

  row(bytes: Buffer, from: number, to: number, rejected: boolean): void {
    const { output, renderer } = this.#to;
    if (!rejected && isPlainJson(bytes, from, to)) {
      output.text(renderer.lead());
      output.bytes(bytes, from, to);
    } else output.text(renderer.record(bytes.toString('utf8', from, to), rejected));
    // The rest of the chunk still comes; the next is not read.
    if (output.full && !this.#held) {
      this.#hold(true);
      output.whenRoom(() => this.#hold(false));
    }
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#turn);
  }

  /** What a producer that pauses has left in the output goes out. */
  readonly #turn = (): void => {
    this.#scheduled = false;
    this.#to.progress();
    this.#to.output.send();
  };

  #hold(held: boolean): void {
    this.#held = held;
    this.#to.hold(held);
  }
}
