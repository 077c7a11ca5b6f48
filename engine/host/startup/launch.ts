/**
 * Bringing a plugin to the point where it can speak: a byte stream for the five stages, and the bridge where there is one.
 * Four placements: a child process over TLS, the main thread, the reactor's thread, a thread of its own.
 */
import type { Duplex } from 'node:stream';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { pipePair } from '../../../sdk/rpc/pipe.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { engineModule } from '../../core/program.ts';
import type { BridgeCalls, BridgeEnd } from '../bridge/bridge-end.ts';
import { PortBridgeEnd } from '../bridge/bridge-port.ts';
import { DirectBridge } from '../bridge/direct-bridge.ts';
import type { Door } from '../external/door.ts';
import { PluginFault } from '../fault.ts';
import { withDeadline } from '../link.ts';
import { loadPlugin } from './load-plugin.ts';
import { shellCommand } from '../external/parent-death.ts';
import { PortDuplex } from '../bridge/port-duplex.ts';
import { Child, childEnvironment, describeExit } from '../external/spawn.ts';
import { type RelayLevel, StderrRelay } from '../external/stderr-relay.ts';
import type { ThreadStart } from '../bridge/thread-main.ts';

export type Placement = 'process' | 'main' | 'reactor' | 'thread';

/** From the spawn to the authenticated connection (plugin-wire §8). */
export const CONNECT_BACK_MS = 30_000;
/** A plugin that was told to go has this long before it is made to. */
export const EXIT_GRACE_MS = 3000;

export interface Launched {
  readonly stream: Duplex;
  readonly bridge: BridgeEnd | undefined;
  readonly pid: number | undefined;
  /** Settles when the process or the run is over; `fault` = '' after an orderly end. Never rejects. */
  readonly ended: Promise<{ readonly fault: string }>;
  /** Does its event loop turn within `ms`? Absent where nobody can tell. */
  readonly turns?: ((ms: number) => Promise<boolean>) | undefined;
  /** Gives it `graceMs` to leave, then ends it. Resolves when nothing of it is left, or nothing more can be done. */
  stop(graceMs: number): Promise<void>;
}

export interface Launcher {
  readonly placement: Placement;
  /** Throws PluginFault (`plugin-start`, `plugin-connect`); nothing is left running then. */
  launch(calls: BridgeCalls, signal: AbortSignal): Promise<Launched>;
}

export interface ChildLaunchOptions {
  readonly name: string;
  readonly run: string;
  /** Opened at the first launch. */
  readonly door: Door;
  readonly folder: string;
  readonly binFolder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly relayLevel: RelayLevel;
  readonly clock: Clock;
  readonly log: Log;
  /** Until it has connected and authenticated; else `CONNECT_BACK_MS`. */
  readonly connectMs?: number | undefined;
  /** What binds children to this process, see `parent-death.ts`. */
  readonly binder: () => Promise<string | undefined>;
}

/** An external plugin: a child that dials back. */
export class ChildLauncher implements Launcher {
  readonly placement = 'process';
  readonly #options: ChildLaunchOptions;

  constructor(options: ChildLaunchOptions) {
    this.#options = options;
  }

  async launch(_calls: BridgeCalls, signal: AbortSignal): Promise<Launched> {
    const { name, clock, connectMs = CONNECT_BACK_MS } = this.#options;
    const door = await this.#options.door.open().catch((error: unknown) => {
      throw new PluginFault('plugin-start', `the plugin hub cannot open: ${messageOf(error)}`, 0, { cause: error });
    });
    const { hub, internal } = door;
    const leaf = await internal.leaf();
    const binder = await this.#options.binder();
    refuseIfAborted(signal);
    const child = new Child({
      command: shellCommand(this.#options.run, binder),
      cwd: this.#options.folder,
      env: childEnvironment(this.#options.environment, this.#options.binFolder, {
        name,
        host: internal.host,
        port: internal.port,
        token: this.#options.door.tokens.of(name),
        caPem: door.caPem,
        fingerprint: leaf.fingerprint,
      }),
      log: this.#options.log,
      relayLevel: this.#options.relayLevel,
      clock,
    });
    const exit = child.exited.then((how) => {
      throw new PluginFault('plugin-start', `${describeExit(how)} before it connected`, 0);
    });
    exit.catch(() => undefined);
    try {
      const stream = await withDeadline(clock, connectMs, signal, (until) => Promise.race([hub.expect(name, until), exit]));
      return {
        stream,
        bridge: undefined,
        pid: child.pid,
        ended: child.exited.then((how) => ({ fault: describeExit(how) })),
        stop: async (graceMs) => {
          await child.stop(graceMs);
        },
      };
    } catch (error) {
      await child.stop(0);
      if (error instanceof PluginFault) throw error;
      refuseIfAborted(signal);
      throw new PluginFault('plugin-connect', `no connection within ${connectMs / 1000} s`, 0, { cause: error });
    }
  }
}

function refuseIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new PluginFault('plugin-stopped', 'stopped before it connected', 0);
}

/** A plugin that lives in this process. */
export interface ModuleSite {
  readonly name: string;
  readonly moduleUrl: string;
  readonly clock: Clock;
  /** Names the plugin already. */
  readonly log: Log;
}

/** In the main thread: the pipe, then function calls. */
export class MainLauncher implements Launcher {
  readonly placement = 'main';
  readonly #site: ModuleSite;

  constructor(site: ModuleSite) {
    this.#site = site;
  }

