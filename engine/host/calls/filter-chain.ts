/**
 * Route filters of plugins (plugin-lifecycle §9): an UPDATE passes the filters its peer names, one after the other, each sees what the
 * ones before made of it. Asked for many peers at a time, for one peer in its order; whoever asks waits, nobody else does.
 *
 * A filter that does not answer (5 s, process down, RPC error) leaves the decision to its `on-error`; what it must not answer (an
 * unknown action, a change it did not declare, a malformed body) rejects the route, and so does a filter nobody has declared.
 */
import { RpcError } from '../../../sdk/rpc/errors.ts';
import type { FilterDecl, FilterUpdateInput, FilterUpdateOutput } from '../../../yang/generated/methods.ts';
import type { ReactorAnswer, ReactorQuestion } from '../../bgp/port.ts';
import { FilterBody } from '../../codec/filter-body.ts';
import { applyDelta, MOST_ITEMS, MOST_TEXT, undeclaredChange } from '../../codec/filter-delta.ts';
import { filterText, parseFilterText } from '../../codec/filter-text.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { CallSlots } from './call-slots.ts';
import { type PluginLink, withDeadline } from '../link.ts';
import { quote } from '../quote.ts';
import type { ReportSink } from '../services.ts';

export type FilterQuestion = Extract<ReactorQuestion, { readonly kind: 'filter' }>;

/** The plugins, as far as they filter. */
export interface FilterPlugins {
  /** The running plugin of this name. */
  link(plugin: string): Pick<PluginLink, 'call'> | undefined;
  /** As last declared, also while the plugin is down; undefined: it never came so far. */
  filters(plugin: string): readonly FilterDecl[] | undefined;
}

export interface FilterChainOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly report: ReportSink;
  readonly plugins: FilterPlugins;
}

/** One filter of a chain. */
interface Step {
  readonly reference: string;
  readonly plugin: string;
  readonly declaration: FilterDecl;
}

/** What a step leads to; undefined: go on with the next one. */
type Outcome = ReactorAnswer | undefined;

const FILTER_MS = 5000;
/** Calls under way to one plugin: its connection holds the texts of all of them. */
const CALLS_AT_ONCE = 64;
/** One report of a kind about a filter in this time. */
const COMPLAINT_MS = 10_000;
const SHORTEST_BODY = 4;
const ACCEPT: ReactorAnswer = { kind: 'accept' };
const REJECT: ReactorAnswer = { kind: 'reject' };

export class FilterChain {
  readonly #options: FilterChainOptions;
  readonly #slots = new CallSlots(CALLS_AT_ONCE);
  /** Filters that did not answer the last time. */
  readonly #failing = new Set<string>();
  /** Direction and filter → what was said of it. */
  readonly #undeclared = new Map<string, string>();
  readonly #complaints = new Map<string, number>();

