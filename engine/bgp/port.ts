/**
 * The reactor's boundary: plain messages only, structured-cloneable, no closures, no live objects.
 *
 * The reactor (sockets, sessions, timers, route-path plugins) runs in a worker thread; everything else runs in the main
 * thread and holds a `ReactorPort`. With `ze.reactor.thread false` both ends live in one thread and meet through the same
 * interface. Rooms that may not import `engine/bgp` (config, bus, host, command) import this file's types, and only types.
 *
 * Units: addresses are text here (this is the cold side), ASNs and BGP identifiers u32, a family is `afi << 8 | safi`.
 */

import type { MessagePort } from 'node:worker_threads';
import type { OriginationBatch, OriginationCounts } from './originate/origination-batch.ts';
import type { Role } from '../../sdk/wire/capability/typed.ts';

export type CapabilityMode = 'enable' | 'disable' | 'require' | 'refuse';
export type AddPathDirection = 'none' | 'send' | 'receive' | 'send/receive';

export interface FamilySettings {
  /** `afi << 8 | safi` */
  readonly family: number;
  readonly mode: 'enable' | 'require' | 'ignore';
  readonly prefixMaximum: number;
  readonly prefixWarning: number;
  readonly prefixTeardown: boolean;
  /** Seconds before the first automatic restart after a prefix teardown; 0 = stay down. */
  readonly idleTimeoutSeconds: number;
  readonly addPath: AddPathDirection;
}

/** Which process (plugin) sees and sends what for a peer: daemon-config §5.5. */
export interface ProcessBinding {
  readonly process: string;
  /** Event kinds granted: `update`, `open`, `state`, … */
  readonly receive: readonly string[];
  /** Message kinds granted: `update`, `refresh`, `raw`, … */
  readonly send: readonly string[];
  readonly encoding?: 'json' | 'text' | undefined;
  readonly format?: string | undefined;
}

/** One `update { }` block, or one `update text` command, already checked: attributes as text, prefixes per family. */
export interface StaticUpdate {
  /** The canonical command text: `update text origin igp next-hop self … nlri ipv4/unicast add …`. */
  readonly command: string;
  /** A reference as in a chain: the route is announced when this filter accepts it, and as the filter changes it. */
  readonly filter?: string | undefined;
}

/** A capability a plugin asked to be put into the OPEN (stage 3). `peers` empty = all. */
export interface PluginCapability {
  readonly plugin: string;
  readonly code: number;
  readonly value: Uint8Array;
  readonly peers: readonly string[];
}

/** Everything the reactor needs to run one neighbour; inheritance applied, every default filled in. */
export interface PeerSettings {
  readonly name: string;
  readonly group: string;
  readonly description: string;
  /** '' = any (`auto`). */
  readonly localAddress: string;
  readonly localPort: number;
  readonly accept: boolean;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly connect: boolean;
  readonly localAs: number;
  readonly remoteAs: number;
  /** u32 */
  readonly routerId: number;
  readonly localAsOptions: readonly ('no-prepend' | 'replace-as')[];
  readonly asOverride: boolean;
  readonly communitySend: readonly ('standard' | 'large' | 'extended' | 'all' | 'none')[];
  readonly routeReflectorClient: boolean;
  /** u32; 0 = the router id */
  readonly clusterId: number;
  /** `auto`, `self`, `unchanged` or an address */
  readonly nextHop: string;
  readonly linkLocal: string;
  readonly families: readonly FamilySettings[];
  /** Accept UPDATEs for families that were not negotiated. Their NLRI is ignored either way (hostile-inputs H27). */
  readonly ignoreFamilyMismatch: boolean;
  /** eBGP: a path that does not begin with the neighbour's AS is treated as withdraw (RFC 4271 §6.3); a route server's do not. */
  readonly enforceFirstAs?: boolean | undefined;
  readonly asn4: CapabilityMode;
  readonly routeRefresh: CapabilityMode;
  readonly extendedMessage: CapabilityMode;
  /** Capability 73, what we call ourselves; each at most 255 octets of UTF-8. */
  readonly hostname?: { readonly mode: CapabilityMode; readonly host: string; readonly domain: string } | undefined;
  /** Capability 75: what the neighbour is told we run. */
  readonly softwareVersion?: { readonly mode: CapabilityMode; readonly version: string } | undefined;
  /** RFC 8950: family, next-hop AFI */
  readonly extendedNextHop: readonly { readonly family: number; readonly nextHopAfi: number }[];
  readonly holdTimeSeconds: number;
  /** 0 = automatic: max(480, 2 × hold) */
  readonly sendHoldTimeSeconds: number;
  /** 0 = not set: backoff from 5 s to 60 s */
  readonly connectRetrySeconds: number;
  readonly groupUpdates: boolean;
  readonly manualEor: boolean;
  readonly routeServerTransparent: boolean;
  readonly updates: readonly StaticUpdate[];
  readonly processes: readonly ProcessBinding[];
  /**
   * What received UPDATEs pass, in order: a key of `ReactorSettings.policies` (it holds a tab), or `plugin:filter`, which is asked of the
   * other side. Empty: none, and no cost.
   */
  readonly importFilters: readonly string[];
  /** What UPDATEs to this peer pass. With a plugin's filter among them the peer is an update group of its own. */
  readonly exportFilters: readonly string[];
  /** Absent: no own AS in the path, no own identifiers. */
  readonly loopDetection?: LoopDetection | undefined;
  /** RFC 9234: what we are to the neighbour; `strict`: it has to say what it is. */
  readonly role?: { readonly local: Role; readonly strict: boolean } | undefined;
}

