/**
 * Keeps the originated routes of every peer in the state store and announces them again. A peer's routes are values of at most 1 MB under a
 * generation's number; an index names the generation that is whole, so that a crash in the middle leaves the one before.
 */
import type { PluginLog } from '../../sdk/plugin/log.ts';
import type { StateStore } from '../../sdk/plugin/state-store.ts';
import { messageOf, RpcError } from '../../sdk/rpc/errors.ts';
import { commandOf, entriesOf, lineOf, type Run, runOf } from './route-lines.ts';

export interface KeeperHost {
  readonly log: PluginLog;
  readonly state: Pick<StateStore, 'getText' | 'put' | 'remove' | 'list'>;
  /** A route command for one peer. */
  announce(peer: string, command: string): Promise<void>;
  ask(command: string): Promise<unknown>;
  rows(command: string): AsyncIterable<unknown>;
}

interface Index {
  readonly generation: number;
  readonly values: number;
  readonly routes: number;
}

/** Announced again by their owners out of the configuration. */
const CONFIGURED = new Set(['config', 'plugin:bgp-watchdog']);
const VALUE = 1_000_000;
/** Between looks at the table, and the share of the time that writing may take. */
const LOOK_MS = 1000;
const SHARE = 10;
/** Commands under way at a time. */
const TOGETHER = 64;
const INDEX = 'meta/index/';
const ROUTES = 'meta/routes/';
/** No peer: the answer comes when the peers of the configuration are there, and nothing has been sent. */
const NOBODY = '!*';

export class Keeper {
  readonly #host: KeeperHost;
  /** What is on the disk, by peer. */
  readonly #kept = new Map<string, Index & { readonly text: string }>();
  #changes: unknown;
  #replayed = 0;
  #savedAt = 0;
  #fault = '';
  #saving: Promise<void> = Promise.resolve();
  #restored = false;

  constructor(host: KeeperHost) {
    this.#host = host;
  }

