/**
 * What one process asked to see, and what it may see.
 *
 * A subscription is `<type> [direction received|sent|both]` in a namespace, for peers. What is delivered is the intersection with the
 * grants of the `process` bindings of the peer (`receive [ … ]`); processes without grants (built-ins) see all they ask for. Both
 * are folded into one mask of bits per peer, so that the walk over an event row is one load and one test per process.
 */
import type { EventKind, PeerIdentity, ProcessBinding } from '../bgp/port.ts';
import { KIND_NUMBER, KINDS } from '../codec/event-kinds.ts';
import type { Parsed } from '../codec/fault.ts';
import { refuse } from '../codec/fault.ts';
import { PeerSelector } from '../codec/peer-selector.ts';
import type { EventTypes } from './event-types.ts';
import { BGP } from './event-types.ts';

/** Input of `subscribe-events` (plugin-rpc-types §5.9). */
export interface SubscribeInput {
  readonly events?: readonly string[] | undefined;
  readonly peers?: readonly string[] | undefined;
  readonly format?: string | undefined;
  readonly encoding?: string | undefined;
  readonly namespace?: string | undefined;
  readonly envelope?: boolean | undefined;
}

/** Bits of `Subscription.directions` and of a mask's halves. */
export const RECEIVED = 1;
export const SENT = 2;

export interface Subscription {
  readonly namespace: string;
  /** `*` = every type of the namespace, also those registered later. */
  readonly type: string;
  readonly directions: number;
  readonly selector: PeerSelector;
  readonly envelope: boolean;
}

/** How a subscription set answers for an event: not at all, as it is, wrapped in an envelope. */
export const NO_MATCH = 0;
export const PLAIN = 1;
export const ENVELOPE = 2;

/** Sent rows use the upper half of a mask. */
export const SENT_SHIFT = 16;
const MAX_SUBSCRIPTIONS = 1024;

/** Kinds that have no direction: they match a subscription for any. */
const UNDIRECTED: ReadonlySet<EventKind> = new Set<EventKind>(['state', 'negotiated', 'eor', 'congested', 'resumed']);

/** Bit of a row in a mask. */
export function rowBit(kindNumber: number, sent: boolean): number {
  return sent ? 1 << (kindNumber + SENT_SHIFT) : 1 << kindNumber;
}

/** Every kind in both halves. */
export const EVERYTHING = KINDS.slice(1).reduce((mask, kind) => mask | kindMask(kind, RECEIVED | SENT), 0);

function kindMask(kind: EventKind, directions: number): number {
  const number = KIND_NUMBER[kind];
  if (UNDIRECTED.has(kind)) return (1 << number) | (1 << (number + SENT_SHIFT));
  return ((directions & RECEIVED) !== 0 ? 1 << number : 0) | ((directions & SENT) !== 0 ? 1 << (number + SENT_SHIFT) : 0);
}

/** Mask of the kinds a `receive [ … ]` list grants: `update` received UPDATEs, `sent` those we send, any other kind both ways. */
export function grantMask(receive: readonly string[]): number {
  let mask = 0;
  for (const word of receive) {
    if (word === 'update') mask |= kindMask('update', RECEIVED);
    else if (word === 'sent') mask |= kindMask('update', SENT);
    else if (word !== 'none' && isKind(word)) mask |= kindMask(word, RECEIVED | SENT);
  }
  return mask;
}

function isKind(word: string): word is EventKind {
  return Object.hasOwn(KIND_NUMBER, word);
}

/** Reads one input. Unknown type names are kept (they match nothing until somebody registers them) and named in `unknown`. */
export function parseSubscribe(
  input: SubscribeInput,
  types: EventTypes,
): Parsed<{ readonly subscriptions: readonly Subscription[]; readonly unknown: readonly string[] }> {
  const selector = PeerSelector.ofList(input.peers ?? []);
  if (!selector.ok) return selector;
  const namespace = input.namespace === undefined || input.namespace === '' ? BGP : input.namespace;
  const subscriptions: Subscription[] = [];
  const unknown: string[] = [];
  for (const text of input.events ?? []) {
    const words = text.trim().split(/\s+/);
    const [type = '', keyword, direction] = words;
    if (type === '') return refuse('empty event name', 1);
    if (words.length > 1 && (keyword !== 'direction' || words.length !== 3)) {
      return refuse(`expected "<type> [direction received|sent|both]", got "${clamp(text)}"`, 1);
    }
    let directions = RECEIVED | SENT;
    if (direction === 'received') directions = RECEIVED;
    else if (direction === 'sent') directions = SENT;
    else if (direction !== undefined && direction !== 'both') return refuse(`unknown direction "${clamp(direction)}"`, 1);
    const alias = namespace === BGP && type === 'sent';
    if (type !== '*' && !alias && !types.has(namespace, type)) unknown.push(`${clamp(namespace)}/${clamp(type)}`);
    subscriptions.push({
      namespace,
      type: alias ? 'update' : type,
      directions: alias ? SENT : directions,
      selector: selector.value,
      envelope: input.envelope === true,
    });
  }
  return { ok: true, value: { subscriptions, unknown } };
}

