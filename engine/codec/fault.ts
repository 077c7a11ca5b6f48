/** What is wrong with a command or a text an operator or a plugin wrote. `column` is 1-based, in UTF-16 units. */
export interface CommandFault {
  readonly message: string;
  readonly column: number;
}

/** An expected outcome as a value (never thrown). */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: CommandFault };

export function refuse(message: string, column: number): { readonly ok: false; readonly fault: CommandFault } {
  return { ok: false, fault: { message, column } };
}
