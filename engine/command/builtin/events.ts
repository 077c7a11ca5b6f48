/** Events for people and for connected processes: `event list|recent`, `monitor event`, `subscribe`, `unsubscribe`. */
import type { AnswerChunk, AnswerEnd, AnswerSource } from '../../../sdk/rpc/answer.ts';
import { documentText, records } from '../../../sdk/rpc/records.ts';
import type { PeerSelector } from '../../codec/peer-selector.ts';
import { nearest } from '../../core/nearest.ts';
import { pluginOf } from '../access.ts';
import type { EventFeed, MonitorFilter } from '../context.ts';
import type { Call, Handler } from '../dispatch.ts';
import { CommandError, didYouMean } from '../fault.ts';
import { readSelector, selectPeers } from '../selection.ts';

export const eventCommands: Readonly<Record<string, Handler>> = {
  'event-list': ({ context }) => records(context.events.list(), { envelope: 'events' }),
  'event-namespaces': namespaces,
  'event-recent': recent,
  'monitor-event': monitor,
  subscribe: (call) => subscription(call, 'subscribe'),
  unsubscribe: (call) => subscription(call, 'unsubscribe'),
};

const RECENT_DEFAULT = 50;

function namespaces({ context }: Call): unknown {
  const totals = new Map<string, { types: number; count: number }>();
  for (const { namespace, count } of context.events.list()) {
    const total = totals.get(namespace) ?? { types: 0, count: 0 };
    totals.set(namespace, { types: total.types + 1, count: total.count + count });
  }
  return { namespaces: [...totals].map(([namespace, total]) => ({ namespace, ...total })) };
}

function recent({ context, args }: Call): AnswerSource {
  return documentText(
    `{"events":[${context.events
      .recent(args.number('count') ?? RECENT_DEFAULT)
      .map(trimmed)
      .join(',')}]}`,
  );
}

/** Event texts may end with a newline (events.md §1). */
function trimmed(text: string): string {
  return text.trimEnd();
}

function monitor(call: Call): AnswerSource {
  const { args, context } = call;
  const typed = args.text('peer');
  const [text, column] = typed === '' ? [call.selector, call.selectorColumn] : [typed, args.column('peer')];
  const selector = readSelector(text, column);
  selectPeers(context.peers, text, column);
  const known = new Set(context.events.list().map((event) => event.type));
  for (const list of ['include', 'exclude']) {
    for (const type of args.words(list)) if (!known.has(type)) throw unknownType(type, [...known], args.column(list));
  }
  const direction = args.text('direction').toLowerCase();
  return new MonitorAnswer(context.events, {
    selector,
    include: args.words('include'),
    exclude: args.words('exclude'),
    direction: direction === 'sent' || direction === 'received' ? direction : '',
  });
}

function unknownType(type: string, known: readonly string[], column: number): CommandError {
  const near = nearest(type, known);
  const list = near === undefined ? ` (known: ${[...known].sort().join(', ')})` : didYouMean(near);
  return new CommandError('argument', `unknown event type: ${type.slice(0, 64)}${list}`, column);
}

/** What a watcher that does not keep up may have waiting. */
const WAITING_EVENTS = 1024;
const WAITING_CHARACTERS = 4 << 20;
const CHUNK = 256;

/**
 * An answer without an end. Events wait in a bounded queue for a reader that is behind; what does not fit is counted and shown
 * as a gap where it happened. The tap is given back when the reader goes.
 */
class MonitorAnswer implements AnswerSource {
  readonly head = { itemType: 'map', envelope: 'events', columns: [] } as const;
  readonly immediate = true;
  readonly checked = true;
  readonly #stop: () => void;
  #waiting: string[] = [];
  #characters = 0;
  #sequence = 0;
  #dropped = 0;
  #firstDropped = 0;
  #produced = 0;
  #cancelled = false;
  #wake: (() => void) | undefined;

  constructor(feed: EventFeed, filter: MonitorFilter) {
    this.#stop = feed.tap(filter, (text) => this.#push(text));
  }

  async next(): Promise<AnswerChunk> {
    while (this.#waiting.length === 0 && this.#dropped === 0 && !this.#cancelled) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#cancelled) return this.#end();
    const texts = this.#waiting.splice(0, CHUNK);
    for (const text of texts) this.#characters -= text.length;
    if (this.#waiting.length === 0 && this.#dropped > 0) texts.push(this.#gap());
    this.#produced += texts.length;
    return { kind: 'records', records: texts.map((json) => ({ rejected: false, json })) };
  }

  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#stop();
    this.#waiting = [];
    this.#wake?.();
  }

  #push(text: string): void {
    if (this.#cancelled) return;
    this.#sequence++;
    // Once something was dropped, what follows is too, until the reader has caught up: one gap, in its place.
    if (this.#dropped > 0 || this.#waiting.length >= WAITING_EVENTS || this.#characters + text.length > WAITING_CHARACTERS) {
      if (this.#dropped++ === 0) this.#firstDropped = this.#sequence;
      return;
    }
    const json = trimmed(text);
    this.#waiting.push(json);
    this.#characters += json.length;
    this.#wake?.();
    this.#wake = undefined;
  }

  #gap(): string {
    const gap = { dropped: this.#dropped, first: this.#firstDropped, last: this.#sequence };
    this.#dropped = 0;
    return JSON.stringify({ type: 'gap', gap });
  }

  #end(): AnswerEnd {
    return { kind: 'end', produced: this.#produced, rejected: 0, message: '' };
  }
}

function subscription(call: Call, verb: 'subscribe' | 'unsubscribe'): unknown {
  const process = pluginOf(call.caller);
  if (process === undefined)
    throw new CommandError('denied', `${verb} is for connected processes; to watch events use: monitor event`);
  const { args, context } = call;
  const namespace = args.text('namespace').toLowerCase();
  const type = args.text('event').toLowerCase();
  const known = context.events.list();
  const names = [...new Set(known.map((event) => event.namespace))];
  if (!names.includes(namespace)) {
    throw new CommandError('argument', `unknown namespace: ${namespace} (known: ${names.join(', ')})`, args.column('namespace'));
  }
  const types = known.filter((event) => event.namespace === namespace).map((event) => event.type);
  if (type !== '*' && !types.includes(type)) throw unknownType(type, types, args.column('event'));
  const direction = args.text('direction').toLowerCase();
  const selector: PeerSelector = readSelector(call.selector, call.selectorColumn);
  const reason = context.events[verb](process, namespace, type, direction === '' ? 'both' : direction, selector);
  if (reason !== undefined) throw new CommandError('failed', reason);
  return { namespace, event: type, direction: direction === '' ? 'both' : direction };
}
