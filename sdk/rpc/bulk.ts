/**
 * Requests that come by the hundred thousand (route commands): served from the line's bytes, without an object, a promise or a closure
 * for each. They count like all others against what a link may have under way.
 */
import type { Inbound } from './inbound.ts';

/** How such requests are answered: each once, in any order. `bytes` is the length of its params. */
export interface BulkReplies {
  /** `json` is one line of JSON text, all ASCII. */
  ok(id: number, bytes: number, json: string): void;
  error(id: number, bytes: number, error: unknown): void;
}

/**
 * The params lie in `bytes` from `from` to `to`; they are the link's own and valid until it returns. `id` and `replies` belong together: a
 * request that had to wait has replies of its own. A throw answers `error`; it is for requests that were not answered.
 */
export type BulkHandler = (bytes: Buffer, from: number, to: number, id: number, replies: BulkReplies) => void;

const NO_HANDLER: BulkHandler = () => undefined;

/** One method of a link. */
export class Bulk {
  readonly #inbound: Inbound;
  readonly #replies: BulkReplies;
  /** The method as it stands in a line, with a blank on either side. */
  #name: Uint8Array = new Uint8Array(0);
  #handler = NO_HANDLER;

  constructor(inbound: Inbound, writeOk: (id: number, json: string) => void, writeError: (id: number, error: unknown) => void) {
    this.#inbound = inbound;
    this.#replies = {
      ok: (id, bytes, json) => {
        writeOk(id, json);
        inbound.finished(bytes);
      },
      error: (id, bytes, error) => {
        writeError(id, error);
        inbound.finished(bytes);
      },
    };
  }

  /** Requests that have to wait come later, in their order, before those that need not. */
  serve(method: string, handler: BulkHandler): void {
    this.#name = Buffer.from(` ${method} `, 'latin1');
    this.#handler = handler;
    this.#inbound.serve(
      method,
      (request) =>
        new Promise((resolve) => {
          const replies: BulkReplies = {
            ok: (_id, _bytes, json) => {
              request.replyText(json);
              resolve();
            },
            error: (_id, _bytes, error) => {
              request.fail(error);
              resolve();
            },
          };
          handler(request.payload, 0, request.payload.length, 0, replies);
        }),
    );
  }

  /** Takes a line that ends at `to` and whose id, the number, ends at `idEnd`; false when it is none of these requests, or has to wait. */
  take(line: Buffer, id: number, idEnd: number, to: number): boolean {
    const name = this.#name;
    if (name.length === 0) return false;
    for (let i = 0; i < name.length; i++) if (line[idEnd + i] !== name[i]) return false;
    const from = idEnd + name.length;
    const bytes = to - from;
    if (!this.#inbound.admit(bytes)) return false;
    try {
      this.#handler(line, from, to, id, this.#replies);
    } catch (error) {
      this.#replies.error(id, bytes, error);
    }
    return true;
  }
}
