/**
 * A byte stream over a MessagePort: the startup pipe of a plugin in another thread. Chunks are copied and handed over whole;
 * more than 256 KiB that the other side has not read hold the writer.
 */
import { Duplex } from 'node:stream';
import type { MessagePort } from 'node:worker_threads';

type Done = (error?: Error | null) => void;
type Message = { readonly bytes: Uint8Array } | { readonly taken: number } | { readonly end: true };

const WINDOW_BYTES = 256 * 1024;

export class PortDuplex extends Duplex {
  readonly #port: MessagePort;
  #outstanding = 0;
  #untold = 0;
  #written: Done | undefined;
  #ended = false;

  constructor(port: MessagePort) {
    super({ allowHalfOpen: false });
    this.#port = port;
    port.on('message', (message: Message) => this.#onMessage(message));
    port.on('close', () => {
      this.#onEnd();
      // Nobody may be reading; what is read to its end is closed all the same.
      setImmediate(() => {
        if (!this.destroyed && this.readableLength === 0) this.destroy();
      });
    });
  }

  override _read(): void {
    if (this.#untold === 0) return;
    this.#port.postMessage({ taken: this.#untold } satisfies Message);
    this.#untold = 0;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    const bytes = Uint8Array.from(chunk);
    this.#outstanding += bytes.length;
    this.#port.postMessage({ bytes } satisfies Message, [bytes.buffer]);
    if (this.#outstanding < WINDOW_BYTES) done();
    else this.#written = done;
  }

  override _final(done: Done): void {
    this.#port.postMessage({ end: true } satisfies Message);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const written = this.#written;
    this.#written = undefined;
    written?.(error ?? new Error('the port is closed'));
    this.#port.close();
    done(error);
  }

  #onMessage(message: Message): void {
    if ('bytes' in message) {
      this.#untold += message.bytes.length;
      if (this.push(Buffer.from(message.bytes.buffer))) this._read();
    } else if ('taken' in message) {
      this.#outstanding -= message.taken;
      if (this.#outstanding >= WINDOW_BYTES) return;
      const written = this.#written;
      this.#written = undefined;
      written?.();
    } else this.#onEnd();
  }

  #onEnd(): void {
    if (this.#ended || this.destroyed) return;
    this.#ended = true;
    this.push(null);
  }
}
