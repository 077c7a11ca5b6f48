/**
 * The listening sockets: one for each distinct local address and port of the peers that accept. A connection from an address
 * nobody configured is closed before a byte of it is read. An address that cannot be bound is reported and tried again; the
 * others, and the peers that dial, run meanwhile.
 */
import * as net from 'node:net';
import type { Deadline, Deadlines } from '../../core/deadlines.ts';
import { plainAddress } from './session.ts';

/** ms between attempts to bind. */
const RETRY = 5000;
const BACKLOG = 511;

export interface ListenAddress {
  /** '' = every address */
  readonly address: string;
  readonly port: number;
}

export interface ListenerOwner {
  /** Takes the connection (paused, unread) or returns false to have it closed. */
  accepted(socket: net.Socket, remoteAddress: string, localAddress: string, localPort: number): boolean;
  /** `fault` undefined: bound at last. */
  listening(where: string, fault: string | undefined): void;
}

interface Door {
  readonly where: ListenAddress;
  server: net.Server | undefined;
  readonly retry: Deadline;
  boundPort: number;
  fault: string | undefined;
}

export class Listeners {
  readonly #owner: ListenerOwner;
  readonly #deadlines: Deadlines;
  readonly #doors = new Map<string, Door>();
  /** Connections closed unread because nobody configured their source. */
  strangers = 0;

  constructor(owner: ListenerOwner, deadlines: Deadlines) {
    this.#owner = owner;
    this.#deadlines = deadlines;
  }

  /** Opens what is new, closes what is gone. Resolves to the faults of first attempts, `address:port: reason`. */
  async set(wanted: readonly ListenAddress[]): Promise<readonly string[]> {
    const keys = new Set(wanted.map(key));
    for (const [name, door] of this.#doors) {
      if (keys.has(name)) continue;
      this.#doors.delete(name);
      await shut(door);
    }
    const opening: Promise<string | undefined>[] = [];
    for (const where of wanted) {
      if (this.#doors.has(key(where))) continue;
      const door: Door = {
        where,
        server: undefined,
        retry: this.#deadlines.create(() => void this.#open(door)),
        boundPort: 0,
        fault: undefined,
      };
      this.#doors.set(key(where), door);
      opening.push(this.#open(door));
    }
    return (await Promise.all(opening)).filter((fault) => fault !== undefined);
  }

  /** The port in use for a wanted address: differs from it when port 0 was wanted. 0 while not bound. */
  port(where: ListenAddress): number {
    return this.#doors.get(key(where))?.boundPort ?? 0;
  }

  async close(): Promise<void> {
    const doors = [...this.#doors.values()];
    this.#doors.clear();
    await Promise.all(doors.map(shut));
  }

  /** Resolves when the attempt is over, to its fault if it failed. */
  #open(door: Door): Promise<string | undefined> {
    const name = key(door.where);
    return new Promise((resolve) => {
      const server = net.createServer({ pauseOnConnect: true, noDelay: true });
      door.server = server;
      server.on('connection', (socket) => this.#accept(socket));
      server.once('listening', () => {
        const address = server.address();
        door.boundPort = typeof address === 'object' && address !== null ? address.port : 0;
        if (door.fault !== undefined) this.#owner.listening(name, undefined);
        door.fault = undefined;
        resolve(undefined);
      });
      server.on('error', (error: NodeJS.ErrnoException) => {
        door.server = undefined;
        door.boundPort = 0;
        server.close();
        if (this.#doors.get(name) !== door) {
          resolve(undefined);
          return;
        }
        const fault = `${name}: ${describe(error)}`;
        if (door.fault !== fault) this.#owner.listening(name, fault);
        door.fault = fault;
        door.retry.in(RETRY);
        resolve(fault);
      });
      const { address, port } = door.where;
      server.listen({ port, backlog: BACKLOG, exclusive: true, ...(address === '' ? {} : { host: address }) });
    });
  }

  #accept(socket: net.Socket): void {
    socket.on('error', () => socket.destroy());
    const remote = plainAddress(socket.remoteAddress);
    if (remote === '') {
      socket.destroy();
      return;
    }
    if (this.#owner.accepted(socket, remote, plainAddress(socket.localAddress), socket.localPort ?? 0)) return;
    this.strangers++;
    socket.destroy();
  }
}

function key(where: ListenAddress): string {
  const host = where.address === '' ? '*' : where.address.includes(':') ? `[${where.address}]` : where.address;
  return `${host}:${where.port}`;
}

function describe(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return 'address already in use';
    case 'EADDRNOTAVAIL':
      return 'address not available';
    case 'EACCES':
      return 'permission denied';
    default:
      return error.message;
  }
}

function shut(door: Door): Promise<void> {
  door.retry.clear();
  const server = door.server;
  door.server = undefined;
  return new Promise((resolve) => {
    if (server?.listening === true) server.close(() => resolve());
    else {
      server?.close();
      resolve();
    }
  });
}
