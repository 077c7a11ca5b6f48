/** The route path as one plugin holds it: everything goes to the hub, and what the plugin put there is taken out when it ends. */
import type {
  BestChange,
  BestRoutes,
  Exporter,
  OriginatedHandler,
  RoutePath,
  UpdateHandler,
} from '../../../sdk/plugin/route-path.ts';
import type { PeerDirectory } from '../../../sdk/plugin/structured.ts';
import type { FilterCompiler } from '../../../sdk/policy/route-filter.ts';
import type { UpdateView } from '../../../sdk/wire/update.ts';
import type { RouteHub } from './route-hub.ts';

export class RouteScope implements RoutePath {
  readonly peers: PeerDirectory;
  readonly settings: RoutePath['settings'];
  readonly #hub: RouteHub;
  readonly #handlers = new Set<unknown>();
  readonly #tables = new Set<BestRoutes>();
  readonly #exporters = new Set<Exporter>();

  constructor(hub: RouteHub) {
    this.#hub = hub;
    this.peers = hub.peers;
    this.settings = hub.settings;
  }

  /** The plugin is gone. What it announced stays with the peers until somebody withdraws it. */
  close(): void {
    this.#hub.forget(this.#handlers, this.#tables);
    for (const exporter of this.#exporters) exporter.close();
    this.#exporters.clear();
  }

  onUpdate(handler: UpdateHandler): void {
    this.#hub.onUpdate(this.#own(handler));
  }
  onEndOfRib(handler: (peer: number, family: number) => void): void {
    this.#hub.onEndOfRib(this.#own(handler));
  }
  onPeerUp(handler: (peer: number, families: readonly number[], done: () => void) => void): void {
    this.#hub.onPeerUp(this.#own(handler));
  }
  onPeerDown(handler: (peer: number, reason: string) => void): void {
    this.#hub.onPeerDown(this.#own(handler));
  }
  onRefresh(handler: (peer: number, family: number, subtype: number) => void): void {
    this.#hub.onRefresh(this.#own(handler));
  }
  onFlush(handler: () => void): void {
    this.#hub.onFlush(this.#own(handler));
  }
  onOriginated(handler: OriginatedHandler): void {
    this.#hub.onOriginated(this.#own(handler));
  }
  onDisown(handler: (owner: string) => void): void {
    this.#hub.onDisown(this.#own(handler));
  }
  onBestChange(handler: (change: BestChange) => void): void {
    this.#hub.onBestChange(this.#own(handler));
  }
  onResend(handler: (peer: number, family: number, done: () => void) => void): void {
    this.#hub.onResend(this.#own(handler));
  }
  countPrefixes(counter: (peer: number, family: number) => number): void {
    this.#hub.countPrefixes(this.#own(counter));
  }
  filterKind(kind: string, compile: FilterCompiler): void {
    this.#hub.filterKind(kind, this.#own(compile));
  }

  publishBest(change: BestChange): void {
    this.#tables.add(change.routes);
    this.#hub.publishBest(change);
  }
  exporter(routes: BestRoutes, options: { readonly transparent: boolean }): Exporter {
    const exporter = this.#hub.exporter(routes, options);
    this.#exporters.add(exporter);
    return exporter;
  }
  bestTables(): readonly BestRoutes[] {
    return this.#hub.bestTables();
  }
  idle(routes: BestRoutes, row: number): boolean {
    return this.#hub.idle(routes, row);
  }
  announced(routes: BestRoutes, peer: number, row: number): boolean {
    return this.#hub.announced(routes, peer, row);
  }
  forward(view: UpdateView, exceptPeer: number): void {
    this.#hub.forward(view, exceptPeer);
  }
  relay(...route: Parameters<RoutePath['relay']>): void {
    this.#hub.relay(...route);
  }
  sendOriginated(...route: Parameters<RoutePath['sendOriginated']>): boolean {
    return this.#hub.sendOriginated(...route);
  }
  resend(peer: number, family: number, done: () => void): void {
    this.#hub.resend(peer, family, done);
  }
  canRefresh(peer: number, family: number): boolean {
    return this.#hub.canRefresh(peer, family);
  }
  requestRefresh(peer: number, family: number): boolean {
    return this.#hub.requestRefresh(peer, family);
  }
  refreshDone(peer: number, family: number, subtype: number): void {
    this.#hub.refreshDone(peer, family, subtype);
  }
  slice(step: () => boolean): void {
    this.#hub.slice(step);
  }
  report(severity: 'warning' | 'error', code: string, subject: string, message: string, clear = false): void {
    this.#hub.report(severity, code, subject, message, clear);
  }
  external(peer: number): boolean {
    return this.#hub.external(peer);
  }
  routerId(peer: number): number {
    return this.#hub.routerId(peer);
  }
  established(peer: number): boolean {
    return this.#hub.established(peer);
  }

  #own<T>(handler: T): T {
    this.#handlers.add(handler);
    return handler;
  }
}
