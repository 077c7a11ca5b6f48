/** A broken promise of our own code: the process must not go on as if nothing happened. */
export class Bug extends Error {
  override readonly name = 'Bug';
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Bug(message);
}

/** For a `switch` that must name every case. */
export function unreachable(value: never): never {
  throw new Bug(`unexpected value ${String(value)}`);
}
