/** A place in a config text; both count from 1. Line 0 stands for "nowhere in the text". */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export const NOWHERE: Place = { line: 0, column: 0 };

/** The slash path of a node below `path`. */
export function join(path: string, name: string): string {
  const short = name.length > 80 ? `${name.slice(0, 80)}…` : name;
  return path === '' ? short : `${path}/${short}`;
}

/** What is wrong with a config, for the operator. */
export interface ConfigFault extends Place {
  /** Slash path of the node, `bgp/peer/edge/timer/receive-hold-time`; '' when none is meant. */
  readonly path: string;
  readonly message: string;
  /** What would have been right. */
  readonly expected?: string | undefined;
  /** A guess at what was meant: `did you mean "peer"?` */
  readonly hint?: string | undefined;
}

/** What the operator should know although the config holds. */
export interface ConfigWarning extends Place {
  readonly path: string;
  readonly message: string;
}

export interface FaultExtras {
  readonly expected?: string | undefined;
  readonly hint?: string | undefined;
}

/** More faults than this help nobody; one more says how many there were. */
export const MAXIMUM_FAULTS = 100;
const CLAMP = 64;

/** Gathers every fault and warning of one config. */
export class Findings {
  readonly faults: ConfigFault[] = [];
  readonly warnings: ConfigWarning[] = [];
  /** Names (of statements, of families) that the schema does not know: a plugin may. */
  unknownNames = 0;
  /** Faults of values: the statement is in the tree all the same, so that it can be shown, edited and written back. */
  valueFaults = 0;
  #dropped = 0;
  /** Where the first that was dropped points. */
  #beyond: Place = NOWHERE;
  /** How many faults each step has found so far: those of later steps may only follow from them. */
  readonly #steps: number[] = [];

  fault(place: Place, path: string, message: string, extras: FaultExtras = {}): void {
    if (this.faults.length >= MAXIMUM_FAULTS) {
      if (this.#dropped++ === 0) this.#beyond = place;
      return;
    }
    this.faults.push({ path, line: place.line, column: place.column, message, ...extras });
  }

  warn(place: Place, path: string, message: string): void {
    // What many peers inherit is said once.
    if (this.warnings.some((one) => one.line === place.line && one.column === place.column && one.message === message)) return;
    if (this.warnings.length < MAXIMUM_FAULTS) this.warnings.push({ path, line: place.line, column: place.column, message });
  }

  /** Something is wrong at exactly this place. */
  faultAt(place: Place): boolean {
    return this.faults.some((one) => one.line === place.line && one.column === place.column);
  }

  /** A step of the checks is done: what is found from now on may follow from what was found so far. */
  follow(): void {
    this.#steps.push(this.faults.length);
  }

  /** No more faults are kept: what costs time to say of one can be left out. */
  get full(): boolean {
    return this.faults.length >= MAXIMUM_FAULTS;
  }

  /** Some statement could not be read and is not in the tree. */
  get incomplete(): boolean {
    return this.faults.length + this.#dropped > this.valueFaults;
  }

  get failed(): boolean {
    return this.faults.length > 0;
  }

  /** Step by step, so that a cause stands before what follows from it; each step's in the order of the text; a last one for those that were dropped. */
  sorted(): readonly ConfigFault[] {
    const out: ConfigFault[] = [];
    let from = 0;
    for (const to of [...this.#steps, this.faults.length]) {
      const step = this.faults.slice(from, to);
      for (const fault of step.sort((a, b) => a.line - b.line || a.column - b.column)) out.push(fault);
      from = to;
    }
    if (this.#dropped > 0)
      out.push({ line: this.#beyond.line, column: this.#beyond.column, path: '', message: `and ${this.#dropped} more` });
    return out;
  }
}

/** Text of an operator's for use in a message: clamped, control characters shown as escapes. */
export function clamp(text: string): string {
  const short = text.length > CLAMP ? `${text.slice(0, CLAMP)}…` : text;
  return short.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
