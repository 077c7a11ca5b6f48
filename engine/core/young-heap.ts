/**
 * The young generation of the main thread while the daemon starts. What start-up allocates is garbage soon after, but V8 doubles the space for it
 * up to 16 MiB three times over and keeps that: 10 MB resident in an idle daemon (measured). So the space does not grow until the start is over;
 * then it does as it needs to. The reactor's thread has a limit of its own.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** From the first import of the daemon on. */
export function holdYoungHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/**
 * The daemon is ready: V8's own factor again. What start-up has left is collected before: a heap that is almost full when the first table
 * comes would be marked in the middle of it, which costs that table up to 50 ms of CPU (measured, with a plugin that takes events).
 */
export function releaseYoungHeap(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (() => void) | undefined;
  setFlagsFromString('--no-expose-gc');
  collect?.();
  setFlagsFromString('--semi-space-growth-factor=2');
}
