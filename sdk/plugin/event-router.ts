/**
 * Which of a plugin's handlers gets which event. The engine has one stream a plugin; the handlers of `onUpdates`, `onState` and
 * `onEvent` each asked for a part of it, and each gets that part and nothing else.
 *
 * Updates and states arrive as rows without JSON where the plugin runs in the engine's main thread and no handler wants such events as
 * text; else every event is a text, read once, and rows are made of it.
 */
import { parseJson, stringifyJson } from '../rpc/json.ts';
import { selectPeers } from '../rib/peer-selector.ts';
import { KindRows } from './kind-rows.ts';
import { type ObservedPeers, ObservedEvent } from './observed.ts';
import { type PeerDirectory, STRUCTURED_KIND, type StructuredBatch } from './structured.ts';

type Awaitable<T> = T | Promise<T>;

/** What an `onEvent` handler wants. */
export interface Subscription {
  /** `update`, `update direction received`, `state`, … `*` is every type of the namespace. At least one. */
  readonly events: readonly string[];
  /** Selectors of peers: name, address, `as65001`, glob, `!x`. None is all. */
  readonly peers?: readonly string[] | undefined;
  /** `parsed` (default), `raw`, `full`, `summary`: of the whole process, so all handlers must agree. Only of updates. */
  readonly format?: string | undefined;
  /** Default `bgp`. Events of another namespace arrive as their publisher wrote them, re-serialised. */
  readonly namespace?: string | undefined;
}

/** A stretch of the stream that was dropped because the plugin did not keep up. */
export interface Gap {
  /** Events lost. */
  readonly dropped: number;
  /** Their numbers in the stream (`meta.seq`). */
  readonly first: number;
  readonly last: number;
}

export type UpdatesHandler = (batch: StructuredBatch) => void;
/** What a state event says beside up or down. */
export interface StateFacts {
  /** Going up: the token for `sessionReady` of a plugin that declared `signals-session-ready`; '' = nobody waits for it. */
  readonly initialReplay: string;
  /** Claimed roles that their holder cannot perform for this peer: do them yourself this time. */
  readonly unheldRoles: readonly string[];
}
/** What it returns is of no account but a promise. */
export type StateHandler = (peer: number, up: boolean, reason: string, facts: StateFacts) => unknown;
export type TextHandler = (event: string) => Awaitable<void>;
export type GapHandler = (gap: Gap) => Awaitable<void>;

/** How a router wants its events: what to subscribe to, and which of the two ways of delivery serve it. */
export interface Wiring {
  readonly events: readonly string[];
  readonly peers: readonly string[];
  readonly format: string;
  /** Namespaces beside `bgp`, to be subscribed to with an envelope once the plugin is up. */
  readonly others: readonly { readonly namespace: string; readonly events: readonly string[] }[];
  /** Takes rows; absent = everything comes as text. */
  readonly structured: ((batch: StructuredBatch) => void) | undefined;
  readonly text: TextHandler;
}

/** Where a router's plugin lives. */
export interface RouterSite {
  /** The engine can deliver rows. */
  readonly rows: boolean;
  /** Peers as events show them, where there are no rows. */
  readonly observed: ObservedPeers;
  /** The peers of a batch of rows. */
  readonly seen: (peers: PeerDirectory) => void;
  /** A gap nobody listens for. */
  readonly gapUnheard: (gap: Gap) => void;
  /** A state handler rejected after its batch was over: the engine can't be told any more. */
  readonly failed: (error: unknown) => void;
}

const BGP = 'bgp';
const RECEIVED = 1;
const SENT = 2;
/** Types that a structured stream carries as rows, never as text (events.md §8). */
const ROW_TYPES: ReadonlySet<string> = new Set([...Object.keys(STRUCTURED_KIND), '*']);
const RAW_FORMATS: ReadonlySet<string> = new Set(['raw', 'hex', 'full']);

interface TextTaker {
  readonly handler: TextHandler;
  readonly namespace: string;
  readonly wants: readonly { readonly type: string; readonly direction: number }[];
  /** '' = every peer. */
  readonly peers: string;
}

export class EventRouter {
  readonly #updates: { readonly handler: UpdatesHandler; readonly sent: boolean }[] = [];
  readonly #states: StateHandler[] = [];
  readonly #texts: TextTaker[] = [];
  readonly #gaps: GapHandler[] = [];
  /** Of the namespace bgp, in the order they were asked for. */
  readonly #events = new Set<string>();
  readonly #formats = new Set<string>();

  onUpdates(handler: UpdatesHandler, sent: boolean): void {
    this.#updates.push({ handler, sent });
    this.#events.add(sent ? 'update' : 'update direction received');
  }

  onState(handler: StateHandler): void {
    this.#states.push(handler);
    this.#events.add('state');
  }

