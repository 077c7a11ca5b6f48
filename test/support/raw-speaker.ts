// A BGP speaker without manners: dials the daemon from an address of its own, opens by the codec when asked to, and sends whatever
// bytes it is given. What arrives is kept message by message, with the time of each.
import { connect, type Socket } from 'node:net';
import { addressBytes } from '../../sdk/wire/address.ts';
import { toHex, viewOf } from '../../sdk/wire/bytes.ts';
import { type TypedCapability, writeCapability } from '../../sdk/wire/capability/typed.ts';
import { IPV4_UNICAST, IPV6_UNICAST, type Family } from '../../sdk/wire/family.ts';
import { HEADER_LENGTH, KEEPALIVE, keepalive, NOTIFICATION, OPEN, UPDATE } from '../../sdk/wire/message.ts';
import { BGP_VERSION, encodeOpen, type OpenMessage, shortAs } from '../../sdk/wire/open.ts';

export interface RawOptions {
  readonly port: number;
  /** 127.0.0.N: our own, and the peer's name in the daemon's configuration. */
  readonly local: string;
  readonly host?: string;
  readonly as?: number;
  readonly holdSeconds?: number;
  readonly families?: readonly Family[];
  /** Beside the families; the default is route refresh and four-octet AS numbers. */
  readonly capabilities?: readonly TypedCapability[];
}

export interface Arrived {
  readonly type: number;
  /** Whole message, header included. */
  readonly bytes: Uint8Array;
  /** ms, monotonic */
  readonly at: number;
}

/** Of an UPDATE flood only so much is kept. */
const KEPT = 2000;

export class RawSpeaker {
  readonly options: RawOptions;
  readonly socket: Socket;
  /** The last ones that arrived. */
  readonly messages: Arrived[] = [];
  readonly counts = new Map<number, number>();
  /** The first NOTIFICATION: `code/subcode data`, data in hex. */
  notification: string | undefined;
  /** How the connection ended, once it has: `fin`, or the system's error code. */
  ended: string | undefined;
  /** ms between KEEPALIVEs that arrived after the session came up: the largest, and the last one's time. */
  largestGap = 0;
  #keepaliveAt = 0;
  #rest = Buffer.alloc(0);
  #beat: NodeJS.Timeout | undefined;
  readonly #waiting = new Set<() => void>();

