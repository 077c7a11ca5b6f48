/**
 * What a room needs of a log: constant lower-case messages, values as fields. `daemon.ts` makes the one pino root and hands
 * children down; tests hand in `silentLog` or a recorder.
 */
export interface Log {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
  debug(fields: object, message: string): void;
  trace(fields: object, message: string): void;
  /** A child that names its subsystem (`bgp.session`) and, where there is one, its peer or plugin. */
  child(bindings: Readonly<Record<string, unknown>>): Log;
  /** Guard for hot code: is debug on? */
  readonly debugEnabled: boolean;
}

const nothing = (): void => undefined;

export const silentLog: Log = {
  error: nothing,
  warn: nothing,
  info: nothing,
  debug: nothing,
  trace: nothing,
  child: () => silentLog,
  debugEnabled: false,
};
