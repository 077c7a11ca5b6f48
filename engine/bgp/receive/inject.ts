/**
 * `inject-wire-route`: UPDATE bodies of sources that are no neighbours of ours (a BMP station's, a replay's). The engine keeps no routes:
 * a body that is well-formed goes down the route path like a received UPDATE, to every plugin that listens there, so that bgp-rib makes its
 * routes candidates for best path and they are announced as any external route. A source is an owner, a protocol and a key; on the route
 * path it has a peer index of its own, without session, and is called `protocol:key`.
 *
 * An injected body never counts as a configured peer's, whatever its key says. It has no message id that could be forwarded, and makes no
 * event: those speak of sessions.
 */
import { addressBytes } from '../../../sdk/wire/address.ts';
import { viewOf } from '../../../sdk/wire/bytes.ts';
import type { ContextTable, WireContext } from '../../../sdk/wire/context.ts';
import { IPV4_UNICAST, NAMED_FAMILIES, NO_FAMILY } from '../../../sdk/wire/family.ts';
import { DISCARD, OK } from '../../../sdk/wire/fault.ts';
import { HEADER_LENGTH, MAX_EXTENDED_MESSAGE, UPDATE, writeHeader } from '../../../sdk/wire/message.ts';
import { UpdateView } from '../../../sdk/wire/update.ts';
import { u32 } from '../send/export-rule.ts';
import { LoopCheck } from './loop-check.ts';
import { firstFault } from '../originate/relay.ts';

export const MAX_SOURCES = 4096;
const PROTOCOL = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** A key stands in selectors and answers. */
const KEY = /^[!-~]{1,256}$/;
const NOT_IN_KEY = /[,*!"\\]/;
/** Without an address in the key a source loses the comparison of BGP identifiers against every neighbour. */
const HIGHEST_ID = 0xffffffff;

export interface InjectHost {
  readonly contexts: ContextTable;
  /** A plugin keeps routes. */
  hasInjector(): boolean;
  localAs(): number;
  routerId(): number;
  nextMessageId(): number;
  /** A peer index for a source of this name, and its end. */
  settle(name: string, routerId: number): number;
  unsettle(index: number): void;
  up(index: number): void;
  down(index: number): void;
  updated(index: number, messageId: number, view: UpdateView, treatAsWithdraw: boolean): void;
  flushLater(): void;
}

interface Source {
  readonly owner: string;
  readonly index: number;
}

export class Injector {
  readonly #host: InjectHost;
  readonly #sources = new Map<string, Source>();
  readonly #view = new UpdateView();
  readonly #loop = new LoopCheck();
  #bytes: Uint8Array = new Uint8Array(0);
  #bytesView = viewOf(this.#bytes);
  #context: WireContext | undefined;

  constructor(host: InjectHost) {
    this.#host = host;
  }

  get size(): number {
    return this.#sources.size;
  }

  /** Why not, and nothing was done; undefined when the body is on the route path. */
  inject(owner: string, protocol: string, key: string, body: Uint8Array): string | undefined {
    const host = this.#host;
    if (!host.hasInjector()) return 'no route injector registered';
    if (!PROTOCOL.test(protocol)) return `bad protocol "${protocol.slice(0, 64)}"`;
    if (!KEY.test(key) || NOT_IN_KEY.test(key)) return `bad peer-key "${key.slice(0, 64)}"`;
    const fault = this.#read(body);
    if (fault !== undefined) return fault;
    const view = this.#view;
    if (view.endOfRib !== NO_FAMILY) return undefined;
    const name = `${protocol}:${key}`;
    const id = `${owner}\n${name}`;
    let source = this.#sources.get(id);
    if (source === undefined) {
      if (view.nlriLength === 0 && view.reachLength === 0) return undefined;
      if (this.#sources.size >= MAX_SOURCES) return `more than ${MAX_SOURCES} sources`;
      const address = addressBytes(key);
      source = { owner, index: host.settle(name, address?.length === 4 ? u32(address) : HIGHEST_ID) };
      this.#sources.set(id, source);
      host.up(source.index);
    }
    const localAs = host.localAs();
    // RFC 4271 §9.1.2: a path that holds our AS is not used; as from a neighbour it takes an earlier route away.
    const loops = this.#loop.loops(view, { localAs, otherAs: localAs, routerId: host.routerId(), clusterId: 0, allowOwnAs: 0 });
    host.updated(source.index, host.nextMessageId(), view, loops);
    host.flushLater();
    return undefined;
  }

  eject(owner: string): void {
    for (const [id, source] of this.#sources) {
      if (source.owner !== owner) continue;
      this.#sources.delete(id);
      this.#host.down(source.index);
      this.#host.unsettle(source.index);
    }
    this.#host.flushLater();
  }

  /** As from an external neighbour with four-octet AS numbers and no path identifiers, that speaks every family we know. */
  #read(body: Uint8Array): string | undefined {
    if (body.length < 4) return `UPDATE body too short: ${body.length} bytes`;
    if (body.length > MAX_EXTENDED_MESSAGE - HEADER_LENGTH) return `UPDATE body too long: ${body.length} bytes`;
    this.#context ??= this.#host.contexts.intern({
      asn4: true,
      extendedMessage: true,
      ebgp: true,
      peerAs: 0,
      localAs: 0,
      families: NAMED_FAMILIES,
      addPath: [],
      extendedNextHop: [IPV4_UNICAST],
      ownIpv4: 0,
      enforceFirstAs: false,
      refuseAsSets: false,
      confederation: false,
    });
    const length = HEADER_LENGTH + body.length;
    if (this.#bytes.length === 0) {
      this.#bytes = new Uint8Array(MAX_EXTENDED_MESSAGE);
      this.#bytesView = viewOf(this.#bytes);
    }
    this.#bytes.set(body, writeHeader(this.#bytes, 0, length, UPDATE));
    const outcome = this.#view.read(this.#bytes, this.#bytesView, 0, length, this.#context);
    return outcome === OK || outcome === DISCARD ? undefined : firstFault(this.#view);
  }
}
