// Memory of a process, from /proc (Linux).
import { readFileSync, writeFileSync } from 'node:fs';

/** KiB; zeros for a process that is gone. */
export function memoryKb(pid: number): { readonly resident: number; readonly peak: number } {
  let text = '';
  try {
    text = readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    // It has ended.
  }
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return { resident: field('VmRSS'), peak: field('VmHWM') };
}

/** The high-water mark begins anew at what is resident now (proc(5), clear_refs). */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