  status(): object {
    const kept = [...this.#kept.values()];
    return {
      'peers-tracked': kept.length,
      'routes-stored': kept.reduce((sum, one) => sum + one.routes, 0),
      'route-replays': this.#replayed,
      'last-write': this.#savedAt === 0 ? '' : new Date(this.#savedAt).toISOString(),
      error: this.#fault,
    };
  }

  /** Announces what is kept, but for routes that somebody has announced by now. Never rejects: what cannot be read is a warning. */
  async restore(): Promise<void> {
    try {
      const stored = await this.#read();
      await this.#host.announce(NOBODY, 'update text nlri ipv4/unicast eor').catch(() => undefined);
      const known = new Set<string>();
      if (stored.size > 0)
        for await (const run of this.#originations()) for (const entry of entriesOf(run)) known.add(keyOf(run, entry));
      let waiting: Promise<void>[] = [];
      for (const [peer, runs] of stored) {
        for (const run of runs) {
          waiting.push(this.#replay(peer, run, known));
          if (waiting.length < TOGETHER) continue;
          await Promise.all(waiting);
          waiting = [];
        }
      }
      await Promise.all(waiting);
      if (this.#replayed > 0)
        this.#host.log.info({ peers: stored.size, routes: this.#replayed }, 'kept routes were announced again');
    } catch (error) {
      this.#complain(`kept routes could not be read: ${messageOf(error)}`);
    }
    this.#restored = true;
  }

  /** Looks for changes until the signal. */
  watch(signal: AbortSignal): void {
    let timer: NodeJS.Timeout | undefined;
    const look = async (): Promise<void> => {
      const before = performance.now();
      await this.save();
      if (signal.aborted) return;
      timer = setTimeout(() => void look(), Math.max(LOOK_MS, SHARE * (performance.now() - before))).unref();
    };
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
    });
    void look();
  }

  /** Writes what has changed since the last time. Never rejects. */
  save(): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      if (!this.#restored) return;
      try {
        const { changes } = (await this.#host.ask('rib originations status')) as { readonly changes: unknown };
        if (changes === this.#changes) return;
        await this.#write();
        this.#changes = changes;
        this.#fault = '';
      } catch (error) {
        this.#complain(`routes could not be kept: ${messageOf(error)}`);
      }
    });
    return this.#saving;
  }

  async *#originations(): AsyncGenerator<Run> {
    for await (const row of this.#host.rows('rib originations')) yield row as Run;
  }

  async #write(): Promise<void> {
    const peers = new Map<string, { lines: string[]; routes: number }>();
    for await (const run of this.#originations()) {
      if (CONFIGURED.has(run.owner)) continue;
      let held = peers.get(run.peer);
      if (held === undefined) peers.set(run.peer, (held = { lines: [], routes: 0 }));
      held.lines.push(lineOf(run));
      held.routes += entriesOf(run).length;
    }
    for (const [peer, { lines, routes }] of peers) await this.#put(peer, lines, routes);
    for (const peer of [...this.#kept.keys()]) if (!peers.has(peer)) await this.#forget(peer);
  }

  /** The new generation first, then the index, then the old one goes. */
  async #put(peer: string, lines: readonly string[], routes: number): Promise<void> {
    const { state } = this.#host;
    const before = this.#kept.get(peer);
    const text = lines.join('\n');
    if (before?.text === text) return;
    const generation = (before?.generation ?? 0) + 1;
    const values = valuesOf(lines);
    for (const [at, value] of values.entries()) await state.put(`${ROUTES}${peer}/${generation}/${at}`, value);
    const index: Index = { generation, values: values.length, routes };
    await state.put(INDEX + peer, JSON.stringify(index));
    this.#kept.set(peer, { ...index, text });
    this.#savedAt = Date.now();
    for (let at = 0; at < (before?.values ?? 0); at++) await state.remove(`${ROUTES}${peer}/${before?.generation ?? 0}/${at}`);
  }

  async #forget(peer: string): Promise<void> {
    const before = this.#kept.get(peer);
    await this.#host.state.remove(INDEX + peer);
    this.#kept.delete(peer);
    this.#savedAt = Date.now();
    for (let at = 0; at < (before?.values ?? 0); at++)
      await this.#host.state.remove(`${ROUTES}${peer}/${before?.generation ?? 0}/${at}`);
  }

  /** Everything that is whole; the rest is taken away. */
  async #read(): Promise<ReadonlyMap<string, readonly Run[]>> {
    const { state } = this.#host;
    const stored = new Map<string, readonly Run[]>();
    const used = new Set<string>();
    for (const key of await state.list(INDEX)) {
      const peer = key.slice(INDEX.length);
      try {
        const index = indexOf(await state.getText(key));
        const texts: string[] = [];
        for (let at = 0; at < index.values; at++) {
          const part = `${ROUTES}${peer}/${index.generation}/${at}`;
          used.add(part);
          texts.push((await state.getText(part)) ?? missing());
        }
        const text = texts.join('\n');
        stored.set(
          peer,
          text.split('\n').map((line) => runOf(peer, line) ?? missing()),
        );
        this.#kept.set(peer, { ...index, text });
      } catch (error) {
        this.#complain(`the kept routes of ${peer} are lost: ${messageOf(error)}`);
        if (!(error instanceof RpcError) || error.code === 'corrupt') await state.remove(key).catch(() => undefined);
      }
    }
    for (const key of await state.list(ROUTES)) if (!used.has(key)) await state.remove(key).catch(() => undefined);
    return stored;
  }

  async #replay(peer: string, run: Run, known: ReadonlySet<string>): Promise<void> {
    const entries = entriesOf(run).filter((entry) => !known.has(keyOf(run, entry)));
    const command = commandOf(run, entries);
    if (command === undefined) return;
    try {
      await this.#host.announce(peer, command);
      this.#replayed += entries.length;
    } catch (error) {
      this.#host.log.warn({ peer, error: messageOf(error) }, 'kept routes were not taken');
    }
  }

  /** The same complaint is made once. */
  #complain(fault: string): void {
    if (fault !== this.#fault) this.#host.log.warn({ fault }, 'bgp-persist');
    this.#fault = fault;
  }
}

function keyOf(run: Run, entry: string): string {
  return `${run.peer} ${run.family} ${run['path-id']} ${entry}`;
}

function valuesOf(lines: readonly string[]): readonly string[] {
  const values: string[] = [];
  let from = 0;
  let size = 0;
  for (const [at, line] of lines.entries()) {
    if (size > 0 && size + line.length + 1 > VALUE) {
      values.push(lines.slice(from, at).join('\n'));
      [from, size] = [at, 0];
    }
    size += line.length + 1;
  }
  values.push(lines.slice(from).join('\n'));
  return values;
}

function indexOf(text: string | undefined): Index {
  const read = JSON.parse(text ?? '') as Partial<Index>;
  const { generation, values, routes } = read;
  const counts = [generation, values, routes];
  if (!counts.every((count) => Number.isSafeInteger(count) && count! >= 0) || values! > 4096) missing();
  return { generation: generation!, values: values!, routes: routes! };
}

function missing(): never {
  throw new Error('what is stored is not whole');
}
