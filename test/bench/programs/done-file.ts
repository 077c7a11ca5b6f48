// How the load generator learns that a plugin is done: a file with two times of the monotonic clock, in seconds, put there in one step.
import { renameSync, writeFileSync } from 'node:fs';

/** Now, as the load generator reads the clock (CLOCK_MONOTONIC). */
export function monotonicSeconds(): number {
  return Number(process.hrtime.bigint()) / 1e9;
}

export function writeDone(path: string, firstSeconds: number, lastSeconds: number): void {
  writeFileSync(`${path}.tmp`, `${firstSeconds.toFixed(6)} ${lastSeconds.toFixed(6)}\n`);
  renameSync(`${path}.tmp`, path);
}
