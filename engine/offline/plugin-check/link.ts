// The engine's end of a link to a plugin under check: raw lines out, every line that comes in looked at. What the plugin calls is answered as a
// quiet engine would, and judged on the way.
import type { Duplex } from 'node:stream';
import {
  type AnswerWord,
  decodePayload,
  endLine,
  FrameError,
  headLine,
  isMethod,
  type Line,
  LineSplitter,
  messageOf,
  parseLine,
  recordLine,
} from '../../../sdk/rpc/index.ts';

export interface PluginRequest {
  readonly id: string;
  readonly method: string;
  readonly payload: Buffer;
}

export interface AnswerLine {
  readonly word: 'ok' | 'error' | AnswerWord;
  /** What stands behind the word. */
  readonly payload: Buffer;
}

const PREFIX = 'ze-plugin-engine:';
/** Answers of a quiet engine by method; `{}` is nothing. */
const QUIET: Readonly<Record<string, object>> = {
  'update-route': { announced: 1, withdrawn: 0, 'peers-affected': 1, 'routes-sent': 1 },
  'route-install': { installed: 0 },
  'route-remove': { removed: 0 },
  'batch-validate': { accepted: 0, rejected: 0, early: 0 },
  'emit-event': { delivered: 0 },
  'decode-nlri': { json: {} },
  'encode-nlri': { hex: '' },
  'decode-mp-reach': { family: 'ipv4/unicast', nlri: [] },
  'decode-mp-unreach': { family: 'ipv4/unicast', nlri: [] },
  'decode-update': { json: '{"update":{"nlri":{}}}' },
  'resolve-dns': { ttl: 0, status: 'NXDOMAIN' },
  'state-get': { status: 'absent' },
  'state-put': { status: 'ok' },
  'state-remove': { status: 'absent' },
  'state-list': { status: 'ok' },
  'state-increment': { status: 'ok', value: 1 },
};

