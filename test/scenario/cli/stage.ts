// A door with a fake engine behind it in a folder of its own, and the command line run against it within this process.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { main } from '../../../engine/cli/main.ts';
import type { DaemonStart } from '../../../engine/cli/io.ts';
import { ControlDoor, type DoorOptions } from '../../../engine/command/door.ts';
import { systemClock } from '../../../engine/core/clock.ts';
import { silentLog } from '../../../engine/core/log.ts';
import { fakeContext, type Fake } from '../../unit/command/fake-context.ts';

export const UID = process.getuid?.() ?? 0;

export interface Stage extends AsyncDisposable {
  readonly folder: string;
  readonly path: string;
  readonly door: ControlDoor;
  readonly fake: Fake;
  readonly run: (args: readonly string[], options?: RunOptions) => Promise<Outcome>;
}

export interface RunOptions {
  /** `null`: it stays open and gives nothing. */
  readonly stdin?: string | null | PassThrough;
  readonly environment?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly stdout?: Writable;
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly daemons: readonly DaemonStart[];
}

export class Sink extends Writable {
  text = '';
  readonly #onText: (text: string) => void;

  constructor(onText: (text: string) => void = () => undefined) {
    super({ decodeStrings: false });
    this.#onText = onText;
  }

  override _write(chunk: Buffer | string, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    this.#onText(this.text);
    done();
  }
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'zest-cli-'));
}

export async function stage(limits: Partial<DoorOptions> = {}): Promise<Stage> {
  const folder = temporaryFolder();
  const path = join(folder, 'control.sock');
  const fake = fakeContext(systemClock);
  const door = await ControlDoor.open({ path, uid: UID, runner: fake.dispatcher, log: silentLog, ...limits });
  return {
    folder,
    path,
    door,
    fake,
    run: (args, options = {}) => runCli(args, { ...options, environment: { ze_control_socket: path, ...options.environment } }),
    [Symbol.asyncDispose]: async () => {
      await door.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function runCli(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const stdin = options.stdin instanceof PassThrough ? options.stdin : new PassThrough();
  if (stdin !== options.stdin && options.stdin !== null) stdin.end(options.stdin ?? '');
  const stdout = options.stdout ?? new Sink();
  const stderr = new Sink();
  const daemons: DaemonStart[] = [];
  const code = await main(args, {
    stdin,
    stdout,
    stderr,
    environment: options.environment ?? {},
    uid: UID,
    version: '0.1.0',
    self: ['node', 'zest'],
    interrupted: options.signal ?? new AbortController().signal,
    autoloaded: () => Promise.resolve(['bgp-rib']),
    plugins: () =>
      Promise.resolve({
        usable: ['bgp-rib'],
        prepare: (_text, options) => Promise.resolve(options),
        declarations: () => Promise.resolve([]),
      }),
    runDaemon: (start) => {
      daemons.push(start);
      return Promise.resolve(3);
    },
  });
  return { code, stdout: stdout instanceof Sink ? stdout.text : '', stderr: stderr.text, daemons };
}

/** Something that listens like a daemon and behaves as the test says. */
export async function impostor(behave: (socket: Socket) => void): Promise<{ path: string } & AsyncDisposable> {
  const path = join(temporaryFolder(), 'impostor.sock');
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    behave(socket);
  });
  await new Promise<void>((done) => server.listen(path, done));
  return {
    path,
    [Symbol.asyncDispose]: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Polls until the condition holds; fails after a minute. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not within 60 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
