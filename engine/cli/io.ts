/** What a run of the command line has of the world. `engine/main.ts` hands in the process's own; tests hand in their own. */
import type { Readable, Writable } from 'node:stream';
import type { DeclarationRow, DeclaredPlugin } from '../config/schema/declared.ts';
import type { LoadOptions } from '../config/load.ts';
import type { Environment } from '../core/control-socket.ts';

/** The plugins of a configuration, asked without a daemon; `engine/compose/plugin-reader` fulfils it. */
export interface PluginReader {
  /** Names that `use` may give. */
  readonly usable: readonly string[];
  /**
   * The options with what the text's plugins bring. Programs are started only when the text holds names that nobody knows, and
   * never with `silent`; those of `declared` run already and are not asked.
   */
  prepare(text: string, options: LoadOptions, asking?: Questioning): Promise<LoadOptions>;
  /** One row a configured plugin, in their order. */
  declarations(text: string, options: LoadOptions): Promise<readonly DeclarationRow[]>;
}

export interface Questioning {
  readonly declared?: readonly DeclaredPlugin[] | undefined;
  readonly silent?: boolean | undefined;
}

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
  /** Reads configurations with what their plugins bring. */
  readonly plugins: () => Promise<PluginReader>;
  /** Runs the daemon; resolves with its exit code. */
  readonly runDaemon: (options: DaemonStart) => Promise<number>;
}

/** A config file, or the text of one that came by standard input; and settings from the command line, by dotted name. */
export type DaemonStart = ({ readonly configPath: string } | { readonly text: string }) & {
  readonly flags: Readonly<Record<string, string>>;
  /** No line when the daemon is ready. */
  readonly quiet: boolean;
};

export const EXIT = { done: 0, failed: 1, nothing: 2, denied: 2, commandFailed: 4, interrupted: 130 } as const;
