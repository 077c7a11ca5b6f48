/**
 * A peer's chain as steps of its pipeline. What names a policy of the settings runs here, on the message's bytes; what names a plugin's
 * filter is asked of the other side. Neighbours of one sort are one step, so that a chain of either sort alone is a single one.
 */
import { Draft } from '../../../sdk/policy/draft.ts';
import type { FilterCompiler, RouteFilter } from '../../../sdk/policy/route-filter.ts';
import { viewOf } from '../../../sdk/wire/bytes.ts';
import type { WireContext } from '../../../sdk/wire/context.ts';
import { FilterQuestion } from './filter-question.ts';
import type { QuestionHost } from './filter-question.ts';
import type { Peer } from '../session/peer.ts';
import type { FilterStep, Passage, Verdict } from './pipeline.ts';
import type { Policies } from '../port.ts';

/** Between a policy's name and its digest. */
const MARK = '\t';
const ACCEPT: Verdict = { kind: 'accept' };
const REJECT: Verdict = { kind: 'reject' };

export interface PolicyHost {
  /** A policy cannot run: its routes are rejected. `message` '': it can again. */
  failed(policy: string, message: string): void;
}

interface Answers {
  of: Uint8Array | undefined;
  readonly byPlace: Map<number, Verdict>;
}

/** The kinds of filters that plugins of this thread bring, and the policies compiled by them. */
export class PolicyTable {
  #draft: Draft | undefined;
  readonly #host: PolicyHost;
  readonly #kinds = new Map<string, FilterCompiler>();
  readonly #compiled = new Map<string, RouteFilter>();
  readonly #failed = new Set<string>();
  #policies: Policies = {};
  /** Raised when what a reference means may have changed. */
  version = 0;
  /** While one chunk is handed to several peers: the same object for each of them, its bytes unchanged until the last has had it. */
  shared: Uint8Array | undefined;
  readonly #answers = new Map<string, Answers>();

  constructor(host: PolicyHost) {
    this.#host = host;
  }