/** A filter that runs in the reactor: its kind says which plugin compiles it, the definition is that plugin's business. */
export interface Policy {
  readonly kind: string;
  /** JSON of the block, lists as pairs of key and body in their order. */
  readonly definition: unknown;
}

/** By `kind:name`, a tab and a digest: another definition is another key. */
export type Policies = Readonly<Record<string, Policy>>;

/** How received routes are looked for loops; `off`: they are not. */
export type LoopDetection =
  | 'off'
  /** Own AS numbers a path may hold; u32, 0 = the peer's cluster id. */
  | { readonly allowOwnAs: number; readonly clusterId: number };

export interface ReactorSettings {
  /** u32 */
  readonly routerId: number;
  readonly localAs: number;
  readonly peers: readonly PeerSettings[];
  readonly openWaitSeconds: number;
  readonly announceDelayMs: number;
  readonly multipathMaximum: number;
  readonly multipathRelax: boolean;
  readonly routeServerBestPath: boolean;
  readonly routeServerTransparent: boolean;
  readonly capabilities: readonly PluginCapability[];
  /** Test knob `ze.test.bgp.port`: overrides every peer's remote and local port; 0 = off. */
  readonly portOverride: number;
  /** What the peers' chains name. */
  readonly policies?: Policies | undefined;
  /** `ze.cache.safety.valve`: ms a cached UPDATE that was passed over is kept; absent = five minutes. */
  readonly cacheValveMs?: number | undefined;
}

export interface ApplyReport {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  readonly unchanged: readonly string[];
  /** A listener that could not be opened: `127.0.0.1:179: address already in use`. The peers stay configured and retry. */
  readonly faults: readonly string[];
}

export type SessionState = 'idle' | 'connect' | 'active' | 'open-sent' | 'open-confirm' | 'established';

export interface NegotiatedSnapshot {
  readonly holdTimeSeconds: number;
  readonly keepaliveSeconds: number;
  readonly asn4: boolean;
  readonly extendedMessage: boolean;
  readonly routeRefresh: boolean;
  readonly enhancedRouteRefresh: boolean;
  readonly families: readonly string[];
  readonly addPathSend: readonly string[];
  readonly addPathReceive: readonly string[];
  readonly localCapabilities: readonly { readonly code: number; readonly name: string; readonly value?: string | undefined }[];
  readonly remoteCapabilities: readonly { readonly code: number; readonly name: string; readonly value?: string | undefined }[];
}

/** One neighbour as the operator sees it. Counters since the daemon's start, times in ms since the epoch. */
export interface PeerSnapshot {
  readonly index: number;
  readonly settings: PeerSettings;
  readonly state: SessionState;
  readonly adminDown: boolean;
  readonly paused: boolean;
  /** Held by a slow consumer (queue policy `hold-peer`). */
  readonly held: boolean;
  /** 0 while never established */
  readonly establishedAt: number;
  readonly lastDownReason: string;
  readonly remoteRouterId: number;
  readonly localAddress: string;
  readonly localPort: number;
  readonly remotePort: number;
  readonly flaps: number;
  readonly counters: PeerCounters;
  readonly prefixes: readonly { readonly family: string; readonly received: number; readonly maximum: number }[];
  readonly negotiated: NegotiatedSnapshot | undefined;
  /** Bytes waiting in the socket's send buffer. */
  readonly sendQueueBytes: number;
  /** Largest gap between two KEEPALIVEs (or UPDATEs) sent on this session, ms. */
  readonly largestKeepaliveGapMs: number;
}

