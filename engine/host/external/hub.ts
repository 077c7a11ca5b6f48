/**
 * The hub: where external plugins dial in. TLS 1.3, one auth line, then the connection belongs to the plugin that was waiting
 * under that name; everything else is closed (plugin-wire §9, §10; hostile-inputs H58).
 *
 * At most 32 connections at a time are between their accept and their auth; others wait, accepted but unread, and past a
 * second limit they are refused. A second connection under a name that lives leaves the first one alone.
 */
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from 'node:tls';
import { AUTH_LINE_LIMIT, AUTH_OK, type AuthClaim, authError, parseAuth, readFirstLine } from '../../../sdk/rpc/auth.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import type { Clock } from '../../core/clock.ts';
import { linkSignals } from '../../core/linked-signal.ts';
import type { Log } from '../../core/log.ts';
import type { Report } from '../../bgp/port.ts';
import type { Authority, Leaf } from './certificate.ts';
import { clamp } from '../quote.ts';
import type { HubSecrets, Tokens } from './tokens.ts';

export const UNAUTHENTICATED_LIMIT = 32;
/** Connections that wait for one of the 32 places, on all listeners of the hub. */
export const WAITING_LIMIT = 256;
/** From the place to the end of the auth line, TLS handshake included. */
export const AUTH_TIMEOUT_MS = 10_000;

export interface ListenSettings {
  /** `internal`, or the configured server's name. */
  readonly name: string;
  readonly host: string;
  /** 0 = pick one */
  readonly port: number;
  readonly secrets: HubSecrets | undefined;
}

export interface HubOptions {
  readonly authority: Authority;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly log: Log;
  readonly report: (report: Report) => void;
}

export interface Listener {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** The leaf that is in use now. */
  leaf(): Promise<Leaf>;
}

interface Open extends Listener {
  readonly net: NetServer;
  readonly tls: TlsServer;
  readonly secrets: HubSecrets | undefined;
  current: Leaf;
}

/** A wait for a plugin's connection. */
interface Expected {
  take(socket: TLSSocket): void;
}

