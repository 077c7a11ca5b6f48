// A daemon and two lab speakers as child processes of this program: what `quickstart` keeps running and `demo` plays through.
// The parts meet as strangers do: by TCP, by the control socket, by what they print.
import { spawn, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

/** How to start this program again: the interpreter and its arguments up to the subcommand. */
export type Self = readonly [command: string, ...args: string[]];

export interface EnsembleOptions {
  readonly self: Self;
  readonly config: string;
  readonly routes: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Lines of the daemon's log and whatever else goes wrong. */
  readonly log: (line: string) => void;
}

/** A child whose stdout is read line by line as JSON, and that can be waited for. */
export class Part {
  readonly name: string;
  readonly process: ChildProcess;
  /** Last value seen of each event the child printed. */
  readonly seen = new Map<string, Readonly<Record<string, unknown>>>();
  readonly #waiting = new Set<() => void>();
  exitCode: number | undefined;

  constructor(name: string, child: ChildProcess, log: (line: string) => void) {
    this.name = name;
    this.process = child;
    if (child.stdout !== null) createInterface(child.stdout).on('line', (line) => this.#line(line, log));
    if (child.stderr !== null) createInterface(child.stderr).on('line', (line) => log(`${name}: ${line}`));
    child.on('exit', (code, signal) => {
      this.exitCode = code ?? (signal === null ? 1 : 128);
      this.#wake();
    });
    child.on('error', (error) => {
      log(`${name}: ${error.message}`);
      this.exitCode ??= 1;
      this.#wake();
    });
  }

  #line(line: string, log: (line: string) => void): void {
    try {
      const value = JSON.parse(line) as Record<string, unknown>;
      if (typeof value['event'] === 'string') this.seen.set(eventKey(value), value);
    } catch {
      log(`${this.name}: ${line}`);
    }
    this.#wake();
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves with what `probe` found as soon as it finds something; rejects at the deadline or when the child is gone. */
  until<T>(what: string, probe: (part: Part) => T | undefined, deadlineMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      const look = (): void => {
        const found = probe(this);
        if (found !== undefined) {
          finish();
          resolve(found);
        } else if (this.exitCode !== undefined) {
          finish();
          reject(new Error(`${this.name} ended (code ${this.exitCode}) before ${what}`));
        }
      };
      const timer = setTimeout(() => {
        finish();
        reject(new Error(`${this.name}: ${what} did not come within ${deadlineMs / 1000} s`));
      }, deadlineMs);
      this.#waiting.add(look);
      look();
    });
  }

  /** SIGTERM, then SIGKILL after the grace; resolves with the exit code. */
  async stop(graceMs: number): Promise<number> {
    if (this.exitCode === undefined) this.process.kill('SIGTERM');
    const timer = setTimeout(() => this.process.kill('SIGKILL'), graceMs);
    try {
      return await new Promise<number>((resolve) => {
        const look = (): void => {
          if (this.exitCode === undefined) return;
          this.#waiting.delete(look);
          resolve(this.exitCode);
        };
        this.#waiting.add(look);
        look();
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A route's own line is kept under its prefix, so that one may wait for it. */
function eventKey(value: Readonly<Record<string, unknown>>): string {
  return typeof value['prefix'] === 'string' ? `${String(value['event'])} ${value['prefix']}` : String(value['event']);
}

export class Ensemble {
  readonly daemon: Part;
  readonly port: number;
  readonly #options: EnsembleOptions;
  readonly #speakers = new Map<string, Part>();

  private constructor(options: EnsembleOptions, port: number, daemon: Part) {
    this.#options = options;
    this.port = port;
    this.daemon = daemon;
  }

  /** Starts the daemon on `port`, or on a free one when that is taken. */
  static async start(options: EnsembleOptions, wantedPort: number): Promise<Ensemble> {
    const port = (await freePort(wantedPort)) ?? (await freePort(0)) ?? wantedPort;
    const environment = { ...options.environment, ze_test_bgp_port: String(port) };
    const [command, ...args] = options.self;
    const child = spawn(command, [...args, options.config], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    return new Ensemble(options, port, new Part('zest', child, options.log));
  }

  /** Starts a lab speaker that dials the daemon from its own loopback address. */
  speaker(name: string, address: string, as: number, extra: readonly string[]): Part {
    const [command, ...args] = this.#options.self;
    const lab = [
      'lab',
      '--connect',
      `127.0.0.1:${this.port}`,
      '--local',
      address,
      '--as',
      String(as),
      '--peer-as',
      '65000',
      '--json',
    ];
    const child = spawn(command, [...args, ...lab, '--hold', '9', '--family', 'ipv4/unicast,ipv6/unicast', ...extra], {
      env: { ...this.#options.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const part = new Part(name, child, this.#options.log);
    this.#speakers.set(name, part);
    return part;
  }

  /** Stops the speakers and then the daemon; the daemon's exit code. */
  async stop(): Promise<number> {
    const code = await this.daemon.stop(5000);
    await Promise.all([...this.#speakers.values()].map((part) => part.stop(2000)));
    return code;
  }
}

function freePort(wanted: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(wanted, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
    });
  });
}

/** May somebody listen there? */
export async function isFree(port: number): Promise<boolean> {
  return (await freePort(port)) !== undefined;
}
