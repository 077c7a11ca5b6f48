// Events of namespace `config`: what a transaction says goes through the bus, secrets masked; and the tap by which it waits for readiness.
import { configSchema } from '../config/load.ts';
import { secretNames } from '../config/secret.ts';
import type { EventTap } from '../config/transaction/readiness.ts';
import type { EventSink } from '../config/transaction/participant.ts';
import type { EventBus } from '../bus/bus.ts';
import { MAX_EMITTED } from '../bus/emitted.ts';
import type { SchemaNode } from '../../yang/compile/schema.ts';

const NAMESPACE = 'config';
const TYPES = [
  ...['verify-ok', 'verify-failed', 'verify-abort', 'apply-ok', 'apply-failed', 'rollback', 'rollback-ok', 'rollback-failed'],
  ...['verify', 'apply', 'rollback', 'commit'].flatMap((phase) => [`operation-${phase}-ok`, `operation-${phase}-failed`]),
  ...['committed', 'applied', 'rolled-back'],
];
const MASK = '***';

type Section = Readonly<Record<string, string>>;

/** What the engine emits reaches every subscriber: no process is the emitter. */
const NOBODY = '';

export class ConfigEvents {
  readonly #bus: EventBus;
  readonly #schema: () => SchemaNode;
  #secrets: { readonly schema: SchemaNode; readonly names: ReadonlySet<string> } | undefined;

  constructor(bus: EventBus, schema: () => SchemaNode = () => configSchema().root) {
    this.#bus = bus;
    this.#schema = schema;
    for (const type of TYPES) bus.types.register(NAMESPACE, type);
  }

  /** Types that carry a plugin's name are registered as they come. */
  readonly emit: EventSink = (type, payload) => {
    this.#bus.types.register(NAMESPACE, type);
    const { diffs, ...rest } = payload;
    let text = diffs === undefined ? JSON.stringify(payload) : '';
    if (Array.isArray(diffs) && sizeOf(diffs as readonly Section[]) < MAX_EMITTED / 2)
      text = JSON.stringify({ ...rest, diffs: (diffs as readonly Section[]).map((diff) => this.#masked(diff)) });
    if (text === '' || text.length > MAX_EMITTED) text = JSON.stringify({ ...rest, 'diffs-omitted': true });
    this.#bus.emit({ namespace: NAMESPACE, type, text }, NOBODY);
  };

  readonly tap: EventTap = (hear) => {
    const ends = this.#bus.types
      .namespaces()
      .map((namespace) =>
        this.#bus.listen(namespace, '*', (event) =>
          hear({ namespace: event.namespace, type: event.type, peerAddress: event.peerAddress, text: event.text }),
        ),
      );
    return () => {
      for (const end of ends) end();
    };
  };

  /** A diff section: its members but `root` are JSON texts of values by path. */
  #masked(section: Section): unknown {
    return Object.fromEntries(
      Object.entries(section).map(([key, text]) => [key, key === 'root' ? text : JSON.stringify(this.#mask(JSON.parse(text)))]),
    );
  }

  #mask(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#mask(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        const name = key.slice(key.lastIndexOf('/') + 1);
        return [key, this.#secretNames().has(name) ? MASK : this.#mask(member)];
      }),
    );
  }

  /** Of the schema in force, with what plugins brought. */
  #secretNames(): ReadonlySet<string> {
    const schema = this.#schema();
    if (this.#secrets?.schema !== schema) this.#secrets = { schema, names: secretNames(schema) };
    return this.#secrets.names;
  }
}

function sizeOf(diffs: readonly Section[]): number {
  return diffs.reduce((size, diff) => size + Object.values(diff).reduce((sum, text) => sum + text.length, 0), 0);
}
