/** Events for people and for connected processes: `event list|recent`, `monitor event`, `subscribe`, `unsubscribe`. */
import type { AnswerChunk, AnswerRecord, AnswerSource } from '../../../sdk/rpc/answer.ts';
import { records } from '../../../sdk/rpc/records.ts';
import type { Monitor } from '../../bus/monitor.ts';
import { nearest } from '../../core/nearest.ts';
import { pluginOf } from '../access.ts';
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

function recent({ context, args }: Call): unknown {
  return { events: context.events.recent.list().slice(-(args.number('count') ?? RECENT_DEFAULT)) };
}

function monitor(call: Call): AnswerSource {
  const { args, context } = call;
  const typed = args.text('peer');
  const [text, column] = typed === '' ? [call.selector, call.selectorColumn] : [typed, args.column('peer')];
  const selector = readSelector(text, column);
  selectPeers(context.peers, text, column);
  const known = new Set(context.events.list().flatMap((event) => [event.type, `${event.namespace}/${event.type}`]));
  for (const list of ['include', 'exclude']) {
    for (const type of args.words(list)) if (!known.has(type)) throw unknownType(type, [...known], args.column(list));
  }
  const direction = args.text('direction').toLowerCase();
  const wanted = direction === 'sent' || direction === 'received' ? direction : undefined;
  return new MonitorAnswer(
    context.events.monitor({
      peers: selector,
      include: args.words('include'),
      exclude: args.words('exclude'),
      direction: wanted,
    }),
  );
}

function unknownType(type: string, known: readonly string[], column: number): CommandError {
  const near = nearest(type, known);
  const list = near === undefined ? ` (known: ${[...known].sort().join(', ')})` : didYouMean(near);
  return new CommandError('argument', `unknown event type: ${type.slice(0, 64)}${list}`, column);
}

const CHUNK = 256;

/**
 * An answer without an end: the head at once, events as they come. The tap's own bounded queue waits for a reader that is
 * behind and marks the gap; the tap is given back when the reader goes.
 */
class MonitorAnswer implements AnswerSource {
  readonly head = { itemType: 'map', envelope: 'events', columns: [] } as const;
  readonly immediate = true;
  readonly checked = true;
  readonly #monitor: Monitor;
  readonly #lines: AsyncIterator<string>;
  #begun: Promise<IteratorResult<string>> | undefined;
  #produced = 0;

  constructor(monitor: Monitor) {
    this.#monitor = monitor;
    this.#lines = monitor[Symbol.asyncIterator]();
  }

  async next(): Promise<AnswerChunk> {
    const list: AnswerRecord[] = [];
    const turn = new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)));
    while (list.length < CHUNK) {
      this.#begun ??= this.#lines.next();
      // The first line is waited for; after it only what is there.
      const step = await (list.length === 0 ? this.#begun : Promise.race([this.#begun, turn]));
      if (step === undefined) break;
      if (step.done === true) {
        if (list.length > 0) break;
        return { kind: 'end', produced: this.#produced, rejected: 0, message: '' };
      }
      this.#begun = undefined;
      // Event texts may end with a newline (events.md §1).
      list.push({ rejected: false, json: step.value.trimEnd() });
      this.#produced++;
    }
    return { kind: 'records', records: list };
  }

  cancel(): void {
    this.#monitor.close();
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
  const words = [namespace, 'event', type, ...(direction === '' ? [] : ['direction', direction])];
  const reason = context.plugins[verb](process, call.selector === '' ? words : ['peer', call.selector, ...words]);
  if (reason !== undefined) throw new CommandError('failed', reason);
  return { namespace, event: type, direction: direction === '' ? 'both' : direction };
}
