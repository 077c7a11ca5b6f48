/** What a run of the command line has of the world. `engine/main.ts` hands in the process's own; tests hand in their own. */
import type { Readable, Writable } from 'node:stream';
import type { Environment } from '../core/control-socket.ts';

export interface CliIo {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?: (raw: boolean) => unknown };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly environment: Environment;
  readonly uid: number;
  readonly version: string;
  /** How to start this program again: the interpreter and its arguments up to the subcommand. */
  readonly self: readonly [command: string, ...args: string[]];
  /** Aborted by Ctrl-C (SIGINT) or SIGTERM. */
  readonly interrupted: AbortSignal;
  /** Built-in plugins that a configuration may name without a block of their own. */
  readonly autoloaded: () => Promise<readonly string[]>;
  /** Runs the daemon; resolves with its exit code. */
  readonly runDaemon: (options: DaemonStart) => Promise<number>;
}

/** A config file, or the text of one that came by standard input; and settings from the command line, by dotted name. */
export type DaemonStart = ({ readonly configPath: string } | { readonly text: string }) & {
  readonly flags: Readonly<Record<string, string>>;
};

export const EXIT = { done: 0, failed: 1, nothing: 2, denied: 2, commandFailed: 4, interrupted: 130 } as const;
