// Opens an MRT file as published: plain, gzip or bzip2, whole or cut short on the way.
import { readFileSync } from 'node:fs';
import { constants, gunzipSync } from 'node:zlib';
import Bunzip from 'seek-bzip';

export interface MrtFile {
  readonly bytes: Uint8Array;
  /** Why the file ends early, '' when it is whole. What came before is kept. */
  readonly damage: string;
}

export function openMrt(path: string): MrtFile {
  const raw = readFileSync(path);
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