export interface PeerCounters {
  readonly updatesReceived: number;
  readonly updatesSent: number;
  readonly keepalivesReceived: number;
  readonly keepalivesSent: number;
  readonly notificationsReceived: number;
  readonly notificationsSent: number;
  readonly refreshesReceived: number;
  readonly refreshesSent: number;
  readonly opensReceived: number;
  readonly opensSent: number;
  readonly eorReceived: number;
  readonly eorSent: number;
  readonly bytesReceived: number;
  readonly bytesSent: number;
  /** UPDATEs that filters of plugins kept out, or changed. */
  readonly importRejected: number;
  readonly importModified: number;
  readonly exportRejected: number;
  readonly exportModified: number;
}

/** Kinds of event rows (events.md §3), also bit numbers of the interest mask (`1 << kind`). */
export const EVENT_KINDS = [
  'none',
  'update',
  'open',
  'notification',
  'keepalive',
  'refresh',
  'state',
  'negotiated',
  'eor',
  'congested',
  'resumed',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];
export const DIRECTIONS = ['unspecified', 'received', 'sent'] as const;
export type Direction = (typeof DIRECTIONS)[number];

/**
 * One event on its way from the reactor to the bus. `bytes` is the message body (without the 19-byte header) for update,
 * open, notification, refresh; empty otherwise. VALID ONLY DURING THE CALL: the ring reuses the memory.
 */
export interface EventRow {
  kind: EventKind;
  direction: Direction;
  /** Peer index: stable for the peer's configured life, looked up in the bus's `PeerDirectory`. */
  peer: number;
  /** 0 = none. Below 2^53, ascending. */
  messageId: number;
  /** ms since the epoch */
  at: number;
  /** Bytes of the body; a reused buffer. */
  bytes: Uint8Array;
  bytesAt: number;
  bytesLength: number;
  /** Encoding facts of the session: 4-octet AS numbers in AS_PATH. */
  asn4: boolean;
  /** Families with ADD-PATH path ids in this direction, `afi << 8 | safi`. */
  addPath: readonly number[];
  /** For state: up or down. */
  state: 'up' | 'down' | '';
  /** For state down: why. For negotiated and eor: unused. */
  reason: string;
  /** For eor: the family. For negotiated: unused. */
  family: number;
  /** For negotiated. */
  negotiated: NegotiatedSnapshot | undefined;
  /** For a gap left by a full ring: how many rows were lost before this one (peer 0, kind none). */
  lost: number;
  /** For state up: the token that `sessionReady` names, u32; 0 when nobody is waited for. */
  initialReplay: number;
  /** For state: roles that nobody performs for this peer. The bus adds it, the reactor never does. */
  unheldRoles?: readonly string[];
}

/** What the bus must know of a peer to write its events. Sent whenever peers change or a session comes up. */
export interface PeerIdentity {
  readonly index: number;
  readonly name: string;
  readonly group: string;
  readonly remoteAddress: string;
  readonly remoteAs: number;
  readonly localAddress: string;
  readonly localAs: number;
}

/** A report for `show warnings` / `show errors` (daemon-cli §8). `clear` takes a warning back. */
export interface Report {
  readonly severity: 'warning' | 'error';
  readonly code: string;
  readonly source: string;
  readonly subject: string;
  readonly message: string;
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
  readonly clear?: boolean | undefined;
}

