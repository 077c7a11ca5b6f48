// What results of checks make of a probe: no clock, no process.

/** `rising` and `falling`: on the way to up and down, by results in a row. */
export type State = 'init' | 'rising' | 'up' | 'falling' | 'down' | 'disabled';

export interface Standing {
  readonly state: State;
  /** Results in a row that speak for the state. */
  readonly count: number;
}

export const BEGIN: Standing = { state: 'init', count: 0 };

export function isSettled({ state }: Standing): boolean {
  return state === 'up' || state === 'down' || state === 'disabled';
}

/** A settled probe leaves its state by a result that speaks against it, and comes back to it by `rise` or `fall` results like another. */
export function next({ state, count }: Standing, healthy: boolean, rise: number, fall: number): Standing {
  const [there, onTheWay, needed] = healthy ? (['up', 'rising', rise] as const) : (['down', 'falling', fall] as const);
  if (state === there) return { state, count: count + 1 };
  const now = state === onTheWay ? count + 1 : 1;
  return { state: now >= needed ? there : onTheWay, count: now };
}
