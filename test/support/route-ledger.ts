// What a peer was told, read without the codec: the present attributes of every prefix of IPv4 unicast, as text, and what was wrong on the way.
import type { Socket } from 'node:net';

const HEADER = 19;
const UPDATE = 2;

/** Attributes as a line: `origin 0 path 64500,65001 hop 127.0.0.1 med 5 communities 1:2`. */
export class RouteLedger {
  /** By `a.b.c.d/n`. */
  readonly held = new Map<string, string>();
  /** Withdrawals of what was not held. */
  needless = 0;
  updates = 0;
  #rest = Buffer.alloc(0);

  constructor(socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
  }

  #read(chunk: Buffer): void {
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (rest.length >= HEADER && rest.length >= rest.readUInt16BE(16)) {
      const length = rest.readUInt16BE(16);
      if (rest[18] === UPDATE) this.#update(rest.subarray(HEADER, length));
      rest = rest.subarray(length);
    }
    this.#rest = Buffer.from(rest);
  }

  #update(body: Buffer): void {
    this.updates++;
    const withdrawn = body.readUInt16BE(0);
    for (const prefix of prefixes(body.subarray(2, 2 + withdrawn))) if (!this.held.delete(prefix)) this.needless++;
    const attributes = body.readUInt16BE(2 + withdrawn);
    const at = 4 + withdrawn;
    const nlri = prefixes(body.subarray(at + attributes));
    if (nlri.length === 0) return;
    const line = attributeLine(body.subarray(at, at + attributes));
    for (const prefix of nlri) this.held.set(prefix, line);
  }
}

function prefixes(bytes: Buffer): string[] {
  const out: string[] = [];
  for (let i = 0; i < bytes.length; ) {
    const bits = bytes[i]!;
    const size = (bits + 7) >>> 3;
    const octets = [0, 0, 0, 0];
    for (let k = 0; k < size; k++) octets[k] = bytes[i + 1 + k]!;
    out.push(`${octets.join('.')}/${bits}`);
    i += 1 + size;
  }
  return out;
}

function attributeLine(bytes: Buffer): string {
  const words: string[] = [];
  for (let i = 0; i < bytes.length; ) {
    const extended = (bytes[i]! & 0x10) !== 0;
    const code = bytes[i + 1]!;
    const length = extended ? bytes.readUInt16BE(i + 2) : bytes[i + 2]!;
    const value = bytes.subarray(i + (extended ? 4 : 3), i + (extended ? 4 : 3) + length);
    words.push(attributeText(code, value));
    i += (extended ? 4 : 3) + length;
  }
  return words.join(' ');
}

function attributeText(code: number, value: Buffer): string {
  const longs = Array.from({ length: value.length >>> 2 }, (_, k) => value.readUInt32BE(4 * k));
  if (code === 1) return `origin ${value[0]}`;
  if (code === 2) return `path ${Array.from({ length: value[1] ?? 0 }, (_, k) => value.readUInt32BE(2 + 4 * k)).join(',')}`;
  if (code === 3) return `hop ${value.join('.')}`;
  if (code === 4) return `med ${longs[0]}`;
  if (code === 8) return `communities ${longs.map((one) => `${one >>> 16}:${one & 0xffff}`).join(',')}`;
  return `${code} ${value.toString('hex')}`;
}
