// Neighbours by the hundred in one process: a sender at 127.0.0.2 (AS 65001) that announces a table, withdraws it, announces it again, and
// receivers (127.1.0.1 on, AS 65002 on) that count what the daemon passes on; every session minds how long it waits for KEEPALIVEs.
//   crowd.js '{"port":1,"receivers":1,"prefixes":1000,"holdSeconds":180,"seconds":0,"rounds":0,"stay":false}'
// One JSON line when every session is up, one at the end. With `seconds` the table goes out and in until so much time has passed; with
// `rounds` so many times, a line and a pause after each; with `stay` the table stays announced, and the process until it is told to end.
import { connect, type Socket } from 'node:net';

interface Options {
  readonly port: number;
  readonly receivers: number;
  readonly prefixes: number;
  readonly holdSeconds: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly stay: boolean;
}

const PER_SET = 5;
const RETRY_MS = 200;
const ROUND_PAUSE_MS = 500;
const [OPEN, UPDATE, NOTIFICATION, KEEPALIVE] = [1, 2, 3, 4];
const options = JSON.parse(process.argv[2] ?? '{}') as Options;
const now = (): number => performance.now();
const fail = (why: string): never => {
  process.stdout.write(`${JSON.stringify({ error: why })}\n`);
  process.exit(1);
};

function message(type: number, body: Buffer): Buffer {
  const head = Buffer.alloc(19, 0xff);
  head.writeUInt16BE(19 + body.length, 16);
  head[18] = type;
  return Buffer.concat([head, body]);
}

const keepalive = message(KEEPALIVE, Buffer.alloc(0));

/** Capabilities: IPv4 unicast, four-octet AS numbers. */
function open(as: number, id: number): Buffer {
  const body = Buffer.from('040000000000000000' + '0e020c' + '010400010001' + '410400000000', 'hex');
  body.writeUInt16BE(as, 1);
  body.writeUInt16BE(options.holdSeconds, 3);
  body.writeUInt32BE(id, 5);
  body.writeUInt32BE(as, body.length - 4);
  return message(OPEN, body);
}

/** The whole table as UPDATEs of five prefixes: /24 from 16.0.0.0 on, each set with a path and a MED of its own. */
function announcements(): Buffer {
  const messages: Buffer[] = [];
  const attributes = Buffer.from('400101004002120204' + '00000000'.repeat(4) + '400304c0000201' + '80040400000000', 'hex');
  for (let first = 0; first < options.prefixes; first += PER_SET) {
    const set = first / PER_SET;
    attributes.writeUInt32BE(65001, 9);
    attributes.writeUInt32BE(1 + (set % 23_000), 13);
    attributes.writeUInt32BE(131_072 + (set % 100_003), 17);
    attributes.writeUInt32BE(1 + ((set * 7) % 20_011), 21);
    attributes.writeUInt32BE(set % 200, attributes.length - 4);
    const lengths = Buffer.alloc(4);
    lengths.writeUInt16BE(attributes.length, 2);
    messages.push(message(UPDATE, Buffer.concat([lengths, attributes, nlri(first)])));
  }
  return Buffer.concat(messages);
}

function withdrawals(): Buffer {
  const messages: Buffer[] = [];
  for (let first = 0; first < options.prefixes; first += PER_SET) {
    const prefixes = nlri(first);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(prefixes.length);
    messages.push(message(UPDATE, Buffer.concat([length, prefixes, Buffer.alloc(2)])));
  }
  return Buffer.concat(messages);
}

function nlri(first: number): Buffer {
  const count = Math.min(PER_SET, options.prefixes - first);
  const bytes = Buffer.alloc(count * 4);
  for (let i = 0; i < count; i++) bytes.writeUInt32BE(((24 << 24) | (0x10_0000 + first + i)) >>> 0, i * 4);
  return bytes;
}

class Neighbour {
  socket: Socket | undefined;
  up = false;
  /** Prefixes announced and withdrawn to it. */
  announced = 0;
  withdrawn = 0;
  largestGap = 0;
  #heardAt = 0;
  #rest: Buffer = Buffer.alloc(0);

  constructor(address: string, as: number, id: number) {
    this.#dial(address, as, id);
    setInterval(
      () => {
        if (this.up) this.send(keepalive);
      },
      (options.holdSeconds * 1000) / 3,
    );
  }

  send(bytes: Buffer): void {
    this.socket?.write(bytes);
  }

