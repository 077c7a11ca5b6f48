/**
 * Requests that come by the hundred thousand (route commands): served from the line's bytes, without an object, a promise or a closure
 * for each. They count like all others against what a link may have under way.
 */
import type { Inbound } from './inbound.ts';

/** How such requests are answered: each once, in any order. `bytes` is the length of its params. */
export interface BulkReplies {
  /** `json` is one line of JSON text, all ASCII. */
  ok(id: string, bytes: number, json: string): void;
  error(id: string, bytes: number, error: unknown): void;
}

/** The params are the link's own bytes, valid until it returns. A throw answers `error`; it is for requests that were not answered. */
export type BulkHandler = (params: Buffer, id: string, replies: BulkReplies) => void;

const NO_HANDLER: BulkHandler = () => undefined;

/** One method of a link. */
export class Bulk {
  readonly #inbound: Inbound;
  readonly #replies: BulkReplies;
  /** The method as it stands in a line, with a blank on either side. */
  #name: Uint8Array = new Uint8Array(0);
  #handler = NO_HANDLER;

  constructor(inbound: Inbound, writeOk: (id: string, json: string) => void, writeError: (id: string, error: unknown) => void) {
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
          handler(request.payload, request.id, replies);
        }),
    );
  }

  /** Takes a line whose id ends at `idEnd`; false when it is none of these requests, or has to wait. */
  take(line: Buffer, idEnd: number): boolean {
    const name = this.#name;
    if (name.length === 0) return false;
    for (let i = 0; i < name.length; i++) if (line[idEnd + i] !== name[i]) return false;
    const start = idEnd + name.length;
    const bytes = line.length - start;
    if (!this.#inbound.admit(bytes)) return false;
    const id = line.toString('latin1', 1, idEnd);
    try {
      this.#handler(line.subarray(start), id, this.#replies);
    } catch (error) {
      this.#replies.error(id, bytes, error);
    }
    return true;
  }
}
