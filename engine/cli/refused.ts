/** A message and an exit code: 1 what was asked is wrong, 2 there is nothing to do it to. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