  /** A daemon that starts with hundreds of neighbours may turn a connection down: it is tried again until the session has been up. */
  #dial(address: string, as: number, id: number): void {
    const socket = connect({ host: '127.0.0.1', port: options.port, localAddress: address });
    this.socket = socket;
    this.#rest = Buffer.alloc(0);
    let why = 'the session has ended';
    socket.setNoDelay(true);
    socket.on('error', (error) => (why = error.message));
    socket.on('close', () => {
      if (this.up) fail(`${address}: ${why}`);
      setTimeout(() => this.#dial(address, as, id), RETRY_MS);
    });
    socket.once('connect', () => socket.write(open(as, id)));
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
  }

  /** What it has waited for so far counts too. */
  gap(): number {
    return Math.max(this.largestGap, now() - this.#heardAt);
  }

  #read(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (at + 19 <= bytes.length) {
      const length = bytes.readUInt16BE(at + 16);
      if (at + length > bytes.length) break;
      this.#message(bytes, at, length);
      at += length;
    }
    this.#rest = bytes.subarray(at);
  }

  #message(bytes: Buffer, at: number, length: number): void {
    const type = bytes[at + 18];
    if (type === OPEN) this.send(keepalive);
    else if (type === NOTIFICATION && this.up) fail(`NOTIFICATION ${bytes[at + 19] ?? 0}/${bytes[at + 20] ?? 0}`);
    else if (type === KEEPALIVE) {
      const t = now();
      if (this.up) this.largestGap = Math.max(this.largestGap, t - this.#heardAt);
      this.#heardAt = t;
      this.up = true;
    } else if (type === UPDATE) {
      const withdrawn = bytes.readUInt16BE(at + 19);
      const attributesAt = at + 21 + withdrawn;
      this.withdrawn += prefixes(bytes, at + 21, attributesAt);
      this.announced += prefixes(bytes, attributesAt + 2 + bytes.readUInt16BE(attributesAt), at + length);
    }
  }
}

function prefixes(bytes: Buffer, from: number, end: number): number {
  let count = 0;
  for (let at = from; at < end; at += 1 + ((bytes[at]! + 7) >> 3)) count++;
  return count;
}

async function until(what: string, probe: () => boolean): Promise<void> {
  const deadline = now() + 300_000;
  while (!probe()) {
    if (now() > deadline) fail(`not within 300 s: ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
    if (!probe()) await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Sends a stream and waits until every receiver has what it makes; seconds. */
async function round(sender: Neighbour, stream: Buffer, has: (it: Neighbour) => number, wanted: number): Promise<number> {
  const began = now();
  sender.send(stream);
  await until('every receiver has all', () => receivers.every((it) => has(it) >= wanted));
  return (now() - began) / 1000;
}

const began = now();
const sender = new Neighbour('127.0.0.2', 65001, 0x0a00_0002);
const receivers = Array.from(
  { length: options.receivers },
  (_, i) => new Neighbour(`127.1.${(i + 1) >> 8}.${(i + 1) & 0xff}`, 65002 + i, 0x0a01_0000 + i + 1),
);
const all = [sender, ...receivers];
await until('every session is up', () => all.every(({ up }) => up));
process.stdout.write(`${JSON.stringify({ sessions_s: (now() - began) / 1000 })}\n`);
const [table, gone] = [announcements(), withdrawals()];
await new Promise((resolve) => setTimeout(resolve, 1500));

const start = now();
const line: Record<string, number> = {};
for (let rounds = 1; ; rounds++) {
  const put = await round(sender, table, (it) => it.announced, rounds * options.prefixes);
  if (rounds === 1) line['time_s'] = put;
  if (options.stay) break;
  const taken = await round(sender, gone, (it) => it.withdrawn, rounds * options.prefixes);
  if (rounds === 1) line['withdraw_s'] = taken;
  line['rounds'] = rounds;
  if (options.rounds > 0) {
    process.stdout.write(`${JSON.stringify({ round: rounds, put_s: put, taken_s: taken })}\n`);
    await new Promise((resolve) => setTimeout(resolve, ROUND_PAUSE_MS));
    if (rounds < options.rounds) continue;
  }
  if (now() - start >= options.seconds * 1000) break;
}
line['keepalive_gap_ms'] = Math.max(...all.map((it) => it.gap()));
process.stdout.write(`${JSON.stringify(line)}\n`);
if (!options.stay) process.exit(0);
