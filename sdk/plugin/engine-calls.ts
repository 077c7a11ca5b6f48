/**
 * What a plugin asks of the engine: one typed method a call. Inputs and results keep the wire's kebab-case keys.
 *
 * Every call rejects with `RpcError`; an engine that does not know a method answers `unknown-method`. A signal is always
 * last and means "I no longer wait", not "undo".
 */
import type {
  BatchValidateInput,
  BatchValidateOutput,
  DecodeMpReachOutput,
  DecodeMpUnreachOutput,
  DecodeNlriInput,
  DispatchCommandArgsInput,
  EmitEventInput,
  EncodeNlriInput,
  Methods,
  ResolveDnsOutput,
  RouteInstallEntry,
  RouteKey,
  StateGetOutput,
  StateIncrementOutput,
  StateListOutput,
  StatePutOutput,
  StateRemoveOutput,
  StoredRoute,
  SubscribeEventsInput,
  UpdateRouteOutput,
} from '../../yang/generated/methods.ts';
import type { AnswerReader, Collapsed } from '../rpc/answer.ts';
import type { EngineCallMethod } from '../rpc/link-types.ts';
import type { DispatchMethod } from './bridge.ts';

/** Counters of an `update-route`, whichever names the engine uses. */
export interface RouteCounts {
  readonly announced: number;
  readonly withdrawn: number;
  readonly peersAffected: number;
  readonly routesSent: number;
}

/** Whoever waits for a route command. Exactly one of the two is called, once. */
export interface RouteDone {
  accepted(counts: RouteCounts): void;
  refused(error: unknown): void;
}

/** Peers by name, address, `as<n>` or glob; `except` leaves some out. */
export interface PeerSelection {
  readonly peers?: readonly string[] | undefined;
  readonly except?: string | undefined;
}

/** The selector text of a selection: all peers, a comma list, or everyone but one. */
export function selectorText(selection: PeerSelection): string {
  if (selection.except !== undefined) {
    if (selection.peers !== undefined && selection.peers.length > 0)
      throw new TypeError('a selection names peers or an exception, not both');
    return `!${selection.except}`;
  }
  return selection.peers === undefined || selection.peers.length === 0 ? '*' : selection.peers.join(',');
}

/** Options of calls that take route metadata. */
export type RouteMeta = Readonly<Record<string, unknown>>;

export abstract class EngineCalls {
  /** One call that is answered by one value. */
  protected abstract call<M extends EngineCallMethod>(
    method: M,
    input: Methods[M]['input'],
    signal?: AbortSignal,
  ): Promise<Methods[M]['output']>;
  /** One call that is answered by records. */
  protected abstract dispatch<M extends DispatchMethod>(
    method: M,
    input: Methods[M]['input'],
    signal?: AbortSignal,
  ): AnswerReader;

  /** `command` is a route command such as `update text next-hop self nlri ipv4/unicast add 192.0.2.0/24`. */
  async updateRoute(peerSelector: string, command: string, signal?: AbortSignal): Promise<RouteCounts> {
    return counts(await this.call('ze-plugin-engine:update-route', { 'peer-selector': peerSelector, command }, signal));
  }

  /** `meta` goes with the routes to egress filters. */
  async updateRouteWithMeta(peerSelector: string, command: string, meta: RouteMeta, signal?: AbortSignal): Promise<RouteCounts> {
    return counts(await this.call('ze-plugin-engine:update-route', { 'peer-selector': peerSelector, command, meta }, signal));
  }

  /** `updateRoute` for who has tens of thousands under way (`RouteSender`): `done` gets the counts or the error, once. */
  abstract sendRoute(peerSelector: string, command: string, done: RouteDone): void;

  /** The same for a command in two pieces, of which `prefixes` holds nothing that JSON would escape; `done` may be for many. */
  abstract sendPrefixes(peerSelector: string, head: string, prefixes: string, done: RouteDone): void;

  /** `updateRoute` for a selection of peers. Throws TypeError when it names peers and an exception. */
  updateRouteSel(selection: PeerSelection, command: string, signal?: AbortSignal): Promise<RouteCounts> {
    return this.updateRoute(selectorText(selection), command, signal);
  }