export class CheckLink {
  /** What its lines and calls did wrong, each once. */
  readonly faults = new Set<string>();
  /** Methods it has called since the stages. */
  readonly called = new Map<string, number>();
  readonly closed: Promise<void>;
  #open = true;
  #serving = false;
  #lastId = 0;
  #ownId = 0;
  readonly #stream: Duplex;
  readonly #splitter = new LineSplitter((line) => this.#line(line));
  readonly #requests: PluginRequest[] = [];
  readonly #answers = new Map<string, { readonly lines: AnswerLine[]; done: boolean }>();
  readonly #wakers = new Set<() => void>();

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      stream.once('close', () => {
        this.#open = false;
        this.#wake();
        resolve();
      });
    });
  }

  get open(): boolean {
    return this.#open;
  }

  /** From here on its calls are answered at once; before, they wait for `request`. */
  serve(): void {
    this.#serving = true;
    for (const request of this.#requests.splice(0)) this.#answer(request);
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#requests.length;
  }

  /** The next request of the plugin. Rejects at the deadline, or when the link goes. */
  async request(ms: number): Promise<PluginRequest> {
    await this.#until(ms, 'a request', () => this.#requests.length > 0);
    return this.#requests.shift() as PluginRequest;
  }

  reply(request: PluginRequest, line = 'ok'): void {
    this.#stream.write(`#${request.id} ${line}\n`);
  }

  /** Sends a callback; the id it has. `text` stands behind the method as it is. */
  send(callback: string, text: string): string {
    return this.sendParts([`ze-plugin-callback:${callback}${text === '' ? '' : ` ${text}`}\n`]);
  }

  /** A request in pieces, each written by itself; the id goes before the first. */
  sendParts(parts: readonly string[]): string {
    const id = String(++this.#ownId);
    this.#answers.set(id, { lines: [], done: false });
    this.#stream.write(`#${id} ${parts[0] ?? ''}`);
    for (const part of parts.slice(1)) setImmediate(() => this.#stream.write(part));
    return id;
  }

  /** The whole answer to a callback. Rejects at the deadline, or when the link goes first. */
  async answer(id: string, ms: number): Promise<readonly AnswerLine[]> {
    await this.#until(ms, 'an answer', () => this.#answers.get(id)?.done === true);
    return this.#answers.get(id)?.lines ?? [];
  }

  /** Sends and waits. */
  ask(callback: string, params: unknown, ms: number): Promise<readonly AnswerLine[]> {
    return this.answer(this.send(callback, params === undefined ? '' : JSON.stringify(params)), ms);
  }

  end(): void {
    this.#stream.end();
  }

  destroy(): void {
    this.#stream.destroy();
  }

  #read(chunk: Buffer): void {
    try {
      this.#splitter.push(chunk);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.faults.add(`its stream cannot be followed: ${error.message}`);
      this.#stream.destroy();
    }
    this.#wake();
  }

  #line(bytes: Buffer): void {
    const line = parseLine(bytes);
    switch (line.kind) {
      case 'request':
        this.#take(line);
        return;
      case 'ok':
      case 'error':
        this.#give(line.id, { word: line.kind, payload: line.payload }, true);
        return;
      case 'answer':
        this.#give(line.id, { word: line.word, payload: line.tail }, line.word === 'end' || line.word === 'nay');
        return;
      case 'malformed':
        this.faults.add(`a line that is no message (${line.reason}): ${JSON.stringify(bytes.toString('utf8').slice(0, 60))}`);
    }
  }

  #take(line: Extract<Line, { readonly kind: 'request' }>): void {
    const id = Number(line.id);
    if (id !== this.#lastId + 1) this.faults.add(`request ids go up by one from 1: #${line.id} came after #${this.#lastId}`);
    this.#lastId = id;
    const request = { id: line.id, method: line.method, payload: line.payload };
    if (this.#serving) this.#answer(request);
    else this.#requests.push(request);
  }

  #give(id: string, line: AnswerLine, last: boolean): void {
    const answer = this.#answers.get(id);
    if (answer === undefined || answer.done) {
      this.faults.add(`an answer to #${id}, which nobody asked or which was answered`);
      return;
    }
    answer.lines.push(line);
    answer.done = last;
  }

  #answer(request: PluginRequest): void {
    const name = request.method.startsWith(PREFIX) ? request.method.slice(PREFIX.length) : request.method;
    this.called.set(name, (this.called.get(name) ?? 0) + 1);
    if (!isMethod(request.method) || !request.method.startsWith(PREFIX)) {
      this.faults.add(`it calls ${request.method}, which no engine has`);
      this.reply(request, `error {"code":"error","message":"unknown method: ${request.method.replace(/["\\]/g, '')}"}`);
      return;
    }
    try {
      decodePayload(request.method, request.payload);
    } catch (error) {
      this.faults.add(`it calls ${name} with ${messageOf(error)}`);
    }
    if (name.startsWith('dispatch-command')) {
      const { id } = request;
      const head = headLine(id, { itemType: 'doc', envelope: '', columns: [] });
      const end = endLine(id, { kind: 'end', produced: 1, rejected: 0, message: '' });
      this.#stream.write(`${head}${recordLine(id, 'row', '{}') ?? ''}${end}`);
      return;
    }
    const quiet = QUIET[name];
    this.reply(request, quiet === undefined ? 'ok' : `ok ${JSON.stringify(quiet)}`);
  }

  #until(ms: number, what: string, holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = (done: () => void): void => {
        clearTimeout(timer);
        this.#wakers.delete(look);
        done();
      };
      const look = (): void => {
        if (holds()) settle(resolve);
        else if (!this.#open) settle(() => reject(new Error(`it closed its connection before ${what}`)));
      };
      const timer = setTimeout(
        () => settle(() => reject(new Error(`no ${what.replace(/^an? /, '')} within ${ms / 1000} s`))),
        ms,
      );
      this.#wakers.add(look);
    });
  }

  #wake(): void {
    for (const look of [...this.#wakers]) look();
  }
}