  constructor(options: FilterChainOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async run(question: FilterQuestion): Promise<ReactorAnswer> {
    try {
      return await this.#run(question);
    } catch (error) {
      this.#options.log.error({ peer: question.peer.name, error: String(error) }, 'filter chain failed, the route is rejected');
      return REJECT;
    }
  }

  /** Reports which of these filters no plugin offers in that direction, and takes back what was said of others. Returns the reasons. */
  check(chains: readonly { readonly direction: 'import' | 'export'; readonly filters: readonly string[] }[]): readonly string[] {
    const missing = new Set<string>();
    for (const { direction, filters } of chains) {
      for (const reference of filters)
        if (this.#step(reference, direction) === undefined) missing.add(`${direction} ${reference}`);
    }
    for (const key of this.#undeclared.keys()) if (!missing.has(key)) this.#declared(key);
    return [...missing].map((key) => this.#undeclared.get(key) ?? key);
  }

  async #run(question: FilterQuestion): Promise<ReactorAnswer> {
    const { direction, asn4, addPath, maxBody } = question;
    const facts = { asn4, addPath };
    let body = FilterBody.read(question.body, facts);
    if (body === undefined) {
      this.#options.log.error({ peer: question.peer.name }, 'an UPDATE that cannot be taken apart does not pass filters');
      return REJECT;
    }
    if (body.isEndOfRib) return ACCEPT;
    let bytes = question.body;
    for (const reference of question.filters) {
      const step = this.#step(reference, direction);
      if (step === undefined) return REJECT;
      const output = await this.#ask(step, question, body, bytes);
      if (output === undefined) {
        if (step.declaration['on-error'] === 'accept') continue;
        return REJECT;
      }
      const outcome = this.#decide(step, question, output);
      if (outcome !== undefined) return outcome;
      if (output.action !== 'modify') continue;
      const changed = this.#modify(step, question, body, output.update ?? '');
      if (changed === undefined || body.isEmpty) return REJECT;
      if (changed.length > maxBody) {
        this.#complain(step.reference, `its changes make an UPDATE of ${changed.length} octets, ${maxBody} are allowed`);
        return REJECT;
      }
      bytes = changed;
      body = FilterBody.read(bytes, facts) ?? body;
    }
    return bytes === question.body || equal(bytes, question.body) ? ACCEPT : { kind: 'replace', body: bytes };
  }

  /** Undefined: nobody has declared such a filter for this direction, which is reported. */
  #step(reference: string, direction: 'import' | 'export'): Step | undefined {
    const colon = reference.indexOf(':');
    const plugin = reference.slice(0, colon);
    const name = reference.slice(colon + 1);
    const filters = this.#options.plugins.filters(plugin);
    const declaration = filters?.find((one) => one.name === name && (one.direction === 'both' || one.direction === direction));
    const key = `${direction} ${reference}`;
    if (declaration !== undefined) {
      if (this.#undeclared.has(key)) this.#declared(key);
      return { reference, plugin, declaration };
    }
    if (!this.#undeclared.has(key)) {
      const known = filters?.map((one) => `${one.name} (${one.direction})`).join(', ') ?? '';
      const offers = filters === undefined ? 'is not up' : known === '' ? 'offers no filter' : `offers ${known}`;
      const message = `no ${direction} filter ${quote(name)}: plugin ${plugin} ${offers}; routes of its chains are rejected`;
      this.#undeclared.set(key, message);
      this.#options.report({ severity: 'warning', code: 'filter-undeclared', source: 'filter', subject: key, message });
      this.#options.log.warn({ filter: reference, direction, reason: message }, 'a filter is not there');
    }
    return undefined;
  }

  #declared(key: string): void {
    this.#undeclared.delete(key);
    const report = { severity: 'warning', code: 'filter-undeclared', source: 'filter', subject: key, message: '' } as const;
    this.#options.report({ ...report, clear: true });
  }

  /** The filter's answer, or undefined when there is none: then its `on-error` decides. */
  async #ask(
    { reference, plugin, declaration }: Step,
    { direction, peer }: FilterQuestion,
    body: FilterBody,
    bytes: Uint8Array,
  ): Promise<FilterUpdateOutput | undefined> {
    const { clock, plugins } = this.#options;
    const input: FilterUpdateInput = {
      filter: declaration.name,
      direction,
      peer: peer.remoteAddress,
      'peer-as': peer.remoteAs,
      update: filterText(body, declaration.nlri !== false),
      ...(declaration.raw === true ? { raw: base64(bytes) } : {}),
    };
    try {
      const output = await this.#slots.run(plugin, () => {
        const link = plugins.link(plugin);
        if (link === undefined) throw new RpcError('error', 'plugin process not running');
        return withDeadline(clock, FILTER_MS, undefined, (signal) =>
          link.call('ze-plugin-callback:filter-update', input, signal),
        );
      });
      if (this.#failing.delete(reference)) {
        const report = {
          severity: 'warning',
          code: 'filter-unanswered',
          source: 'filter',
          subject: reference,
          message: '',
        } as const;
        this.#options.report({ ...report, clear: true });
      }
      return output;
    } catch (error) {
      this.#unanswered(reference, declaration, error);
      return undefined;
    }
  }

  #unanswered(reference: string, declaration: FilterDecl, error: unknown): void {
    const late = error instanceof RpcError && error.code === 'deadline';
    const reason = late ? `no answer within ${FILTER_MS / 1000} s` : error instanceof Error ? error.message : String(error);
    const policy = declaration['on-error'] === 'accept' ? 'accept' : 'reject';
    const message = `${reason}; its routes are ${policy}ed (on-error ${policy})`;
    if (this.#failing.has(reference) && !this.#due(`unanswered ${reference}`)) return;
    this.#failing.add(reference);
    this.#options.report({ severity: 'warning', code: 'filter-unanswered', source: 'filter', subject: reference, message });
    this.#options.log.warn({ filter: reference, reason, policy }, 'a filter does not answer');
  }

  /** Everything but a text delta; undefined: `accept`, or `modify` with a delta. */
  #decide(step: Step, question: FilterQuestion, output: FilterUpdateOutput): Outcome {
    const { reference } = step;
    if (output.teardown === true && question.direction === 'import') {
      const code = octet(output['notify-code']);
      return { kind: 'teardown', code, subcode: octet(output['notify-subcode']), reason: `filter ${reference}` };
    }
    if (output.teardown === true) {
      this.#complain(reference, 'teardown is for imports: an export is rejected');
      return REJECT;
    }
    switch (output.action as string) {
      case 'accept':
        return undefined;
      case 'reject':
        return REJECT;
      case 'modify':
        return output.raw === undefined || output.raw === '' ? undefined : this.#raw(step, question, output.raw);
      default:
        this.#complain(reference, `unknown action ${quote(output.action)}`);
        return REJECT;
    }
  }

  /** A whole body in the UPDATE's place, after which no filter is asked. */
  #raw({ reference, declaration }: Step, { asn4, addPath, maxBody }: FilterQuestion, text: string): ReactorAnswer {
    const body = Uint8Array.from(Buffer.from(text, 'base64'));
    if (declaration.raw !== true && (declaration.attributes ?? []).length > 0) {
      this.#complain(reference, 'it replaces the UPDATE, but has declared attributes and not raw');
      return REJECT;
    }
    const whole = base64(body).replace(/=+$/, '') === text.replace(/=+$/, '') && body.length >= SHORTEST_BODY;
    if (!whole || FilterBody.read(body, { asn4, addPath }) === undefined) {
      this.#complain(reference, 'the raw body is no UPDATE');
      return REJECT;
    }
    if (body.length > maxBody) {
      this.#complain(reference, `the raw body has ${body.length} octets, ${maxBody} are allowed`);
      return REJECT;
    }
    return { kind: 'replace', body };
  }

  /** Works the delta into `body`; the new bytes, or undefined when the filter was not allowed to. */
  #modify({ reference, declaration }: Step, { peer }: FilterQuestion, body: FilterBody, text: string): Uint8Array | undefined {
    if (text.length > MOST_TEXT) {
      this.#complain(reference, `its changes have ${text.length} characters, ${MOST_TEXT} are allowed`);
      return undefined;
    }
    const delta = parseFilterText(text);
    if (delta.items.length > MOST_ITEMS) {
      this.#complain(reference, `it asks for ${delta.items.length} changes, ${MOST_ITEMS} are allowed`);
      return undefined;
    }
    const undeclared = undeclaredChange(delta, {
      attributes: declaration.attributes ?? [],
      nlri: declaration.nlri !== false,
    });
    if (undeclared !== undefined) {
      this.#complain(reference, `it changes ${undeclared}, which it has not declared`);
      return undefined;
    }
    const faults = applyDelta(body, delta, peer.localAs);
    if (faults.length > 0 && this.#due(`skipped ${reference}`)) {
      this.#options.log.warn(
        { filter: reference, peer: peer.name, faults: faults.slice(0, 8) },
        'parts of a filter answer are skipped',
      );
    }
    const bytes = body.bytes();
    if (bytes === undefined) this.#complain(reference, 'its changes do not fit into an UPDATE');
    return bytes;
  }

  /** An answer that must not be: one report in a while, the filter may be asked for every route. */
  #complain(reference: string, message: string): void {
    if (!this.#due(`answer ${reference}`)) return;
    this.#options.report({ severity: 'error', code: 'filter-answer', source: 'filter', subject: reference, message });
    this.#options.log.warn({ filter: reference, reason: message }, 'a filter answer is refused, the route is rejected');
  }

  #due(key: string): boolean {
    const now = this.#options.clock.now();
    const last = this.#complaints.get(key);
    if (last !== undefined && now - last < COMPLAINT_MS) return false;
    this.#complaints.set(key, now);
    return true;
  }
}

/** What a plugin writes as a code may be any number: 0 where it is no octet, which stands for Cease / Connection Rejected. */
function octet(value: number | undefined): number {
  return value !== undefined && Number.isInteger(value) && value >= 0 && value <= 255 ? value : 0;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