export interface LogRecord {
  readonly level: 'error' | 'warn' | 'info' | 'debug' | 'trace';
  readonly subsystem: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** One side's OPEN: capabilities in wire order, values without code and length. */
export interface OpenFacts {
  /** The 4-octet number where one was sent. */
  readonly asn: number;
  /** u32 */
  readonly routerId: number;
  readonly holdTimeSeconds: number;
  readonly capabilities: readonly { readonly code: number; readonly value: Uint8Array }[];
}

/**
 * What the reactor asks, and lets one peer wait for: a message on its way in or out, or a session before its first KEEPALIVE.
 * Other peers, and every timer, go on meanwhile.
 */
export type ReactorQuestion =
  | {
      readonly kind: 'filter';
      readonly direction: 'import' | 'export';
      /** The neighbour it came from, or is for. */
      readonly peer: PeerIdentity;
      /** Filters of plugins that follow each other in its chain, as its session has it: a reload may be under way. Never empty. */
      readonly filters: readonly string[];
      /** An UPDATE's body without the 19-octet header: a copy. Well-formed (RFC 7606) where we look into it. */
      readonly body: Uint8Array;
      /** Its encoding: 4-octet AS numbers in AS_PATH, families with path identifiers (`afi << 8 | safi`). */
      readonly asn4: boolean;
      readonly addPath: readonly number[];
      /** Largest body a replacement may have, octets. */
      readonly maxBody: number;
    }
  | { readonly kind: 'open'; readonly peer: PeerIdentity; readonly local: OpenFacts; readonly remote: OpenFacts };

export type ReactorAnswer =
  | { readonly kind: 'accept' }
  /** A filter drops the message; an OPEN is refused as by `teardown` with 0/0. */
  | { readonly kind: 'reject' }
  /** Filters only: a whole body in the question's encoding, in place of the one asked about. */
  | { readonly kind: 'replace'; readonly body: Uint8Array }
  /** Imports and OPENs: NOTIFICATION, then the session ends; code 0 stands for Cease / Connection Rejected. Exports: as `reject`. */
  | { readonly kind: 'teardown'; readonly code: number; readonly subcode: number; readonly reason: string };

/** What the reactor tells the rest of the engine. Calls return at once; but for its questions the reactor waits for nothing. */
export interface ReactorSink {
  /** Rows arrive in order. */
  event(row: EventRow): void;
  /** Whoever takes rows has enough for the moment: those that stand in a ring may stay there a little (`RemoteReactor.goOn`). */
  ample?(): boolean;
  peers(list: readonly PeerIdentity[]): void;
  report(report: Report): void;
  log(record: LogRecord): void;
  /** Asked for peers with filters, and for OPENs once `validateOpen` is on. Has a deadline of its own; never rejects. */
  question(question: ReactorQuestion): Promise<ReactorAnswer>;
}

/** A route command ready for the wire: attributes as an RFC 4271 block (4-octet AS_PATH, without MP attributes). */
export interface Origination {
  /** The plugin or `config` that owns the routes; its withdraw takes them back. */
  readonly owner: string;
  /** Peer indices. */
  readonly peers: readonly number[];
  readonly attributes: Uint8Array;
  /** Next hop bytes (4 or 16 or 32), or empty for `self`. */
  readonly nextHop: Uint8Array;
  /** JSON of what the owner says about these routes; kept with them, never on the wire. Absent = nothing. */
  readonly meta?: string | undefined;
  readonly sections: readonly {
    readonly family: number;
    /** NLRI bytes, without path ids unless `pathId` is set. */
    readonly announce: Uint8Array;
    readonly withdraw: Uint8Array;
    readonly pathId: number;
    readonly eor: boolean;
  }[];
}

export interface OriginationResult {
  /** NLRI announced / withdrawn, counted once each. */
  readonly announced: number;
  readonly withdrawn: number;
  readonly peersAffected: number;
  /** NLRI × peers written or queued. */
  readonly routesSent: number;
  readonly warnings: readonly string[];
}

/** A route that a plugin has kept of a peer (`relay-stored-route`): all bytes as on the wire of the session it came by. */
export interface StoredRoute {
  /** Address of the peer it came from, in canonical spelling. */
  readonly source: string;
  readonly family: number;
  /** The attribute section; MP attributes in it are passed over. */
  readonly attributes: Uint8Array;
  /** Empty: that of the attributes. */
  readonly nextHop: Uint8Array;
  /** One entry. */
  readonly nlri: Uint8Array;
  /** With framing `prefix-only`: the source's path id, 0 = none. */
  readonly pathId: number;
  /** Does a path id stand in front of the NLRI: never, as the source's session agreed, or nobody knows. */
  readonly framing: 'prefix-only' | 'source-wire' | 'unrecorded';
}

/** A cached UPDATE (`cache list`). */
export interface CachedUpdate {
  readonly id: number;
  readonly peer: number;
  /** Bytes of the message, header included. */
  readonly length: number;
  readonly ageMs: number;
  readonly retained: number;
  /** Consumers that have not acknowledged it. */
  readonly consumers: readonly string[];
}

/** The command side: main → reactor. Every call resolves; a refusal is `{ error }` text, never a throw across threads. */
export interface ReactorPort {
  /** Sets the whole wanted state; unchanged peers keep their session untouched. */
  apply(settings: ReactorSettings): Promise<ApplyReport>;
  /**
   * Binds what these settings listen on, for who may not bind later; a connection is closed unread until `start`. Resolves to the faults.
   */
  listen(settings: ReactorSettings): Promise<readonly string[]>;
  /** Lets peers connect and accept (after the plugins are ready). */
  start(): Promise<void>;
  snapshot(peers?: readonly number[]): Promise<readonly PeerSnapshot[]>;
  teardown(peer: number, subcode: number, text: string): Promise<string | undefined>;
  setPaused(peer: number, paused: boolean): Promise<string | undefined>;
  /** `hold-peer`: stop or go on reading this peer's socket because a consumer is behind. -1 = every peer. */
  setHeld(peer: number, held: boolean): void;
  /** subtype 0 = request, 1 = BoRR, 2 = EoRR. Resolves to an error text when not negotiated. */
  refresh(peer: number, family: number, subtype: number): Promise<string | undefined>;
  originate(batch: readonly Origination[]): Promise<readonly OriginationResult[]>;
  /** The same for many commands at once, as columns. */
  originateBatch(batch: OriginationBatch): Promise<OriginationCounts>;
  /** What a chain of export filters makes of an UPDATE (4-octet AS numbers, no path identifiers) for this peer; undefined: it rejects it. */
  judge(peer: number, filters: readonly string[], message: Uint8Array): Promise<Uint8Array | undefined>;
  /** Withdraws everything `owner` has announced. */
  disown(owner: string): Promise<void>;
  /** Ids are consumed whatever the result. `destinations` are peer indices. */
  forwardCached(consumer: string, ids: readonly number[], destinations: readonly number[]): Promise<string | undefined>;
  releaseCached(consumer: string, ids: readonly number[]): Promise<string | undefined>;
  /** At most 10,000, oldest first. */
  cached(): Promise<readonly CachedUpdate[]>;
  /** An operator's hand on cached UPDATEs; `forward` acknowledges nothing. Answers the ids that are not there. */
  manageCached(
    ids: readonly number[],
    deed: 'retain' | 'release' | 'expire' | 'forward',
    destinations: readonly number[],
  ): Promise<readonly number[]>;
  /** Kept routes to one peer, each as a live forward from its source. Why a route was refused, by its position; '' = on its way. */
  relayStored(destination: number, routes: readonly StoredRoute[]): Promise<readonly string[]>;
  /**
   * An UPDATE body enters the route path as though it came from the source `protocol:key` of this owner. Why not, and nothing was done;
   * undefined when it is in.
   */
  inject(owner: string, protocol: string, key: string, body: Uint8Array): Promise<string | undefined>;
  /** The owner's sources go, and with them what they announced. */
  eject(owner: string): void;
  /**
   * Which event kinds the bus wants, as bits by index in EVENT_KINDS; received and sent apart. `everyRow`: when the way to the bus is full,
   * peers are held and nothing is missed.
   */
  interest(receivedMask: number, sentMask: number, everyRow?: boolean): void;
  /** From now on every OPEN that we would accept is asked about (`ReactorSink.question`), or none. */
  validateOpen(on: boolean): void;
  /**
   * Processes that report when a peer has their first routes (`signals-session-ready`). Of a peer that grants one of them `send`
   * update or raw and `receive` state, the End-of-RIB waits for `sessionReady`, 5 s at most.
   */
  awaitReady(processes: readonly string[]): void;
  /** Families that plugins brought, as this thread calls them from now on. */
  nameFamilies(names: readonly { readonly family: number; readonly name: string }[]): void;
  /** `process` has sent the first routes of the session whose up event carried `token`; error text for any other session. */
  sessionReady(peer: number, process: string, token: string): Promise<string | undefined>;
  /** Cache consumers outside the reactor: how many acknowledgements an update needs, and in which order they come. */
  cacheConsumer(name: string, mode: 'ordered' | 'unordered' | 'none'): void;
  /** Waits until the peer's send queue is empty, 30 s at most; error text when it is not. */
  flush(peer: number): Promise<string | undefined>;
  /** Raw bytes to one peer (daemon-cli §10). */
  raw(peer: number, bytes: Uint8Array): Promise<string | undefined>;
  /**
   * Starts a built-in plugin in the reactor's thread: `moduleUrl`'s default export comes from `definePlugin`. `pipe` carries
   * the five stages as lines of the bus until stage 5, `bridge` the callbacks and calls afterwards (engine/host/bridge-port).
   */
  startPlugin(name: string, moduleUrl: string, pipe: MessagePort, bridge: MessagePort): void;
  /** Counters of the reactor itself: rows, arenas, cache, rings. */
  statistics(): Promise<Readonly<Record<string, number>>>;
  /** Cease to every peer with this text, sockets closed, timers stopped, the thread ended. */
  stop(text: string): Promise<void>;
}
