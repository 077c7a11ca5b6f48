// Opens an MRT file as published: plain, gzip or bzip2, whole or cut short on the way.
import { constants as flags, openSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { constants, gunzipSync } from 'node:zlib';
import Bunzip from 'seek-bzip';

export interface MrtFile {
  readonly bytes: Uint8Array;
  /** Why the file ends early, '' when it is whole. What came before is kept. */
  readonly damage: string;
}

export function openMrt(path: string): MrtFile {
  return unpacked(readFileSync(path));
}

/**
 * A file, or what comes through a pipe until its writers are gone; undefined when the signal comes first. A pipe is watched, not read by
 * a call that blocks: such a call keeps the process until somebody writes.
 */
export async function readMrt(path: string, signal: AbortSignal): Promise<Buffer | undefined> {
  const stat = statSync(path);
  if (stat.isFile()) return readFile(path);
  if (!stat.isFIFO()) throw new Error('is neither a file nor a pipe');
  const pipe = new Socket({ fd: openSync(path, flags.O_RDONLY | flags.O_NONBLOCK), readable: true, writable: false });
  const chunks: Buffer[] = [];
  const stop = (): void => void pipe.destroy();
  signal.addEventListener('abort', stop, { once: true });
  await new Promise<void>((resolve, reject) => {
    if (signal.aborted) stop();
    pipe.on('data', (chunk: Buffer) => chunks.push(chunk));
    pipe.on('error', reject);
    pipe.on('close', () => resolve());
  });
  signal.removeEventListener('abort', stop);
  return signal.aborted ? undefined : Buffer.concat(chunks);
}

/** The same of what was read already. */
export function unpacked(raw: Buffer): MrtFile {
  if (raw[0] === 0x1f && raw[1] === 0x8b) return openGzip(raw);
  if (raw[0] === 0x42 && raw[1] === 0x5a && raw[2] === 0x68) return openBzip2(raw);
  return { bytes: raw, damage: '' };
}

function openGzip(raw: Buffer): MrtFile {
  try {
    return { bytes: gunzipSync(raw), damage: '' };
  } catch (error) {
    const bytes = gunzipSync(raw, { finishFlush: constants.Z_SYNC_FLUSH });
    return { bytes, damage: `gzip stream ends early: ${String(error instanceof Error ? error.message : error)}` };
  }
}

function openBzip2(raw: Buffer): MrtFile {
  const out = new Growing(raw.length * 8);
  try {
    Bunzip.decode(raw, out, true);
    return { bytes: out.take(), damage: '' };
  } catch (error) {
    return { bytes: out.take(), damage: `bzip2 stream ends early: ${String(error instanceof Error ? error.message : error)}` };
  }
}

/** Collects what the bzip2 library writes byte by byte, so that the part before a cut is kept. */
class Growing {
  #bytes: Uint8Array;
  #used = 0;

  constructor(guess: number) {
    this.#bytes = new Uint8Array(Math.max(65_536, guess));
  }

  writeByte(value: number): void {
    if (this.#used === this.#bytes.length) {
      const larger = new Uint8Array(this.#bytes.length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#used++] = value;
  }

  flush(): void {
    // Nothing is held back.
  }

  take(): Uint8Array {
    return this.#bytes.subarray(0, this.#used);
  }
}