export class Hub {
  readonly #options: HubOptions;
  readonly #listeners: Open[] = [];
  readonly #expected = new Map<string, Expected>();
  /** Names whose connection lives. */
  readonly #living = new Map<string, TLSSocket>();
  readonly #waiting: { socket: Socket; listener: Open }[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #stop = new AbortController();
  #unauthenticated = 0;
  #reportedAt = -Infinity;
  #unreported = 0;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** Opens a listener. Rejects with the system error when the address cannot be had. */
  async listen(settings: ListenSettings): Promise<Listener> {
    const { authority } = this.#options;
    const hosts = [settings.host];
    const first = await authority.leaf(hosts);
    const tls = createTlsServer({ key: first.key, cert: first.chain, minVersion: 'TLSv1.3', handshakeTimeout: AUTH_TIMEOUT_MS });
    tls.setMaxListeners(UNAUTHENTICATED_LIMIT + 1);
    const net = createServer({ pauseOnConnect: true, noDelay: true });
    await new Promise<void>((resolve, reject) => {
      net.once('error', reject);
      net.listen(settings.port, settings.host, () => {
        net.off('error', reject);
        resolve();
      });
    });
    const address = net.address();
    const port = typeof address === 'object' && address !== null ? address.port : settings.port;
    const open: Open = {
      name: settings.name,
      host: settings.host,
      port,
      net,
      tls,
      secrets: settings.secrets,
      current: first,
      leaf: async () => {
        const leaf = await authority.leaf(hosts);
        if (leaf !== open.current) tls.setSecureContext({ key: leaf.key, cert: leaf.chain, minVersion: 'TLSv1.3' });
        open.current = leaf;
        return leaf;
      },
    };
    net.on('connection', (socket) => this.#accept(socket, open));
    net.on('error', (error) => this.#options.log.warn({ listener: open.name, error: error.message }, 'hub listener failed'));
    this.#listeners.push(open);
    this.#options.log.info({ listener: open.name, host: open.host, port: open.port }, 'plugin hub listens');
    return open;
  }

  get listeners(): readonly Listener[] {
    return this.#listeners;
  }

  /** Connections that are not authenticated yet, and those that wait to be: what tests and `show` count. */
  get pending(): { readonly unauthenticated: number; readonly waiting: number } {
    return { unauthenticated: this.#unauthenticated, waiting: this.#waiting.length };
  }

  /**
   * Waits for the plugin of this name to connect. Rejects with the signal's reason. The socket comes paused, its next byte the
   * first one after the auth line; the name is taken until the socket closes.
   */
  expect(name: string, signal: AbortSignal): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const give = (): void => {
        if (this.#expected.get(name) === entry) this.#expected.delete(name);
        reject(signal.reason instanceof Error ? signal.reason : new Error('wait for the connection ended'));
      };
      const entry: Expected = {
        take: (socket) => {
          signal.removeEventListener('abort', give);
          this.#expected.delete(name);
          resolve(socket);
        },
      };
      if (signal.aborted) {
        give();
        return;
      }
      signal.addEventListener('abort', give, { once: true });
      this.#expected.set(name, entry);
    });
  }

  /** Closes one listener; connections that came by it live on. */
  unlisten(name: string): void {
    const index = this.#listeners.findIndex((listener) => listener.name === name);
    const [listener] = index < 0 ? [] : this.#listeners.splice(index, 1);
    listener?.net.close();
  }

  /** Closes the listeners and every connection that no plugin owns. Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort();
    for (const { socket } of this.#waiting.splice(0)) socket.destroy();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#listeners.splice(0).map(({ net }) => new Promise<void>((resolve) => net.close(() => resolve()))));
  }

  #accept(socket: Socket, listener: Open): void {
    socket.on('error', () => socket.destroy());
    if (this.#stop.signal.aborted || this.#waiting.length >= WAITING_LIMIT) {
      socket.destroy();
      return;
    }
    if (this.#unauthenticated < UNAUTHENTICATED_LIMIT) {
      this.#admit(socket, listener);
      return;
    }
    const entry = { socket, listener };
    this.#waiting.push(entry);
    socket.once('close', () => {
      const index = this.#waiting.indexOf(entry);
      if (index >= 0) this.#waiting.splice(index, 1);
    });
  }

  #admit(socket: Socket, listener: Open): void {
    this.#unauthenticated++;
    this.#sockets.add(socket);
    this.#authenticate(socket, listener)
      .catch((error: unknown) => {
        this.#options.log.debug({ error: String(error) }, 'hub connection failed');
        socket.destroy();
      })
      .finally(() => {
        this.#sockets.delete(socket);
        this.#unauthenticated--;
        const next = this.#waiting.shift();
        if (next !== undefined) this.#admit(next.socket, next.listener);
      });
  }

  async #authenticate(raw: Socket, listener: Open): Promise<void> {
    const deadline = new AbortController();
    const timer = this.#options.clock.after(AUTH_TIMEOUT_MS, () => deadline.abort());
    const linked = linkSignals(deadline.signal, this.#stop.signal);
    const { signal } = linked;
    const cut = (): void => void raw.destroy();
    signal.addEventListener('abort', cut, { once: true });
    const from = raw.remoteAddress ?? '';
    try {
      await listener.leaf();
      const socket = await handshake(raw, listener.tls);
      if (socket === undefined) return;
      // The deadline is ours, TLS handshake included; the reader's own never fires before it.
      const line = await readFirstLine(socket, AUTH_LINE_LIMIT, AUTH_TIMEOUT_MS + 1000).catch((error: unknown) => error);
      if (line instanceof Buffer) this.#judge(parseAuth(line), socket, from, listener.secrets);
      else if (line instanceof RpcError && line.code === 'too-large') this.#refuse(socket, from, 'malformed auth request');
      else {
        if (deadline.signal.aborted) this.#refused(from, 'no auth line in time');
        socket.destroy();
      }
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', cut);
      linked.release();
    }
  }

  #judge(claim: AuthClaim, socket: TLSSocket, from: string, secrets: HubSecrets | undefined): void {
    if (!claim.ok) this.#refuse(socket, from, claim.fault);
    else if (!this.#options.tokens.accepts(claim.name, claim.token, secrets))
      this.#refuse(socket, from, 'auth failed', claim.name);
    else this.#hand(claim.name, socket, from);
  }

  #refuse(socket: TLSSocket, from: string, fault: string, name?: string): void {
    this.#refused(from, fault, name);
    this.#finish(socket, authError(fault));
  }

  #hand(name: string, socket: TLSSocket, from: string): void {
    const expected = this.#expected.get(name);
    if (expected === undefined || this.#living.has(name)) {
      this.#options.log.warn({ plugin: name, from, living: this.#living.has(name) }, 'hub connection nobody waits for');
      this.#finish(socket, AUTH_OK);
      return;
    }
    this.#living.set(name, socket);
    socket.once('close', () => this.#living.delete(name));
    socket.write(AUTH_OK);
    expected.take(socket);
  }

  /** Sends a last line and closes; a peer that does not read is cut off after a second. */
  #finish(socket: TLSSocket, line: string): void {
    const timer = this.#options.clock.after(1000, () => socket.destroy());
    socket.once('close', () => timer.cancel());
    socket.end(line);
    socket.resume();
  }

  #refused(from: string, message: string, name?: string): void {
    this.#options.log.warn({ from, fault: message, ...(name === undefined ? {} : { plugin: name }) }, 'hub connection refused');
    // A flood of refusals must not push everything else out of the list of errors.
    const now = this.#options.clock.now();
    if (now - this.#reportedAt < 1000) {
      this.#unreported++;
      return;
    }
    this.#reportedAt = now;
    const unreported = this.#unreported;
    this.#unreported = 0;
    this.#options.report({
      severity: 'error',
      code: 'plugin-auth',
      source: 'host',
      subject: name ?? clamp(from),
      message: `connection to the plugin hub refused: ${message}`,
      detail: unreported === 0 ? { from } : { from, 'refused-before': unreported },
    });
  }
}

/** The TLS side of an accepted connection; `undefined` when it ends before the handshake does. */
function handshake(raw: Socket, tls: TlsServer): Promise<TLSSocket | undefined> {
  return new Promise((resolve) => {
    const done = (socket: TLSSocket | undefined): void => {
      tls.off('secureConnection', onSecure);
      raw.off('close', onGone);
      resolve(socket);
    };
    // The server's event tells of every connection: ours is the one from our port.
    const onSecure = (socket: TLSSocket): void => {
      if (socket.remotePort !== raw.remotePort || socket.remoteAddress !== raw.remoteAddress) return;
      socket.on('error', () => socket.destroy());
      done(socket);
    };
    const onGone = (): void => done(undefined);
    tls.on('secureConnection', onSecure);
    raw.once('close', onGone);
    if (raw.destroyed) onGone();
    else tls.emit('connection', raw);
  });
}
