/** What the calls of plugins are made of, and how they refuse. */
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { ReactorPort } from '../bgp/port.ts';
import type { EventBus } from '../bus/bus.ts';
import type { CodecRegistry } from '../codec/registry.ts';
import type { WireCodec } from '../codec/wire-codec.ts';
import type { Caller } from '../command/access.ts';
import type { PeerCatalogue, RouteCommands } from '../command/context.ts';
import type { Dispatcher } from '../command/dispatch.ts';
import type { DnsLookup } from '../host/services/dns-lookup.ts';
import type { StateStore } from '../host/services/state-store.ts';
import type { RouteQueue } from './originations.ts';

export interface ServiceParts {
  readonly dispatcher: Dispatcher;
  readonly routes: RouteCommands;
  /** Where route commands of links go. */
  readonly queue?: RouteQueue | undefined;
  readonly codec: WireCodec;
  readonly registry: Pick<CodecRegistry, 'number'>;
  readonly peers: PeerCatalogue;
  readonly bus: Pick<EventBus, 'emit'>;
  readonly reactor: Pick<ReactorPort, 'forwardCached' | 'releaseCached' | 'relayStored' | 'inject' | 'eject'>;
  /** While the daemon starts and no peer is there yet: resolves when they are, before the first session. */
  settling?(): Promise<void> | undefined;
  readonly state: StateStore;
  readonly dns: DnsLookup;
  /** `ze.fwd.dest.cap`: destinations of one forward-cached call. */
  maxDestinations(): number;
  granted(plugin: string, send: 'update' | 'raw' | 'refresh', peer: number): boolean;
  /** May the plugin see what the peer sends (`receive [ update ]`)? */
  sees(plugin: string, peer: number): boolean;
  /** Is this the name of a plugin that is configured or built in? */
  isPlugin(name: string): boolean;
}

/** The engine itself, when it carries a plugin's call to the owner of a command. */
export const ENGINE_CALLER: Caller = { user: 'engine', access: 'edit' };

/** Rejects with the reason, when there is one. */
export function refuse(fault: string | undefined): void {
  if (fault !== undefined) throw new RpcError('error', fault);
}

/** What a message shows of a text it was given. */
export function clamp(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}
