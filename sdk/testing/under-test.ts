/** What goes into a fake engine and what comes out of it. */
import type { Duplex } from 'node:stream';
import type { ConfigSection, RegistryCommand } from '../../yang/generated/methods.ts';
import type { PluginDefinition } from '../plugin/define.ts';
import type { AnswerHead, Verdict } from '../rpc/answer.ts';

/** A plugin to test: what `definePlugin` returned, or a function that runs one over the connection and settles when it has ended. */
export type PluginUnderTest = PluginDefinition | ((conn: Duplex) => Promise<unknown>);

export interface FakeEngineOptions {
  /** The name it is configured under. */
  readonly name?: string | undefined;
  /** Configuration by root: `{ bgp: { peer: … } }`. A root `a/b` is wrapped in its path, `*` gets all of them. */
  readonly config?: Readonly<Record<string, unknown>> | undefined;
  /** Roles that other plugins have claimed. */
  readonly claims?: readonly string[] | undefined;
  /** Commands of other plugins, for stage 4. */
  readonly commands?: readonly RegistryCommand[] | undefined;
  /** As in the daemon's main thread: the plugin goes over to the bridge at stage 5 and gets rows. Only for a `definePlugin` value. */
  readonly inProcess?: boolean | undefined;
  /** ms that anything may take. Default 5000. */
  readonly deadlineMs?: number | undefined;
  /** Each line of the link; `in` is what the plugin said. */
  readonly trace?: ((direction: 'in' | 'out', line: string) => void) | undefined;
}

/** What the options may be called: a plain JavaScript test has no compiler that says so. */
const OPTION_NAMES = {
  name: true,
  config: true,
  claims: true,
  commands: true,
  inProcess: true,
  deadlineMs: true,
  trace: true,
} as const satisfies Readonly<Record<keyof FakeEngineOptions, true>>;

/** Throws a TypeError for an option that is none. */
export function checkOptions(options: object): void {
  const unknown = Object.keys(options).filter((key) => !Object.hasOwn(OPTION_NAMES, key));
  if (unknown.length === 0) return;
  throw new TypeError(`FakeEngine has no option ${unknown.join(', ')}; it has ${Object.keys(OPTION_NAMES).join(', ')}`);
}

/** An answered command. */
export interface Executed {
  readonly status: 'done' | 'error';
  /** The document, or all rows as one value. */
  readonly data: unknown;
  /** '' = none. */
  readonly error: string;
  /** Rows, each as a value; a document that holds rows counts as them. */
  readonly rows: readonly unknown[];
  readonly head: AnswerHead;
  readonly verdict: Verdict;
}

/** A line of the plugin's log. */
export interface LoggedLine {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly fields: object;
  readonly message: string;
}

/** Sections as stage 2 carries them: JSON text, wrapped in the whole path from the root. */
export function sectionsOf(config: Readonly<Record<string, unknown>>): readonly ConfigSection[] {
  return Object.entries(config).map(([root, value]) => {
    const wrapped = root === '*' ? value : root.split('/').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
    return { root, data: JSON.stringify(wrapped) };
  });
}

/** Rows of a collapsed answer. */
export function unfolded(head: AnswerHead, data: unknown): readonly unknown[] {
  if (Array.isArray(data)) return data;
  if (typeof data === 'object' && data !== null && head.envelope !== '' && head.envelope in data) {
    const inner = (data as Readonly<Record<string, unknown>>)[head.envelope];
    if (Array.isArray(inner)) return inner;
  }
  return data === undefined ? [] : [data];
}