  /** `updateRouteWithMeta` for a selection of peers. */
  updateRouteSelWithMeta(selection: PeerSelection, command: string, meta: RouteMeta, signal?: AbortSignal): Promise<RouteCounts> {
    return this.updateRouteWithMeta(selectorText(selection), command, meta, signal);
  }

  /** Forwards cached UPDATEs by id. The ids are consumed even when it fails. `destinations` are `IP` or `IP:PORT`. */
  async forwardCached(ids: readonly number[], destinations: readonly string[], signal?: AbortSignal): Promise<void> {
    await this.call('ze-plugin-engine:forward-cached', { ids, destinations }, signal);
  }

  /** Acknowledges cached UPDATEs without forwarding them. A cache consumer owes this, or a forward, for every update id it got. */
  async releaseCached(ids: readonly number[], signal?: AbortSignal): Promise<void> {
    await this.call('ze-plugin-engine:release-cached', { ids }, signal);
  }

  /** Sends stored received routes to one peer (its address), with the egress rules of a live forward. At most what fits a line (16 MiB). */
  async relayStoredRoute(destination: string, routes: readonly StoredRoute[], signal?: AbortSignal): Promise<void> {
    await this.call('ze-plugin-engine:relay-stored-route', { destination, routes }, signal);
  }

  /** Resolves to the number of routes installed. */
  async routeInstall(routes: readonly RouteInstallEntry[], signal?: AbortSignal): Promise<number> {
    return (await this.call('ze-plugin-engine:route-install', { routes }, signal)).installed;
  }

  /** Resolves to the number of routes removed. */
  async routeRemove(routes: readonly RouteKey[], signal?: AbortSignal): Promise<number> {
    return (await this.call('ze-plugin-engine:route-remove', { routes }, signal)).removed;
  }

  /** `updateBody` is an UPDATE without its 19-byte header. */
  async injectWireRoute(protocol: string, peerKey: string, updateBody: Uint8Array, signal?: AbortSignal): Promise<void> {
    const body = Buffer.from(updateBody.buffer, updateBody.byteOffset, updateBody.byteLength).toString('base64');
    await this.call('ze-plugin-engine:inject-wire-route', { protocol, 'peer-key': peerKey, 'update-body': body }, signal);
  }

  /** Decisions of a route validator; the keys of a decision are capitalised on the wire. Resolves to how many were taken. */
  batchValidate(decisions: BatchValidateInput['decisions'], signal?: AbortSignal): Promise<BatchValidateOutput> {
    return this.call('ze-plugin-engine:batch-validate', { decisions }, signal);
  }

  /** Runs a command line and folds the answer into one value. Rejects when the text names no command (`unknown-command`). */
  dispatchCommand(command: string, signal?: AbortSignal): Promise<Collapsed> {
    return this.dispatchCommandAnswer(command, signal).collapse();
  }

  /** The same by exact name with arguments that are tokens already. */
  dispatchCommandArgs(input: DispatchCommandArgsInput, signal?: AbortSignal): Promise<Collapsed> {
    return this.dispatchCommandArgsAnswer(input, signal).collapse();
  }

  /** The same row by row: `for await (const row of answer)`, then `await answer.verdict`. */
  dispatchCommandAnswer(command: string, signal?: AbortSignal): AnswerReader {
    return this.dispatch('ze-plugin-engine:dispatch-command', { command }, signal);
  }

  /** `dispatchCommandArgs` row by row. */
  dispatchCommandArgsAnswer(input: DispatchCommandArgsInput, signal?: AbortSignal): AnswerReader {
    return this.dispatch('ze-plugin-engine:dispatch-command-args', input, signal);
  }

  /** Resolves to the number of processes reached. The emitter never gets its own event. */
  async emitEvent(input: EmitEventInput, signal?: AbortSignal): Promise<number> {
    return (await this.call('ze-plugin-engine:emit-event', input, signal)).delivered;
  }

  /** Adds subscriptions. `format` and `encoding` hold for the whole process, the last call wins. */
  async subscribeEvents(input: SubscribeEventsInput, signal?: AbortSignal): Promise<void> {
    await this.call('ze-plugin-engine:subscribe-events', input, signal);
  }

