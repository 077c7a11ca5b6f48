/**
 * The OPENs of a peer's connections, one or two: what we said on each, what the other side answered, what came of it. An OPEN that
 * our own checks accept may still be put before plugins; it becomes an agreement only when it is entered.
 */
import { addressBytes } from '../../../sdk/wire/address.ts';
import type { ContextTable, WireContext } from '../../../sdk/wire/context.ts';
import type { Negotiated } from '../../../sdk/wire/negotiate.ts';
import type { OpenMessage } from '../../../sdk/wire/open.ts';
import { openAs } from '../../../sdk/wire/open.ts';
import type { Connection } from './connection.ts';
import type { Notice } from './fsm.ts';
import { acceptOpen, openFor } from './open.ts';
import type { OpenFacts, PeerSettings, PluginCapability } from '../port.ts';

/** What two OPENs agree on. */
export interface Judged {
  readonly local: OpenMessage;
  readonly remote: OpenMessage;
  readonly negotiated: Negotiated;
}

/** Everything an established session knows beyond its bytes. */
export interface Agreement extends Judged {
  readonly receive: WireContext;
  readonly send: WireContext;
}

export class Opens {
  readonly #contexts: ContextTable;
  readonly #local = new Map<Connection, OpenMessage>();
  readonly #judged = new Map<Connection, Judged>();
  readonly #agreements = new Map<Connection, Agreement>();

  constructor(contexts: ContextTable) {
    this.#contexts = contexts;
  }

  /** The OPEN to be sent. */
  offer(connection: Connection, settings: PeerSettings, capabilities: readonly PluginCapability[]): OpenMessage {
    const open = openFor(settings, capabilities);
    this.#local.set(connection, open);
    return open;
  }

  /** Judges the OPEN of `length` bytes at `at`; a notice refuses it, else `judged` has it. */
  judge(connection: Connection, settings: PeerSettings, bytes: Uint8Array, at: number, length: number): Notice | undefined {
    const local = this.#local.get(connection);
    if (local === undefined) return undefined;
    const own = addressBytes(connection.session?.localAddress ?? '');
    const ownIpv4 = own?.length === 4 ? new DataView(own.buffer, own.byteOffset).getUint32(0) : 0;
    const verdict = acceptOpen(settings, local, ownIpv4, bytes, at, length);
    if (!verdict.ok) return verdict.notice;
    this.#judged.set(connection, { local, remote: verdict.remote, negotiated: verdict.negotiated });
    return undefined;
  }

  judged(connection: Connection): Judged | undefined {
    return this.#judged.get(connection);
  }

  /** What was judged counts from now on. */
  enter(connection: Connection, judged: Judged): void {
    const { receive, send } = judged.negotiated;
    const agreement = { ...judged, receive: this.#contexts.intern(receive), send: this.#contexts.intern(send) };
    this.#agreements.set(connection, agreement);
  }

  agreement(connection: Connection): Agreement | undefined {
    return this.#agreements.get(connection);
  }

  forget(connection: Connection): void {
    this.#local.delete(connection);
    this.#judged.delete(connection);
    this.#agreements.delete(connection);
  }
}

/** An OPEN as plugins see it. */
export function openFacts(open: OpenMessage): OpenFacts {
  const { routerId, holdTimeSeconds } = open;
  const capabilities = open.capabilities.map(({ code, value }) => ({ code, value: Uint8Array.from(value) }));
  return { asn: openAs(open), routerId, holdTimeSeconds, capabilities };
}
