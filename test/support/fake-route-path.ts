// A route path without a reactor: peers are declared, UPDATEs are built by the codec and handed to the plugin's handlers, and what the plugin
// sends is kept as plain records.
import assert from 'node:assert/strict';
import type {
  BestChange,
  BestRoutes,
  Exporter,
  OriginatedHandler,
  RoutePath,
  UpdateHandler,
} from '../../sdk/plugin/route-path.ts';
import type { PeerDirectory } from '../../sdk/plugin/structured.ts';
import type { FilterCompiler } from '../../sdk/policy/route-filter.ts';
import { addressBytes, formatAddress, formatPrefix, parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { ContextTable, PLAIN_FACTS, type WireContext } from '../../sdk/wire/context.ts';
import { familyName, IPV4_UNICAST, isPrefixFamily } from '../../sdk/wire/family.ts';
import { WITHDRAW } from '../../sdk/wire/fault.ts';
import { nlriLength } from '../../sdk/wire/nlri/syntax.ts';
import { UpdateView } from '../../sdk/wire/update.ts';
import { UpdateWriter } from '../../sdk/wire/writer.ts';
import { type Attributes, block } from './rib-attributes.ts';

export interface FakePeer {
  readonly name: string;
  readonly address: string;
  readonly remoteAs: number;
  readonly external: boolean;
  /** u32 */
  readonly routerId: number;
  readonly families: readonly number[];
  readonly addPath: readonly number[];
  readonly asn4: boolean;
}

/** What a plugin sent to a peer. `path` is the AS path's numbers, empty for a withdraw. */
export interface Sent {
  readonly peer: string;
  readonly family: string;
  readonly announce: boolean;
  readonly nlri: readonly string[];
  readonly path: readonly number[];
  readonly nextHop: string;
  readonly pathId: number;
}

export class FakeExporter implements Exporter {
  readonly routes: BestRoutes;
  readonly transparent: boolean;
  readonly rows: number[] = [];
  readonly refreshed: number[] = [];
  readonly told = new Set<string>();
  closed = false;

  constructor(routes: BestRoutes, transparent: boolean) {
    this.routes = routes;
    this.transparent = transparent;
  }

  changed(rows: Int32Array, count: number): void {
    for (let i = 0; i < count; i++) this.rows.push(rows[i]!);
  }

  announced(peer: number, row: number): boolean {
    return this.told.has(`${peer} ${row}`);
  }

  refresh(peer: number): void {
    this.refreshed.push(peer);
  }

  close(): void {
    this.closed = true;
  }
}

type Done = () => void;

export class FakeRoutePath implements RoutePath {
  readonly settings = { routeServerBestPath: false, routeServerTransparent: false, multipathMaximum: 1, multipathRelax: false };
  readonly list: FakePeer[] = [];
  readonly peers: PeerDirectory;
  readonly relayed: Sent[] = [];
  readonly originated: Sent[] = [];
  readonly forwarded: { readonly message: number; readonly except: string }[] = [];
  readonly published: { readonly routes: BestRoutes; readonly prefixes: readonly string[] }[] = [];
  readonly exporters: FakeExporter[] = [];
  readonly filterKinds = new Map<string, FilterCompiler>();
  readonly reports: string[] = [];
  readonly refreshRequests: string[] = [];
  readonly refreshesDone: string[] = [];
  counter: ((peer: number, family: number) => number) | undefined;
  /** Rows that an exporter is taken to hold: `idle` is false. */
  holding = false;
  readonly #contexts = new ContextTable();
  readonly #context: WireContext[] = [];
  readonly #up = new Set<number>();
  readonly #tables: BestRoutes[] = [];
  readonly #view = new UpdateView();
  readonly #updates: UpdateHandler[] = [];
  readonly #endsOfRib: ((peer: number, family: number) => void)[] = [];
  readonly #ups: ((peer: number, families: readonly number[], done: Done) => void)[] = [];
  readonly #downs: ((peer: number, reason: string) => void)[] = [];
  readonly #refreshes: ((peer: number, family: number, subtype: number) => void)[] = [];
  readonly #flushes: Done[] = [];
  readonly #originations: OriginatedHandler[] = [];
  readonly #disowns: ((owner: string) => void)[] = [];
  readonly #resends: ((peer: number, family: number, done: Done) => void)[] = [];
  readonly #bests: ((change: BestChange) => void)[] = [];
  readonly #slices: (() => boolean)[] = [];
  readonly #room = new Uint8Array(65536);
  #message = 0;

  constructor() {
    const { list } = this;
    this.peers = {
      get capacity(): number {
        return list.length;
      },
      name: (peer) => list[peer]?.name ?? '',
      address: (peer) => list[peer]?.address ?? '',
      remoteAs: (peer) => list[peer]?.remoteAs ?? 0,
      localAs: () => 65000,
      group: () => '',
    };
  }

  /** Declares a peer; its index. */
  add(name: string, options: Partial<FakePeer> = {}): number {
    const index = this.list.length;
    const peer: FakePeer = {
      name,
      address: `192.0.2.${index + 1}`,
      remoteAs: 65001 + index,
      external: true,
      routerId: index + 1,
      families: [IPV4_UNICAST],
      addPath: [],
      asn4: true,
      ...options,
    };
    this.list.push(peer);
    const { families, addPath, asn4, external: ebgp } = peer;
    this.#context.push(this.#contexts.intern({ ...PLAIN_FACTS, families, addPath, asn4, ebgp }));
    return index;
  }

  /** The session comes up; how many handlers have not called `done` yet is the answer of the function returned. */
  up(peer: number): () => number {
    this.#up.add(peer);
    let waiting = this.#ups.length;
    for (const handler of this.#ups)
      handler(
        peer,
        this.list[peer]!.families,
        once(() => waiting--),
      );
    return () => waiting;
  }

  down(peer: number): void {
    this.#up.delete(peer);
    for (const handler of this.#downs) handler(peer, 'test');
  }

  /** One UPDATE of the peer. Prefixes as text, other families' NLRI as bytes. */
  announce(
    peer: number,
    prefixes: readonly (string | Uint8Array)[],
    attributes: Attributes,
    more: Partial<UpdateMore> = {},
  ): void {
    this.receive(peer, this.build(peer, prefixes, attributes, more));
  }

  withdraw(peer: number, prefixes: readonly (string | Uint8Array)[], more: Partial<UpdateMore> = {}): void {
    this.receive(peer, this.build(peer, prefixes, undefined, more));
  }

  build(
    peer: number,
    prefixes: readonly (string | Uint8Array)[],
    attributes: Attributes | undefined,
    more: Partial<UpdateMore>,
  ): Uint8Array {
    const family = more.family ?? IPV4_UNICAST;
    const writer = new UpdateWriter().over(this.#room);
    const addPath = this.#context[peer]!.addPath(family);
    const hop = more.nextHop === undefined ? new Uint8Array(0) : addressBytes(more.nextHop)!;
    const bytes =
      more.block ??
      block({ nextHop: hop.length === 0 ? '192.0.2.9' : undefined, path: [this.list[peer]!.remoteAs], ...attributes });
    if (attributes === undefined) writer.beginWithdraw(family, addPath, 65535);
    else writer.beginAnnounce(family, addPath, 65535, bytes, 0, bytes.length, hop);
    const target = prefixTarget();
    for (const prefix of prefixes) {
      if (typeof prefix === 'string') {
        assert(parsePrefix(prefix, target), prefix);
        writer.addPrefix(target.bytes, 0, target.lengthBits, more.pathId ?? 0);
      } else {
        writer.addNlri(prefix, 0, prefix.length);
      }
    }
    writer.close();
    assert.equal(writer.messages, 1);
    return writer.bytes.slice(0, writer.used);
  }

  /** A whole message as received. */
  receive(peer: number, message: Uint8Array): void {
    const outcome = this.#view.read(message, viewOf(message), 0, message.length, this.#context[peer]!);
    this.#message++;
    for (const handler of this.#updates) handler(peer, this.#message, this.#view, outcome === WITHDRAW);
  }

  endOfRib(peer: number, family: number): void {
    for (const handler of this.#endsOfRib) handler(peer, family);
  }

  refresh(peer: number, family: number, subtype = 0): void {
    for (const handler of this.#refreshes) handler(peer, family, subtype);
  }

  flush(): void {
    for (const handler of this.#flushes) handler();
  }

  /** Runs one slice of the work that waits longest, and flushes. */
  step(): void {
    const step = this.#slices.shift();
    if (step?.() === true) this.#slices.push(step);
    this.flush();
  }

  /** Runs slices to their end, with a flush after each as the reactor does; how many there were. */
  drain(): number {
    let steps = 0;
    for (let step = this.#slices.shift(); step !== undefined; step = this.#slices.shift()) {
      if (step()) this.#slices.push(step);
      this.flush();
      steps++;
    }
    return steps;
  }

  /** A route originated by `owner`, as the engine tells it after having sent it. */
  originate(owner: string, peer: number, prefix: string, attributes: Attributes | undefined, pathId = 0, meta = ''): void {
    const target = prefixTarget();
    assert(parsePrefix(prefix, target));
    const nlri = Uint8Array.from([target.lengthBits, ...target.bytes.subarray(0, (target.lengthBits + 7) >>> 3)]);
    const bytes = block(attributes ?? {});
    const family = target.addressLength === 4 ? IPV4_UNICAST : (2 << 8) | 1;
    for (const handler of this.#originations) {
      handler(owner, peer, family, attributes !== undefined, nlri, 0, nlri.length, pathId, bytes, new Uint8Array(0), meta);
    }
  }

  disown(owner: string): void {
    for (const handler of this.#disowns) handler(owner);
  }

  // RoutePath

  onUpdate(handler: UpdateHandler): void {
    this.#updates.push(handler);
  }
  onEndOfRib(handler: (peer: number, family: number) => void): void {
    this.#endsOfRib.push(handler);
  }
  onPeerUp(handler: (peer: number, families: readonly number[], done: Done) => void): void {
    this.#ups.push(handler);
  }
  onPeerDown(handler: (peer: number, reason: string) => void): void {
    this.#downs.push(handler);
  }
  onRefresh(handler: (peer: number, family: number, subtype: number) => void): void {
    this.#refreshes.push(handler);
  }
  onFlush(handler: Done): void {
    this.#flushes.push(handler);
  }
  onOriginated(handler: OriginatedHandler): void {
    this.#originations.push(handler);
  }
  onDisown(handler: (owner: string) => void): void {
    this.#disowns.push(handler);
  }
  onResend(handler: (peer: number, family: number, done: Done) => void): void {
    this.#resends.push(handler);
  }
  onBestChange(handler: (change: BestChange) => void): void {
    this.#bests.push(handler);
  }

  resend(peer: number, family: number, done: Done): void {
    let waiting = this.#resends.length;
    if (waiting === 0) done();
    for (const handler of this.#resends) {
      handler(
        peer,
        family,
        once(() => {
          if (--waiting === 0) done();
        }),
      );
    }
  }

  sendOriginated(
    peer: number,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    nlriAt: number,
    nlriLength: number,
    pathId: number,
    attributes: Uint8Array,
    nextHop: Uint8Array,
  ): boolean {
    if (!this.established(peer) || !this.list[peer]!.families.includes(family)) return false;
    this.originated.push(
      this.#sent(peer, family, announce, nlri, nlriAt, nlriLength, pathId, attributes, attributes.length, nextHop),
    );
    return true;
  }

  relay(
    destination: number,
    _source: number,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    nlriAt: number,
    nlriLength: number,
    attributes: Uint8Array,
    attributesLength: number,
    nextHop: Uint8Array,
  ): void {
    if (!this.established(destination) || !this.list[destination]!.families.includes(family)) return;
    this.relayed.push(
      this.#sent(destination, family, announce, nlri, nlriAt, nlriLength, 0, attributes, attributesLength, nextHop),
    );
  }

  countPrefixes(counter: (peer: number, family: number) => number): void {
    this.counter = counter;
  }

  publishBest(change: BestChange): void {
    if (!this.#tables.includes(change.routes)) this.#tables.push(change.routes);
    const prefixes = Array.from(change.rows.subarray(0, change.count), (row) => this.describe(change.routes, row));
    this.published.push({ routes: change.routes, prefixes });
    for (const handler of this.#bests) handler(change);
  }

  /** `198.51.100.0/24 65001` with the first AS of the best route, or `198.51.100.0/24 -`. */
  describe(routes: BestRoutes, row: number): string {
    const out = new Uint8Array(64);
    routes.writePrefix(row, out, 0);
    const handle = routes.best(row);
    const prefix = formatPrefix(out, 1, out[0]!, routes.family >>> 8 === 1 ? 4 : 16);
    return `${prefix} ${handle === 0 ? '-' : (this.list[routes.source(row)]?.name ?? 'local')}`;
  }

  exporter(routes: BestRoutes, options: { readonly transparent: boolean }): Exporter {
    const made = new FakeExporter(routes, options.transparent);
    this.exporters.push(made);
    return made;
  }
  idle(): boolean {
    return !this.holding;
  }
  announced(routes: BestRoutes, peer: number, row: number): boolean {
    return this.exporters.some((exporter) => exporter.routes === routes && exporter.announced(peer, row));
  }
  bestTables(): readonly BestRoutes[] {
    return this.#tables;
  }
  forward(_view: UpdateView, exceptPeer: number): void {
    this.forwarded.push({ message: this.#message, except: this.list[exceptPeer]!.name });
  }
  /** Peers that did not agree to route refresh, by name. */
  readonly deaf = new Set<string>();
  filterKind(kind: string, compile: FilterCompiler): void {
    this.filterKinds.set(kind, compile);
  }

  canRefresh(peer: number): boolean {
    return this.established(peer) && !this.deaf.has(this.list[peer]!.name);
  }
  requestRefresh(peer: number, family: number): boolean {
    if (!this.canRefresh(peer)) return false;
    this.refreshRequests.push(`${this.list[peer]!.name} ${familyName(family)}`);
    return true;
  }
  refreshDone(peer: number, family: number, subtype: number): void {
    this.refreshesDone.push(`${this.list[peer]!.name} ${familyName(family)} ${subtype}`);
  }
  slice(step: () => boolean): void {
    this.#slices.push(step);
  }
  report(severity: 'warning' | 'error', code: string, subject: string, message: string, clear = false): void {
    this.reports.push(`${severity} ${code} ${subject}: ${message}${clear ? ' (cleared)' : ''}`);
  }
  external(peer: number): boolean {
    return this.list[peer]!.external;
  }
  routerId(peer: number): number {
    return this.established(peer) ? this.list[peer]!.routerId : 0;
  }
  established(peer: number): boolean {
    return this.#up.has(peer);
  }

  #sent(
    peer: number,
    family: number,
    announce: boolean,
    nlri: Uint8Array,
    at: number,
    length: number,
    pathId: number,
    attributes: Uint8Array,
    attributesLength: number,
    nextHop: Uint8Array,
  ): Sent {
    const list: string[] = [];
    const view = viewOf(nlri);
    for (let i = at; i < at + length; ) {
      const size = nlriLength(view, i, at + length - i, family, !announce);
      assert(size > 0, 'NLRI is malformed');
      const prefix = isPrefixFamily(family);
      list.push(prefix ? formatPrefix(nlri, i + 1, nlri[i]!, family >>> 8 === 1 ? 4 : 16) : nlri.slice(i, i + size).join('.'));
      i += size;
    }
    return {
      peer: this.list[peer]!.name,
      family: familyName(family),
      announce,
      nlri: list,
      path: announce ? pathOf(attributes.subarray(0, attributesLength)) : [],
      nextHop: formatAddress(nextHop, 0, nextHop.length) ?? '',
      pathId,
    };
  }
}

export interface UpdateMore {
  readonly family: number;
  /** Puts the NLRI into MP_REACH_NLRI. */
  readonly nextHop: string;
  readonly pathId: number;
  /** The attributes as they are, in place of those written from `attributes`. */
  readonly block: Uint8Array;
}

function once(run: () => void): () => void {
  let ran = false;
  return () => {
    assert(!ran, 'done is called once');
    ran = true;
    run();
  };
}

function pathOf(attributes: Uint8Array): number[] {
  const view = viewOf(attributes);
  for (let i = 0; i < attributes.length; ) {
    const head = (view.getUint8(i) & 0x10) !== 0 ? 4 : 3;
    const length = head === 4 ? view.getUint16(i + 2) : view.getUint8(i + 2);
    if (view.getUint8(i + 1) === 2) {
      return Array.from({ length: length === 0 ? 0 : view.getUint8(i + head + 1) }, (_, k) =>
        view.getUint32(i + head + 2 + 4 * k),
      );
    }
    i += head + length;
  }
  return [];
}