  private constructor(options: RawOptions, socket: Socket) {
    this.options = options;
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('end', () => this.#end('fin'));
    socket.on('error', (error: NodeJS.ErrnoException) => this.#end(error.code ?? 'error'));
    socket.on('close', () => this.#end('closed'));
  }

  /** TCP alone. Rejects with the system's error. */
  static connect(options: RawOptions): Promise<RawSpeaker> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: options.host ?? '127.0.0.1', port: options.port, localAddress: options.local });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RawSpeaker(options, socket));
      });
    });
  }

  /** TCP, OPEN and KEEPALIVE both ways, then KEEPALIVEs by themselves. */
  static async establish(options: RawOptions): Promise<RawSpeaker> {
    const speaker = await RawSpeaker.connect(options);
    speaker.send(speaker.open());
    await speaker.arrives(OPEN);
    speaker.send(keepalive());
    await speaker.arrives(KEEPALIVE);
    speaker.beat();
    return speaker;
  }

  /** Our OPEN, changed as asked. */
  open(change: Partial<OpenMessage> = {}): Uint8Array {
    const { as = 64512, holdSeconds = 90, local, families = [IPV4_UNICAST, IPV6_UNICAST] } = this.options;
    const id = addressBytes(local) ?? Uint8Array.of(192, 0, 2, 77);
    return encodeOpen({
      version: BGP_VERSION,
      myAs: shortAs(as),
      holdTimeSeconds: holdSeconds,
      routerId: viewOf(id).getUint32(0),
      capabilities: [
        ...families.map((family): TypedCapability => ({ kind: 'multiprotocol', family })),
        ...(this.options.capabilities ?? [{ kind: 'route-refresh' }, { kind: 'asn4', asn: as }]),
      ].map(writeCapability),
      ...change,
    });
  }

  send(bytes: Uint8Array): boolean {
    return this.socket.writable && this.socket.write(bytes);
  }

  /** Keeps the session alive until it ends. */
  beat(): void {
    const seconds = this.options.holdSeconds ?? 90;
    if (seconds === 0) return;
    this.#keepaliveAt = performance.now();
    this.#beat = setInterval(() => this.send(keepalive()), (seconds * 1000) / 3);
  }

  /** No KEEPALIVEs any more. */
  quiet(): void {
    clearInterval(this.#beat);
  }

  /** The next message of this type that has arrived, or will; rejects at the deadline and when the connection ends. */
  async arrives(type: number, deadlineMs = 60_000): Promise<Arrived> {
    const found = (): Arrived | undefined => this.messages.find((message) => message.type === type);
    await this.until(
      `a message of type ${type} from the daemon to ${this.options.local}`,
      () => found() !== undefined,
      deadlineMs,
    );
    const message = found();
    if (message === undefined) throw new Error('gone');
    return message;
  }

  /** Resolves when the probe is true after something arrived or the connection ended. */
  until(what: string, probe: () => boolean, deadlineMs = 60_000): Promise<void> {
    return new Promise((resolve, reject) => {
      const over = (error?: Error): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        if (error === undefined) resolve();
        else reject(error);
      };
      const look = (): void => {
        if (probe()) over();
        else if (this.ended !== undefined)
          over(new Error(`${what}: the connection ended (${this.ended}) ${this.notification ?? ''}`));
      };
      const timer = setTimeout(() => over(new Error(`not within ${deadlineMs} ms: ${what}`)), deadlineMs);
      this.#waiting.add(look);
      look();
    });
  }

  /** Resolves when the connection has ended. */
  end(deadlineMs = 60_000): Promise<void> {
    return this.until(`the daemon closes ${this.options.local}`, () => this.ended !== undefined, deadlineMs);
  }

  count(type: number): number {
    return this.counts.get(type) ?? 0;
  }

  get established(): boolean {
    return this.ended === undefined && this.notification === undefined && this.count(KEEPALIVE) > 0;
  }

  /** Bodies of the UPDATEs that arrived, in hex. */
  updates(): readonly string[] {
    return this.messages.filter(({ type }) => type === UPDATE).map(({ bytes }) => toHex(bytes.subarray(HEADER_LENGTH)));
  }

  /** FIN; waits for the other side's. */
  async close(): Promise<void> {
    clearInterval(this.#beat);
    if (this.socket.destroyed) return;
    const closed = new Promise<void>((resolve) => this.socket.once('close', () => resolve()));
    this.socket.end();
    this.socket.resume();
    const timer = setTimeout(() => this.socket.destroy(), 1000);
    await closed;
    clearTimeout(timer);
  }

  /** RST. */
  reset(): void {
    clearInterval(this.#beat);
    this.socket.resetAndDestroy();
  }

  #read(chunk: Buffer): void {
    const at = performance.now();
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (rest.length >= HEADER_LENGTH) {
      const length = rest.readUInt16BE(16);
      if (length < HEADER_LENGTH || rest.length < length) break;
      const bytes = Uint8Array.from(rest.subarray(0, length));
      rest = rest.subarray(length);
      this.#message({ type: bytes[HEADER_LENGTH - 1] ?? 0, bytes, at });
    }
    this.#rest = Buffer.from(rest);
    this.#wake();
  }

  #message(message: Arrived): void {
    this.counts.set(message.type, this.count(message.type) + 1);
    this.messages.push(message);
    if (this.messages.length > KEPT) this.messages.splice(0, KEPT / 2);
    if (message.type === KEEPALIVE && this.#keepaliveAt > 0) {
      this.largestGap = Math.max(this.largestGap, message.at - this.#keepaliveAt);
      this.#keepaliveAt = message.at;
    }
    if (message.type === NOTIFICATION && this.notification === undefined) {
      const [code, subcode] = [message.bytes[HEADER_LENGTH] ?? 0, message.bytes[HEADER_LENGTH + 1] ?? 0];
      this.notification = `${code}/${subcode} ${toHex(message.bytes.subarray(HEADER_LENGTH + 2))}`.trim();
    }
  }

  #end(how: string): void {
    clearInterval(this.#beat);
    this.ended ??= how;
    this.#wake();
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }
}