  /** Throws TypeError for a subscription that names no event, or one that is none. */
  onText(subscription: Subscription, handler: TextHandler): void {
    if (subscription.events.length === 0) throw new TypeError('a subscription names at least one event');
    const namespace = subscription.namespace ?? BGP;
    const wants = subscription.events.map(parseWant);
    this.#texts.push({ handler, namespace, wants, peers: (subscription.peers ?? []).join(',') });
    if (namespace === BGP) for (const event of subscription.events) this.#events.add(event);
    if (subscription.format !== undefined) this.#formats.add(subscription.format);
  }

  onGap(handler: GapHandler): void {
    this.#gaps.push(handler);
  }

  /** `undefined` when nobody asked for anything. Throws TypeError when handlers contradict each other. */
  wire(site: RouterSite): Wiring | undefined {
    const { rows, observed } = site;
    if (this.#events.size === 0 && this.#texts.length === 0) return undefined;
    const own = this.#texts.filter((taker) => taker.namespace === BGP);
    const wantsRows = this.#updates.length + this.#states.length > 0;
    const asText = own.some((taker) => taker.wants.some((want) => ROW_TYPES.has(want.type)));
    const structured = rows && wantsRows && !asText;
    const events = [...this.#events];
    if (this.#updates.length > 0 && !structured && !events.includes('*') && !events.includes('negotiated')) {
      events.splice(events.findIndex((event) => event.startsWith('update')) + 1, 0, 'negotiated');
    }
    return {
      events,
      peers: wantsRows ? [] : commonPeers(own.map((taker) => taker.peers)),
      format: this.#format(structured),
      others: this.#others(),
      structured: structured ? this.#rowTaker(site) : undefined,
      text: this.#textTaker(structured ? undefined : new ObservedEvent(observed), site),
    };
  }

  /** One format serves the whole process. */
  #format(structured: boolean): string {
    const [format = '', other] = this.#formats;
    if (other !== undefined) {
      throw new TypeError(`one format serves the whole plugin: "${format}" and "${other}" were both asked for`);
    }
    if (this.#updates.length === 0 || structured) return format;
    if (format !== '' && !RAW_FORMATS.has(format)) {
      throw new TypeError(`onUpdates reads the bytes of an update: beside it the format is raw or full, not "${format}"`);
    }
    const asText = this.#texts.some((taker) => taker.wants.some((want) => want.type === 'update' || want.type === '*'));
    return format === '' ? (asText ? 'full' : 'raw') : format;
  }

  #others(): Wiring['others'] {
    const spaces = new Map<string, Set<string>>();
    for (const { namespace, wants } of this.#texts) {
      if (namespace === BGP) continue;
      const events = spaces.get(namespace) ?? new Set();
      for (const want of wants) events.add(want.type);
      spaces.set(namespace, events);
    }
    return [...spaces].map(([namespace, events]) => ({ namespace, events: [...events] }));
  }

  #rowTaker({ seen, failed }: RouterSite): (batch: StructuredBatch) => void {
    const updates = new KindRows(STRUCTURED_KIND.update);
    const received = new KindRows(STRUCTURED_KIND.update, RECEIVED);
    const states = new KindRows(STRUCTURED_KIND.state);
    const mixed = this.#updates.some((taker) => taker.sent) && this.#updates.some((taker) => !taker.sent);
    return (batch) => {
      seen(batch.peers);
      const all = updates.over(batch);
      const some = mixed ? received.over(batch) : all;
      for (const { handler, sent } of this.#updates) {
        const mine = sent ? all : some;
        if (mine !== undefined) handler(mine);
      }
      const changes = this.#states.length > 0 ? states.over(batch) : undefined;
      if (changes !== undefined) this.#stateRows(changes).catch(failed);
    };
  }

