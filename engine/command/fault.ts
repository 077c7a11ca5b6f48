/**
 * Why a command was not carried out. `unknown` means that the text names no command: the bus answers it with `nay`, every
 * other kind is a known command that failed.
 */
export type CommandFaultKind = 'unknown' | 'syntax' | 'argument' | 'selector' | 'denied' | 'failed';

export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly kind: CommandFaultKind;
  /** UTF-16 column from 1 in the command text; 0 when no place in the text is at fault. */
  readonly column: number;

  constructor(kind: CommandFaultKind, message: string, column = 0) {
    super(message);
    this.kind = kind;
    this.column = column;
  }

  /** The message as it crosses the bus: with its column, when there is one. */
  get text(): string {
    return this.column > 0 ? `${this.message} (column ${this.column})` : this.message;
  }
}

/** ` (did you mean "x"?)`, or nothing. */
export function didYouMean(near: string | undefined): string {
  return near === undefined ? '' : ` (did you mean "${near}"?)`;
}
