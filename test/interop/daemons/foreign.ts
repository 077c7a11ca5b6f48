// What a scenario asks of a foreign daemon, whichever it is. Each runs as a plain process in the foreground on a high port of a loopback
// address of its own, with a config in a temporary folder; no service script is touched.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { eventually, run, type Ran } from '../../support/zest-process.ts';

export const LOCAL_AS = 65_000;
/** A four-octet AS on the foreign side, so that every scenario proves RFC 6793. */
export const FOREIGN_AS = 4_200_000_002;
/** Addresses of the loopback device in the tests' own network namespace (test/run.ts): 127/8 is no next hop for anybody. */
export const ZEST = { ipv4: '192.0.2.1', ipv6: '2001:db8::1' } as const;
export const FOREIGN = { ipv4: '192.0.2.2', ipv6: '2001:db8::2' } as const;

export type Afi = 'ipv4' | 'ipv6';

/** The routes every foreign daemon announces while `announcing`. */
export const FOREIGN_ROUTES: Readonly<Record<Afi, string>> = { ipv4: '198.51.100.0/24', ipv6: '2001:db8:100::/48' };
export const FOREIGN_COMMUNITY = '64999:100';
export const FOREIGN_LARGE_COMMUNITY = '4200000002:1:2';

export interface ForeignRoute {
  readonly asPath: readonly number[];
  readonly communities: readonly string[];
  readonly largeCommunities: readonly string[];
}

export interface ForeignOptions {
  readonly zestPort: number;
  readonly port: number;
  readonly holdTimeSeconds: number;
  /** What the session runs over; the families are both in either case. */
  readonly over: Afi;
}

export interface Foreign {
  readonly name: string;
  /** Routes learned from Zest, by prefix. */
  routes(afi: Afi): Promise<ReadonlyMap<string, ForeignRoute>>;
  announce(afi: Afi): Promise<void>;
  withdraw(afi: Afi): Promise<void>;
  /** ROUTE-REFRESHes it got, for a daemon that does not answer them (and says why there). */
  refreshesHeard?(): Promise<number>;
  /** Asks Zest to send everything again; absent where the daemon has no way to be told to ask. */
  refresh?(): Promise<void>;
  established(): Promise<boolean>;
  /** By the daemon's own count: another text whenever the session has been down in between. */
  upSince?(): Promise<string>;
  /** Ends the idle time the daemon imposes on itself after an error; absent where the configuration keeps it short. */
  hurry?(): Promise<void>;
  /** Stops being scheduled, or goes on: for hold times. */
  freeze(frozen: boolean): void;
  /** Ends the process and starts it again with the same config. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface ForeignKind {
  readonly name: string;
  readonly binary: string;
  start(options: ForeignOptions): Promise<Foreign>;
}

/** Why the test cannot run here; '' when it can. */
function obstacle(kinds: readonly Pick<ForeignKind, 'name' | 'binary'>[]): string {
  const missing = kinds.find((kind) => !existsSync(kind.binary));
  if (missing !== undefined) return `${missing.name} is not installed (${missing.binary})`;
  if (process.env['ZEST_NETNS'] !== '1') return 'needs a network namespace of its own: run as root by `npm run test:interop`';
  return '';
}

/** A test that needs foreign daemons: skipped with the reason where it cannot run, failed with it when REQUIRE_PEERS=1. */
export function peerTest(
  name: string,
  kinds: readonly Pick<ForeignKind, 'name' | 'binary'>[],
  run: (t: TestContext) => Promise<void>,
): void {
  const reason = obstacle(kinds);
  const required = process.env['REQUIRE_PEERS'] === '1';
  test(name, { skip: reason !== '' && !required ? reason : false, timeout: 240_000 }, async (t) => {
    if (reason !== '') throw new Error(`REQUIRE_PEERS=1, but ${reason}`);
    await run(t);
  });
}

/** A child in the foreground with its folder; output kept for the report of a failure. */
export class ForeignProcess {
  readonly folder: string;
  output = '';
  readonly #command: () => readonly [string, ...string[]];
  readonly #environment: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;

  constructor(name: string, command: (folder: string) => readonly [string, ...string[]], more: NodeJS.ProcessEnv = {}) {
    this.#environment = { ...process.env, ...more };
    this.folder = mkdtempSync(join(tmpdir(), `zest-${name}-`));
    this.#command = () => command(this.folder);
  }

  start(): void {
    const [command, ...args] = this.#command();
    const child = spawn(command, args, {
      cwd: this.folder,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.output = (this.output + text).slice(-50_000)));
    }
    child.on('error', (error) => (this.output += error.message));
    this.#child = child;
  }

  freeze(frozen: boolean): void {
    this.#signal(frozen ? 'SIGSTOP' : 'SIGCONT');
  }

  async end(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.freeze(false);
    this.#signal('SIGTERM');
    try {
      await eventually(
        'the foreign daemon has ended',
        () => (child.exitCode === null && child.signalCode === null ? undefined : true),
        5000,
      );
    } catch {
      this.#signal('SIGKILL');
      await eventually(
        'the foreign daemon was killed',
        () => (child.exitCode === null && child.signalCode === null ? undefined : true),
        5000,
      );
    }
    // A child of its own may outlive it with our pipes in hand.
    child.stdout?.destroy();
    child.stderr?.destroy();
    this.#child = undefined;
  }

  async stop(): Promise<void> {
    await this.end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The whole group: some daemons fork their parts. */
  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // It has ended already.
    }
  }
}

/** Runs a control command; rejects with its output when it fails. */
export async function control(command: string, ...args: readonly string[]): Promise<string> {
  const result: Ran = await run(command, args);
  if (result.code !== 0) throw new Error(`${command} ${args.join(' ')}: ${(result.stderr || result.stdout).trim()}`);
  return result.stdout;
}

export function numbers(text: string): readonly number[] {
  return (text.match(/\d+/g) ?? []).map(Number);
}