  /** Rows are read before anything is waited for: the batch is not ours for longer. */
  async #stateRows(rows: StructuredBatch): Promise<void> {
    const waiting: Promise<unknown>[] = [];
    for (let row = 0; row < rows.count; row++) {
      const [peer, up, reason, replay] = [rows.peer(row), rows.up(row), rows.reason(row), rows.initialReplay(row)];
      const facts = { initialReplay: replay === 0 ? '' : String(replay), unheldRoles: rows.unheldRoles(row) };
      for (const handler of this.#states) {
        const done = handler(peer, up, reason, facts);
        if (done instanceof Promise) waiting.push(done);
      }
    }
    await Promise.all(waiting);
  }

  #textTaker(event: ObservedEvent | undefined, { observed, gapUnheard }: RouterSite): TextHandler {
    const wantsRows = event !== undefined && this.#updates.length + this.#states.length > 0;
    const [only] = this.#texts;
    // A single handler asked for everything there is: nothing need be read for it.
    const direct = !wantsRows && this.#texts.length === 1 && only?.namespace === BGP ? only.handler : undefined;
    const enveloped = this.#texts.some((taker) => taker.namespace !== BGP);
    return async (text) => {
      if (text.startsWith('{"type":"gap"') || text.startsWith('gap dropped ')) {
        const gap = readGap(text);
        for (const handler of this.#gaps.length > 0 ? this.#gaps : [gapUnheard]) await handler(gap);
        return;
      }
      if (direct !== undefined) {
        await direct(text);
        return;
      }
      if (enveloped && text.startsWith('{"namespace":')) {
        await this.#foreign(text);
        return;
      }
      const bgp = bgpOf(text);
      if (wantsRows && bgp !== undefined && event.load(bgp)) await this.#row(event);
      const head = bgp === undefined ? headOfLine(text) : headOf(bgp);
      for (const taker of this.#texts) {
        if (taker.namespace === BGP && wantsHead(taker, head) && wantsPeer(taker, bgp, observed)) await taker.handler(text);
      }
    };
  }

  async #row(event: ObservedEvent): Promise<void> {
    if (event.kind() === STRUCTURED_KIND.state) {
      await this.#stateRows(event);
      return;
    }
    for (const { handler, sent } of this.#updates) if (sent || event.direction() !== SENT) handler(event);
  }

  /** An event of another namespace, in its envelope. */
  async #foreign(text: string): Promise<void> {
    const { namespace, event, payload } = parseJson(text) as Readonly<Record<string, unknown>>;
    const inner = typeof payload === 'string' ? payload : (stringifyJson(payload) ?? '');
    for (const taker of this.#texts) {
      if (taker.namespace !== namespace) continue;
      if (taker.wants.some((want) => want.type === '*' || want.type === event)) await taker.handler(inner);
    }
  }
}

/** Selectors that select at least what each of the lists selects; none = every peer. */
function commonPeers(lists: readonly string[]): readonly string[] {
  const [first = ''] = lists;
  if (lists.every((list) => list === first)) return first === '' ? [] : first.split(',');
  return lists.some((list) => list === '' || list.includes('!')) ? [] : [...new Set(lists.flatMap((list) => list.split(',')))];
}

function parseWant(event: string): { readonly type: string; readonly direction: number } {
  const [type = '', keyword, direction = ''] = event.trim().split(/\s+/);
  const known = direction === '' ? keyword === undefined : keyword === 'direction' && direction in DIRECTIONS;
  if (type === '' || !known) throw new TypeError(`not an event: "${event}" (TYPE, or TYPE direction received|sent|both)`);
  return { type, direction: DIRECTIONS[direction] ?? 0 };
}

const DIRECTIONS: Readonly<Record<string, number>> = { received: RECEIVED, sent: SENT, both: 0 };

/** The `bgp` member of an event text; `undefined` when it is no such JSON. */
function bgpOf(text: string): unknown {
  try {
    const value = parseJson(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[BGP] : undefined;
  } catch {
    return undefined;
  }
}

/** `type` '' = not known: such an event goes to every handler. */
interface Head {
  readonly type: string;
  readonly direction: number;
}

function headOf(bgp: unknown): Head {
  const { message } = (bgp ?? {}) as { readonly message?: { readonly type?: unknown; readonly direction?: unknown } };
  const type = typeof message?.type === 'string' ? message.type : '';
  return { type: subscribedType(type), direction: DIRECTIONS[String(message?.direction)] ?? 0 };
}

/** A line of the text encoding: `peer <ip> remote as <n> [<direction>] <type> …` (events.md §7). */
function headOfLine(text: string): Head {
  const [first, , second, third, , fourth = '', fifth = ''] = text.trim().split(' ', 7);
  if (first !== 'peer' || second !== 'remote' || third !== 'as') return { type: '', direction: 0 };
  const direction = DIRECTIONS[fourth] ?? 0;
  return { type: subscribedType(direction === 0 ? fourth : fifth), direction };
}

/** The type one subscribes to for what a message is called in its event. */
function subscribedType(type: string): string {
  if (type === 'sent') return 'update';
  return type === 'borr' || type === 'eorr' || type.startsWith('unknown(') ? 'refresh' : type;
}

function wantsHead(taker: TextTaker, head: Head): boolean {
  if (head.type === '') return true;
  return taker.wants.some(
    (want) =>
      (want.type === '*' || want.type === head.type) &&
      (want.direction === 0 || head.direction === 0 || want.direction === head.direction),
  );
}

function wantsPeer(taker: TextTaker, bgp: unknown, peers: ObservedPeers): boolean {
  if (taker.peers === '' || typeof bgp !== 'object' || bgp === null || !('peer' in bgp)) return true;
  return selectPeers(peers.only(bgp.peer), taker.peers).length > 0;
}

function readGap(text: string): Gap {
  if (text.startsWith('gap')) {
    const [dropped = 0, first = 0, last = 0] = (text.match(/\d+/g) ?? []).map(Number);
    return { dropped, first, last };
  }
  const { gap } = parseJson(text) as { readonly gap: Gap };
  return { dropped: gap.dropped, first: gap.first, last: gap.last };
}
