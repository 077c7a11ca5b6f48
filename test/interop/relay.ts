// A TCP relay between two BGP speakers that lets messages pass only up to a gate: what a slow network does, on command.
import { createConnection, createServer, type Server, type Socket } from 'node:net';

const OPEN = 1;
const NOTIFICATION = 3;
const HEADER = 19;

/** What may pass: nothing, the OPENs, everything. */
export type Gate = 'shut' | 'opens' | 'wide';

/** One direction of the connection. */
class Lane {
  readonly #to: Socket;
  #held = Buffer.alloc(0);
  #gate: Gate = 'shut';
  #ended = false;
  /** `code/subcode` of NOTIFICATIONs that came into this lane, passed on or not. */
  readonly notifications: string[] = [];
  openCame = false;
  #read = 0;

  constructor(from: Socket, to: Socket) {
    this.#to = to;
    from.on('data', (chunk: Buffer) => {
      this.#held = Buffer.concat([this.#held, chunk]);
      this.#look();
      this.#pass();
    });
    for (const end of ['end', 'close', 'error'] as const) {
      from.on(end, () => {
        this.#ended = true;
        this.#pass();
      });
    }
  }

  set gate(gate: Gate) {
    this.#gate = gate;
    this.#pass();
  }

  /** Names the messages that came since the last look. */
  #look(): void {
    for (;;) {
      const length = this.#lengthAt(this.#read);
      if (length === 0) return;
      const type = this.#held[this.#read + 18];
      if (type === OPEN) this.openCame = true;
      if (type === NOTIFICATION) this.notifications.push(`${this.#held[this.#read + 19]}/${this.#held[this.#read + 20]}`);
      this.#read += length;
    }
  }

  #pass(): void {
    for (;;) {
      const length = this.#lengthAt(0);
      if (length === 0 || this.#gate === 'shut' || (this.#gate === 'opens' && this.#held[18] !== OPEN)) break;
      this.#to.write(this.#held.subarray(0, length));
      this.#held = this.#held.subarray(length);
      this.#read -= length;
    }
    if (this.#ended && this.#held.length === 0) this.#to.end();
  }

  /** Of the message at `at`; 0 while it is not whole. */
  #lengthAt(at: number): number {
    if (this.#held.length < at + HEADER) return 0;
    const length = this.#held.readUInt16BE(at + 16);
    return this.#held.length < at + length ? 0 : length;
  }
}

export interface RelayOptions {
  readonly host: string;
  readonly port: number;
  /** Where it goes on, and the address it comes from there. */
  readonly to: { readonly host: string; readonly port: number; readonly from: string };
}

export class Relay {
  readonly #options: RelayOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Of the newest connection: from whoever dialled, and back. */
  lanes: readonly [there: Lane, back: Lane] | undefined;
  /** Connections so far. */
  connections = 0;
  #gate: Gate = 'shut';

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  async listen(): Promise<this> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, resolve);
    });
    return this;
  }

  set gate(gate: Gate) {
    this.#gate = gate;
    for (const lane of this.lanes ?? []) lane.gate = gate;
  }

  get bothOpensCame(): boolean {
    return this.lanes?.every((lane) => lane.openCame) === true;
  }

  /** NOTIFICATIONs of the newest connection, in both directions. */
  get notifications(): readonly string[] {
    return (this.lanes ?? []).flatMap((lane) => lane.notifications);
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(near: Socket): void {
    const { host, port, from } = this.#options.to;
    const far = createConnection({ host, port, localAddress: from });
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('close', () => this.#sockets.delete(socket));
    }
    const lanes = [new Lane(near, far), new Lane(far, near)] as const;
    far.on('error', () => near.destroy());
    this.lanes = lanes;
    this.connections++;
    this.gate = this.#gate;
  }
}