  /** Clears every subscription of this plugin. */
  async unsubscribeEvents(signal?: AbortSignal): Promise<void> {
    await this.call('ze-plugin-engine:unsubscribe-events', undefined, signal);
  }

  /** Resolves to the decoded NLRI as JSON. */
  async decodeNlri(input: DecodeNlriInput, signal?: AbortSignal): Promise<unknown> {
    return (await this.call('ze-plugin-engine:decode-nlri', input, signal)).json;
  }

  /** Resolves to hex. */
  async encodeNlri(input: EncodeNlriInput, signal?: AbortSignal): Promise<string> {
    return (await this.call('ze-plugin-engine:encode-nlri', input, signal)).hex;
  }

  /** `hex` is the attribute's value. */
  decodeMpReach(hex: string, addPath = false, signal?: AbortSignal): Promise<DecodeMpReachOutput> {
    return this.call('ze-plugin-engine:decode-mp-reach', hexInput(hex, addPath), signal);
  }

  /** MP_UNREACH_NLRI, as `decodeMpReach`. */
  decodeMpUnreach(hex: string, addPath = false, signal?: AbortSignal): Promise<DecodeMpUnreachOutput> {
    return this.call('ze-plugin-engine:decode-mp-unreach', hexInput(hex, addPath), signal);
  }

  /** `hex` is the UPDATE's body. Resolves to JSON text `{"update":{"attr","nlri"}}`. */
  async decodeUpdate(hex: string, addPath = false, signal?: AbortSignal): Promise<string> {
    return (await this.call('ze-plugin-engine:decode-update', hexInput(hex, addPath), signal)).json;
  }

  /** `type` is the number of the resource record type. */
  resolveDns(name: string, type: number, signal?: AbortSignal): Promise<ResolveDnsOutput> {
    return this.call('ze-plugin-engine:resolve-dns', { name, type }, signal);
  }

  /** Keys of the state store begin with `meta/`; `data` is base64. */
  stateGet(key: string, signal?: AbortSignal): Promise<StateGetOutput> {
    return this.call('ze-plugin-engine:state-get', { key }, signal);
  }

  /** Writes base64 of at most 1 MiB. */
  statePut(key: string, data: string, signal?: AbortSignal): Promise<StatePutOutput> {
    return this.call('ze-plugin-engine:state-put', { key, data }, signal);
  }

  /** Status `absent` when there was no such key. */
  stateRemove(key: string, signal?: AbortSignal): Promise<StateRemoveOutput> {
    return this.call('ze-plugin-engine:state-remove', { key }, signal);
  }

  /** At most 4096 keys that begin with `prefix`. */
  stateList(prefix: string, signal?: AbortSignal): Promise<StateListOutput> {
    return this.call('ze-plugin-engine:state-list', { key: prefix }, signal);
  }

  /** Adds one to a counter; resolves to its value. */
  stateIncrement(key: string, signal?: AbortSignal): Promise<StateIncrementOutput> {
    return this.call('ze-plugin-engine:state-increment', { key }, signal);
  }

  /** A plugin that declared `signals-session-ready` says that it has sent its routes; `token` is the up event's `initial-replay`. */
  async sessionReady(peerAddress: string, token = '', signal?: AbortSignal): Promise<void> {
    const command = token === '' ? 'plugin session ready' : `plugin session ${token} ready`;
    const result = await this.dispatchCommand(`request peer ${peerAddress} ${command}`, signal);
    if (result.status === 'error') throw new Error(result.error ?? 'session ready was refused');
  }
}

/** The counters of an answer, whichever of their names it uses. */
export function counts(output: UpdateRouteOutput): RouteCounts {
  const routesSent = output['routes-sent'] ?? output.announced ?? 0;
  return {
    announced: output.announced ?? routesSent,
    withdrawn: output.withdrawn ?? 0,
    peersAffected: output['peers-affected'] ?? 0,
    routesSent,
  };
}

function hexInput(hex: string, addPath: boolean): { readonly hex: string; readonly 'add-path'?: boolean } {
  return addPath ? { hex, 'add-path': true } : { hex };
}
