// In-memory links for tests: a plain pair, a pair that cuts every write into small pieces, and a scripted far end.
import { Duplex, Transform } from 'node:stream';
import { pipePair } from '../../sdk/rpc/pipe.ts';

export function duplexPair(): readonly [Duplex, Duplex] {
  return pipePair();
}

/** A pair whose left-to-right bytes arrive in pieces of `sizes`, repeated. */
export function choppyPair(sizes: readonly number[]): readonly [Duplex, Duplex] {
  const [left, right] = pipePair();
  let turn = 0;
  const chop = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length; ) {
        const size = Math.max(1, sizes[turn++ % sizes.length] ?? 1);
        this.push(chunk.subarray(at, at + size));
        at += size;
      }
      done();
    },
  });
  return [left, Duplex.from({ readable: right.pipe(chop), writable: right })];
}

/** The far end of a link as a test writes it: send lines, wait for lines. */
export class ScriptedPeer {
  readonly stream: Duplex;
  readonly lines: string[] = [];
  #rest = '';
  #ended = false;
  #wake: (() => void)[] = [];

  constructor(stream: Duplex) {
    this.stream = stream;
    stream.on('data', (chunk: Buffer) => {
      const parts = (this.#rest + chunk.toString('utf8')).split('\n');
      this.#rest = parts.pop() ?? '';
      this.lines.push(...parts);
      this.#notify();
    });
    stream.on('end', () => this.#end());
    stream.on('close', () => this.#end());
    stream.on('error', () => this.#end());
  }

  get ended(): boolean {
    return this.#ended;
  }

  send(...lines: readonly string[]): void {
    this.stream.write(lines.map((line) => `${line}\n`).join(''));
  }

  /** The next line, in order. Fails after the deadline or when the link ends first. */
  async line(deadlineMs = 30_000): Promise<string> {
    await this.#until(() => this.lines.length > 0, deadlineMs, 'a line');
    return this.lines.shift() ?? '';
  }

  async take(count: number, deadlineMs = 30_000): Promise<string[]> {
    await this.#until(() => this.lines.length >= count, deadlineMs, `${count} lines`);
    return this.lines.splice(0, count);
  }

  async end(deadlineMs = 30_000): Promise<void> {
    await this.#until(() => this.#ended, deadlineMs, 'the end');
  }

  async #until(condition: () => boolean, deadlineMs: number, what: string): Promise<void> {
    const late = Date.now() + deadlineMs;
    while (!condition()) {
      if (this.#ended) throw new Error(`the link ended before ${what} came; lines: ${JSON.stringify(this.lines)}`);
      if (Date.now() > late) throw new Error(`no ${what} within ${deadlineMs} ms; lines: ${JSON.stringify(this.lines)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 50);
        this.#wake.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  #end(): void {
    this.#ended = true;
    this.#notify();
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

/** Polls until the condition holds. */
export async function until(condition: () => boolean, what = 'the condition', deadlineMs = 30_000): Promise<void> {
  const late = Date.now() + deadlineMs;
  while (!condition()) {
    if (Date.now() > late) throw new Error(`${what} did not come true within ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