  async launch(calls: BridgeCalls): Promise<Launched> {
    const definition = await loadPlugin(this.#site.moduleUrl).catch((error: unknown) => {
      throw new PluginFault('plugin-start', messageOf(error), 0, { cause: error });
    });
    const [ours, theirs] = pipePair();
    // A plugin that writes to what it has ended must not be the process's affair.
    theirs.on('error', () => undefined);
    const bridge = new DirectBridge(calls);
    const stopping = new AbortController();
    const ended = start(() =>
      definition.run({ name: this.#site.name, conn: theirs, bridge, signal: stopping.signal, log: this.#site.log }),
    );
    void ended.then(() => {
      bridge.close();
      theirs.destroy();
    });
    return {
      stream: ours,
      bridge,
      pid: undefined,
      ended,
      stop: async (graceMs) => {
        stopping.abort();
        bridge.close();
        await settledWithin(this.#site.clock, graceMs, ended);
        ours.destroy();
        theirs.destroy();
      },
    };
  }
}

async function start(run: () => Promise<unknown>): Promise<{ readonly fault: string }> {
  try {
    await run();
    return { fault: '' };
  } catch (error) {
    return { fault: messageOf(error) };
  }
}

/** Resolves when `work` settles, or after `ms`. */
export async function settledWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = clock.after(ms, resolve);
    const done = (): void => {
      timer.cancel();
      resolve();
    };
    work.then(done, done);
  });
}

export type StartInReactor = (name: string, moduleUrl: string, pipe: MessagePort, bridge: MessagePort) => void;

/** In the reactor's thread: the pipe and the bridge are message ports. */
export class ReactorLauncher implements Launcher {
  readonly placement = 'reactor';
  readonly #site: ModuleSite;
  readonly #start: StartInReactor;

  constructor(site: ModuleSite, startInReactor: StartInReactor) {
    this.#site = site;
    this.#start = startInReactor;
  }

  launch(calls: BridgeCalls): Promise<Launched> {
    const ends = portEnds(calls, this.#site.log);
    this.#start(this.#site.name, this.#site.moduleUrl, ends.theirPipe, ends.theirBridge);
    return Promise.resolve({
      stream: ends.stream,
      bridge: ends.bridge,
      pid: undefined,
      ended: ends.bridge.ended,
      stop: () => {
        ends.bridge.close();
        ends.stream.destroy();
        return Promise.resolve();
      },
    });
  }
}

/** In a thread of its own (`isolation thread`): what it does to its event loop is its own affair. */
export class ThreadLauncher implements Launcher {
  readonly placement = 'thread';
  readonly #site: ModuleSite;

  constructor(site: ModuleSite) {
    this.#site = site;
  }

  async launch(_calls?: BridgeCalls, signal?: AbortSignal): Promise<Launched> {
    const ports = new MessageChannel();
    const stream = new PortDuplex(ports.port1);
    const data: ThreadStart = { name: this.#site.name, moduleUrl: this.#site.moduleUrl, pipe: ports.port2 };
    // Loaders and hooks of this process (tsx, an inspector) are no affair of the plugin, and each costs it a start.
    const worker = new Worker(engineModule('host/bridge/thread-main'), {
      workerData: data,
      transferList: [ports.port2],
      stderr: true,
      execArgv: [],
    });
    const relay = new StderrRelay(this.#site.log, this.#site.clock, 'trace');
    worker.stderr.on('data', (bytes: Buffer) => relay.push(bytes));
    worker.stderr.once('end', () => relay.end());
    let fault = '';
    worker.once('error', (error: unknown) => {
      fault = messageOf(error);
    });
    const ended = new Promise<{ readonly fault: string }>((resolve) => {
      worker.once('exit', (code) => {
        stream.destroy();
        resolve({ fault: fault === '' && code !== 0 ? `thread ended with code ${code}` : fault });
      });
    });
    // The thread's own start is no time of a stage, as a process's is not.
    await new Promise<void>((resolve) => {
      worker.once('online', resolve);
      signal?.addEventListener('abort', () => resolve(), { once: true });
      void ended.then(() => resolve());
    });
    return {
      stream,
      bridge: undefined,
      pid: undefined,
      ended,
      turns: (ms) => echoes(worker, this.#site.clock, ms),
      stop: async (graceMs) => {
        stream.destroy();
        await settledWithin(this.#site.clock, graceMs, ended);
        await worker.terminate();
      },
    };
  }
}

/** The thread's main module sends back what it is sent. */
function echoes(worker: Worker, clock: Clock, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (turned: boolean): void => {
      timer.cancel();
      worker.off('message', back).off('exit', back);
      resolve(turned);
    };
    const back = (): void => done(true);
    const timer = clock.after(ms, () => done(false));
    worker.once('message', back).once('exit', back);
    worker.postMessage('');
  });
}

function portEnds(
  calls: BridgeCalls,
  log: Log,
): {
  readonly stream: Duplex;
  readonly bridge: PortBridgeEnd;
  readonly theirPipe: MessagePort;
  readonly theirBridge: MessagePort;
} {
  const [pipePorts, bridgePorts] = [new MessageChannel(), new MessageChannel()];
  return {
    stream: new PortDuplex(pipePorts.port1),
    bridge: new PortBridgeEnd(bridgePorts.port1, calls, log),
    theirPipe: pipePorts.port2,
    theirBridge: bridgePorts.port2,
  };
}
