/** The hub as the host keeps it: opened when the first external plugin or configured server needs it, with its certificates. */
import type { Report } from '../../bgp/port.ts';
import type { HubServer } from '../../config/settings/plugin-settings.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { Authority } from './certificate.ts';
import { Hub, type Listener } from './hub.ts';
import { Tokens } from './tokens.ts';

export interface DoorOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly report: (report: Report) => void;
  /** `undefined` = certificates in memory. */
  readonly stateDirectory: string | undefined;
}

export interface OpenDoor {
  readonly hub: Hub;
  /** Loopback, port chosen by the system: where children dial. */
  readonly internal: Listener;
  readonly caPem: string;
}

export class Door {
  readonly tokens = new Tokens();
  readonly #options: DoorOptions;
  readonly #servers = new Map<string, string>();
  #opening: Promise<OpenDoor> | undefined;
  #closed = false;

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  /** The hub with its internal listener; opened once. */
  open(): Promise<OpenDoor> {
    if (this.#closed) return Promise.reject(new Error('the hub is closed'));
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /** Opens configured servers that are new, closes those that are gone; one that can't be opened is reported. */
  async serve(servers: readonly HubServer[]): Promise<void> {
    if (servers.length === 0 && this.#servers.size === 0) return;
    const { hub } = await this.open();
    const wanted = new Map(servers.map((server) => [server.name, JSON.stringify(server)]));
    for (const [name, text] of this.#servers) {
      if (wanted.get(name) === text) continue;
      this.#servers.delete(name);
      hub.unlisten(name);
    }
    for (const server of servers) {
      if (this.#servers.has(server.name)) continue;
      const subject = `${server.ip}:${server.port}`;
      try {
        const clients = new Map(server.clients.map((client) => [client.name, client.secret]));
        await hub.listen({ name: server.name, host: server.ip, port: server.port, secrets: { secret: server.secret, clients } });
        this.#servers.set(server.name, wanted.get(server.name) ?? '');
        this.#warn('plugin-hub-listen', server.name, '', true);
      } catch (error) {
        this.#options.log.error({ server: server.name, error: messageOf(error) }, 'plugin hub cannot listen');
        this.#warn('plugin-hub-listen', server.name, `hub server on ${subject} cannot listen: ${messageOf(error)}`, false);
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const opening = this.#opening;
    this.#opening = undefined;
    this.#servers.clear();
    if (opening === undefined) return;
    const door = await opening.catch(() => undefined);
    await door?.hub.close();
  }

  async #open(): Promise<OpenDoor> {
    const { clock, log, report, stateDirectory } = this.#options;
    const authority = await Authority.open({
      directory: stateDirectory,
      wall: () => clock.wall(),
      unwritable: (directory, cause) => {
        log.warn({ directory, error: cause.message }, 'state directory is not writable, hub CA kept in memory');
        this.#warn('state-dir-unwritable', directory, `the hub's CA is kept in memory: ${cause.message}`, false);
      },
    });
    const hub = new Hub({ authority, tokens: this.tokens, clock, log, report });
    const internal = await hub.listen({ name: 'internal', host: '127.0.0.1', port: 0, secrets: undefined });
    return { hub, internal, caPem: authority.pem };
  }

  #warn(code: string, subject: string, message: string, clear: boolean): void {
    this.#options.report({ severity: 'warning', code, source: 'host', subject, message, clear });
  }
}