/** The text command `[peer <sel>] <namespace> event <type> [direction D]`; unknown names are refused with the list of valid ones. */
export function parseSubscribeCommand(words: readonly string[], types: EventTypes): Parsed<SubscribeInput> {
  let rest = words;
  let peers: readonly string[] = [];
  if (rest[0] === 'peer' || rest[0] === 'plugin') {
    if (rest[1] === undefined) return refuse(`${rest[0]} requires a value`, 1);
    if (rest[0] === 'peer') peers = [rest[1]];
    rest = rest.slice(2);
  }
  const [namespace, event, type, keyword, direction] = rest;
  if (namespace === undefined || event !== 'event' || type === undefined || rest.length === 4 || rest.length > 5) {
    return refuse('expected [peer <selector>] <namespace> event <type> [direction received|sent|both]', 1);
  }
  if (!types.namespaces().includes(namespace)) {
    return refuse(`unknown namespace "${clamp(namespace)}", valid: ${types.namespaces().join(' ')}`, 1);
  }
  if (type !== '*' && !types.has(namespace, type)) {
    return refuse(`unknown event type "${clamp(type)}", valid: ${types.types(namespace).join(' ')}`, 1);
  }
  if (keyword !== undefined && (keyword !== 'direction' || !['received', 'sent', 'both'].includes(direction ?? ''))) {
    return refuse(`expected direction received|sent|both`, 1);
  }
  return {
    ok: true,
    value: { namespace, events: [keyword === undefined ? type : `${type} direction ${direction ?? 'both'}`], peers },
  };
}

function clamp(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text;
}

/** The subscriptions of one process. Adding and clearing mark it changed; the owner then asks for the masks again. */
export class SubscriptionSet {
  #list: Subscription[] = [];

  get list(): readonly Subscription[] {
    return this.#list;
  }

  /** Returns why not, or undefined. A subscription that is there already is not added twice. */
  add(subscriptions: readonly Subscription[]): string | undefined {
    for (const one of subscriptions) {
      if (this.#list.some((other) => same(one, other))) continue;
      if (this.#list.length >= MAX_SUBSCRIPTIONS) return `too many subscriptions (max ${MAX_SUBSCRIPTIONS})`;
      this.#list.push(one);
    }
    return undefined;
  }

  clear(): void {
    this.#list = [];
  }

  /** Takes the given ones back, for the text command; the others stay. */
  remove(subscriptions: readonly Subscription[]): number {
    const before = this.#list.length;
    this.#list = this.#list.filter(
      (one) =>
        !subscriptions.some(
          (gone) => gone.namespace === one.namespace && gone.type === one.type && gone.selector.text === one.selector.text,
        ),
    );
    return before - this.#list.length;
  }

  /** Bits of the kinds wanted of this peer; `envelopeOnly` = of those subscriptions that want the envelope. */
  mask(peer: PeerIdentity, envelopeOnly: boolean): number {
    let mask = 0;
    for (const one of this.#list) {
      if (one.namespace !== BGP || (envelopeOnly && !one.envelope) || !one.selector.matches(peer)) continue;
      if (one.type === '*') mask |= directionHalf(EVERYTHING, one.directions);
      else if (isKind(one.type)) mask |= kindMask(one.type, one.directions);
    }
    return mask;
  }

  /** Bits wanted of any peer: what the reactor is asked for. */
  get union(): number {
    let mask = 0;
    for (const one of this.#list) {
      if (one.namespace !== BGP) continue;
      if (one.type === '*') mask |= directionHalf(EVERYTHING, one.directions);
      else if (isKind(one.type)) mask |= kindMask(one.type, one.directions);
    }
    return mask;
  }

  /** For events that are emitted: `directions` 0 = the event has none and matches any; no peer matches every selector. */
  match(
    namespace: string,
    type: string,
    directions: number,
    peer: { name: string; remoteAddress: string; remoteAs: number } | undefined,
  ): number {
    let found = NO_MATCH;
    for (const one of this.#list) {
      if (one.namespace !== namespace || (one.type !== '*' && one.type !== type)) continue;
      if (directions !== 0 && (one.directions & directions) === 0) continue;
      if (peer !== undefined && !one.selector.matches(peer)) continue;
      if (one.envelope) return ENVELOPE;
      found = PLAIN;
    }
    return found;
  }
}

function same(one: Subscription, other: Subscription): boolean {
  return (
    one.namespace === other.namespace &&
    one.type === other.type &&
    one.directions === other.directions &&
    one.envelope === other.envelope &&
    one.selector.text === other.selector.text
  );
}

function directionHalf(mask: number, directions: number): number {
  let out = 0;
  for (const kind of KINDS) if (kind !== 'none' && (mask & kindMask(kind, directions)) !== 0) out |= kindMask(kind, directions);
  return out;
}

/** The `receive` list of a process for a peer, empty when the peer does not bind it. */
export function receiveOf(process: string, bindings: readonly ProcessBinding[] | undefined): readonly string[] {
  return bindings?.find((binding) => binding.process === process)?.receive ?? [];
}