  /** Made when a filter first runs: it holds memory. */
  get draft(): Draft {
    return (this.#draft ??= new Draft());
  }

  get policies(): Policies {
    return this.#policies;
  }

  /** A reference holds its definition's digest, so one that stays means what it meant. */
  set policies(policies: Policies) {
    this.#policies = policies;
    for (const reference of this.#compiled.keys()) if (policies[reference] === undefined) this.#compiled.delete(reference);
    this.#answers.clear();
    for (const reference of this.#failed) if (policies[reference] === undefined) this.#clear(reference);
    this.version++;
  }

  /** What a run of policies said of the messages of the chunk that is shared at the moment. */
  answers(key: string): Answers {
    let answers = this.#answers.get(key);
    if (answers === undefined) this.#answers.set(key, (answers = { of: undefined, byPlace: new Map() }));
    return answers;
  }

  register(kind: string, compile: FilterCompiler): void {
    this.#kinds.set(kind, compile);
    this.#forget(kind);
  }

  /** Whoever compiles is gone. */
  unregister(compile: FilterCompiler): void {
    for (const [kind, own] of this.#kinds) {
      if (own !== compile) continue;
      this.#kinds.delete(kind);
      this.#forget(kind);
    }
  }

  /** Undefined: it cannot run, which is reported once. */
  filter(reference: string): RouteFilter | undefined {
    const known = this.#compiled.get(reference);
    if (known !== undefined) return known;
    const policy = this.#policies[reference];
    if (policy === undefined) return undefined;
    const compile = this.#kinds.get(policy.kind);
    if (compile === undefined) {
      this.#fail(reference, `no plugin runs filters of kind ${policy.kind}`);
      return undefined;
    }
    try {
      const filter = compile(policy.definition);
      this.#compiled.set(reference, filter);
      if (this.#failed.has(reference)) this.#clear(reference);
      return filter;
    } catch (error) {
      this.#fail(reference, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  #forget(kind: string): void {
    for (const reference of this.#compiled.keys()) if (this.#policies[reference]?.kind === kind) this.#compiled.delete(reference);
    this.version++;
  }

  #fail(reference: string, message: string): void {
    if (this.#failed.has(reference)) return;
    this.#failed.add(reference);
    this.#host.failed(nameOf(reference), `${message}; its routes are rejected`);
  }

  #clear(reference: string): void {
    this.#failed.delete(reference);
    this.#host.failed(nameOf(reference), '');
  }
}

/** Without the digest. */
function nameOf(reference: string): string {
  return reference.slice(0, Math.max(0, reference.indexOf(MARK)));
}

/** The peer's chain in this direction, or another one for it. `context`: how messages are read here, and what replaces them. */
export function stepsOf(
  peer: Peer,
  direction: 'import' | 'export',
  context: { readonly arriving: WireContext; readonly replaced: WireContext },
  table: PolicyTable,
  host: QuestionHost,
  chain = direction === 'import' ? peer.settings.importFilters : peer.settings.exportFilters,
): readonly FilterStep[] {
  const steps: FilterStep[] = [];
  for (let at = 0; at < chain.length; ) {
    const ours = isPolicy(chain[at]!);
    let end = at + 1;
    while (end < chain.length && isPolicy(chain[end]!) === ours) end++;
    const run = chain.slice(at, end);
    if (ours) steps.push(new PolicyStep(run, direction === 'import', at === 0 ? context.arriving : context.replaced, table));
    else steps.push(new FilterQuestion(peer, direction, run, context.replaced, host));
    at = end;
  }
  return steps;
}

/** A policy's reference has a digest behind a tab; no plugin's filter has one in its name. */
export function isPolicy(reference: string): boolean {
  return reference.includes(MARK);
}

/** Policies that follow each other: one look at the message for all of them, one new message for all they change. */
export class PolicyStep implements FilterStep {
  readonly name: string;
  readonly pure = true;
  readonly #references: readonly string[];
  readonly #importing: boolean;
  readonly #context: WireContext;
  readonly #table: PolicyTable;
  #filters: readonly (RouteFilter | undefined)[] = [];
  #version = -1;
  #bytes: Uint8Array | undefined;
  #view: DataView | undefined;
  readonly #answersKey: string;

  constructor(references: readonly string[], importing: boolean, context: WireContext, table: PolicyTable) {
    this.name = references.map(nameOf).join(' ');
    this.#references = references;
    this.#importing = importing;
    this.#context = context;
    this.#table = table;
    // What makes peers a group, as far as a filter can see it; whose AS the neighbour's is, it must not ask on the way out.
    this.#answersKey = `${context.id} ${context.localAs} ${context.families.join()} ${references.join()}`;
  }

  run({ bytes, at, length }: Passage): Verdict {
    if (this.#table.shared !== bytes) return this.#judge(bytes, at, length);
    // Whoever has the same chain gets the same answer: judged once for all of a group.
    const answers = this.#table.answers(this.#answersKey);
    if (answers.of !== bytes) {
      answers.of = bytes;
      answers.byPlace.clear();
    }
    let verdict = answers.byPlace.get(at);
    if (verdict === undefined) answers.byPlace.set(at, (verdict = this.#judge(bytes, at, length)));
    return verdict;
  }

  #judge(bytes: Uint8Array, at: number, length: number): Verdict {
    const table = this.#table;
    const { draft } = table;
    if (this.#version !== table.version) {
      this.#filters = this.#references.map((reference) => table.filter(reference));
      this.#version = table.version;
    }
    if (this.#bytes !== bytes || this.#view === undefined) {
      this.#bytes = bytes;
      this.#view = viewOf(bytes);
    }
    if (!draft.begin(bytes, this.#view, at, length, this.#context, this.#importing)) return ACCEPT;
    const filters = this.#filters;
    for (let i = 0; i < filters.length; i++) if (filters[i]?.judge(draft) !== true) return REJECT;
    if (!draft.changed) return ACCEPT;
    const message = draft.message();
    if (message === undefined) return REJECT;
    return { kind: 'replace', message, removed: draft.removed() };
  }
}
