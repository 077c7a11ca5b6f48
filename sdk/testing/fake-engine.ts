/**
 * An engine for the tests of one plugin: it takes the plugin through the real five stages over a pipe (or the bridge, or TLS for a
 * process), then plays the daemon. Nothing is faked on the plugin's side: the same lines cross the link as in production.
 *
 *     const engine = await FakeEngine.start(plugin);
 *     await engine.up('edge');
 *     assert.deepEqual((await engine.execute('hello status')).data, { up: 1 });
 *     await engine.close();
 *
 * While it is open it keeps the process alive; `close` (or `await using`) leaves nothing behind.
 */
import type { Duplex } from 'node:stream';
import type {
  CallbackMethod,
  CapabilityDecl,
  DeclareRegistrationInput,
  Methods,
  ReadyInput,
} from '../../yang/generated/methods.ts';
import { CALLBACK_METHODS, ENGINE_METHODS, type EngineMethod } from '../../yang/generated/methods.ts';
import type { BridgeHandlers, DispatchMethod } from '../plugin/bridge.ts';
import type { PluginLog } from '../plugin/log.ts';
import type { PeerDirectory } from '../plugin/structured.ts';
import { selectPeers } from '../rib/peer-selector.ts';
import { AnswerReader } from '../rpc/answer.ts';
import { messageOf } from '../rpc/errors.ts';
import { pipePair } from '../rpc/pipe.ts';
import { toHex } from '../wire/bytes.ts';
import {
  EngineAnswers,
  type CommandAnswer,
  type EngineCallName,
  type InputOf,
  type OutputOf,
  type RecordedCall,
  type RecordedRoute,
} from './engine-answers.ts';
import { EngineLink, type Handshake } from './engine-link.ts';
import { type Direction, events, type EventFormat, type PeerLike, type TestPeer, testPeer } from './events.ts';
import { FakeBridge, testBatch, TestPeers, type TestRow } from './fake-bridge.ts';
import {
  checkOptions,
  type Executed,
  type FakeEngineOptions,
  type LoggedLine,
  type PluginUnderTest,
  sectionsOf,
  unfolded,
} from './under-test.ts';
import { type TestUpdate, updateBody, type UpdateContext, updateParts } from './update-body.ts';
import { within } from './within.ts';

/** A callback without its prefix: `filter-update`. */
export type CallbackName = CallbackMethod extends infer M ? (M extends `ze-plugin-callback:${infer N}` ? N : never) : never;
/** After the link's end, how long the plugin may take to say why, ms. */
const REASON_MS = 250;
const LATE = 'the reason';

type ValueCallback = Exclude<CallbackName, 'execute-command'>;

interface Parts {
  readonly link: EngineLink;
  readonly answers: EngineAnswers;
  readonly handshake: Handshake;
  readonly handlers: BridgeHandlers | undefined;
  readonly ended: Promise<void>;
  readonly logged: readonly LoggedLine[];
  readonly peers: TestPeers;
  readonly established: Set<string>;
  readonly deadlineMs: number;
  readonly release: () => void;
}

export class FakeEngine implements AsyncDisposable {
  /** Stage 1: what the plugin declared. */
  readonly registration: DeclareRegistrationInput;
  /** Stage 3. */
  readonly capabilities: readonly CapabilityDecl[];
  /** Stage 5. */
  readonly ready: ReadyInput;
  /** Settles as the plugin's `run` does. */
  readonly ended: Promise<void>;
  /** What the plugin logged (a `definePlugin` value), in order. */
  readonly logged: readonly LoggedLine[];
  readonly #parts: Parts;
  #messageId = 0;
  #sequence = 0;
  #over = false;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.registration = parts.handshake.registration;
    this.capabilities = parts.handshake.capabilities.capabilities;
    this.ready = parts.handshake.ready;
    this.ended = parts.ended;
    this.logged = parts.logged;
  }

  /**
   * Takes the plugin through its five stages. Rejects with what its `run` rejected with (`stage 2 (configure): …`), and with a
   * TypeError for an option that is none.
   */
  static async start(plugin: PluginUnderTest, options: FakeEngineOptions = {}): Promise<FakeEngine> {
    checkOptions(options);
    const [near, far] = pipePair();
    const logged: LoggedLine[] = [];
    const at =
      (level: LoggedLine['level']) =>
      (fields: object, message: string): void =>
        void logged.push({ level, fields, message });
    const log: PluginLog = { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
    const stop = new AbortController();
    if (typeof plugin === 'function') {
      if (options.inProcess === true) throw new TypeError('inProcess is for a definePlugin value');
      return FakeEngine.over(far, options, { run: () => plugin(near), logged, stop: () => near.destroy() });
    }
    return FakeEngine.over(far, options, {
      run: (bridge) => plugin.run({ conn: near, bridge, signal: stop.signal, log, name: options.name }),
      logged,
      stop: () => stop.abort(),
    });
  }

  /** The same over a connection that exists; `site` is what happens on its other end. */
  static async over(
    stream: Duplex,
    options: FakeEngineOptions = {},
    site: {
      readonly run?: (bridge: FakeBridge | undefined) => Promise<unknown>;
      readonly logged?: readonly LoggedLine[];
      /** Ends what a goodbye did not end. */
      readonly stop?: () => void;
    } = {},
  ): Promise<FakeEngine> {
    const deadlineMs = options.deadlineMs ?? 5000;
    // A pipe keeps no process alive, and a test that waits for one would be ended as if nothing were to come.
    const awake = setInterval(() => undefined, 60_000);
    const peers = new TestPeers();
    const established = new Set<string>();
    const answers = new EngineAnswers((selector) => {
      if (peers.capacity === 0) return 1;
      return selectPeers(peers, selector).filter((peer) => established.has(peers.name(peer))).length;
    });
    const link = new EngineLink(stream, options.trace);
    serve(link, answers);
    const bridge = options.inProcess === true ? new FakeBridge(answers) : undefined;
    const running = site.run?.(bridge) ?? link.mux.closed;
    const ended = running.then(() => undefined);
    ended.catch(() => undefined);
    const release = (): void => {
      clearInterval(awake);
      site.stop?.();
    };
    try {
      const start = link.start(
        { sections: sectionsOf(options.config ?? {}), ...(options.claims === undefined ? {} : { claims: options.claims }) },
        { commands: options.commands ?? [] },
        ({ ready }) => {
          if (ready.subscribe !== undefined) answers.subscriptions.push(ready.subscribe);
        },
      );
      const early = ended.then(
        () => Promise.reject(new Error('the plugin ended before it was up')),
        (error: unknown) => Promise.reject(error instanceof Error ? error : new Error(messageOf(error))),
      );
      early.catch(() => undefined);
      // What the plugin says of its end says more than the link that broke with it.
      const told = start.catch(async (error: unknown) => {
        await within(REASON_MS, LATE, early).catch((reason: unknown) => {
          if (!messageOf(reason).startsWith(LATE)) throw reason;
        });
        throw error;
      });
      const handshake = await within(deadlineMs, 'the five stages', Promise.race([told, early]));
      const handlers =
        bridge === undefined ? undefined : await within(deadlineMs, 'the bridge', Promise.race([bridge.attached, early]));
      const logged = site.logged ?? [];
      return new FakeEngine({ link, answers, handshake, handlers, ended, logged, peers, established, deadlineMs, release });
    } catch (error) {
      release();
      await link.mux.close();
      throw error;
    }
  }

  /** The low-level link: raw lines, raw methods. */
  get link(): EngineLink {
    return this.#parts.link;
  }

  /** Peers named so far. */
  get peers(): PeerDirectory {
    return this.#parts.peers;
  }

  /** Every call the plugin made of the engine, in order. */
  get calls(): readonly RecordedCall[] {
    return this.#parts.answers.calls;
  }

  /** Its route commands. */
  get routes(): readonly RecordedRoute[] {
    return this.#parts.answers.routes;
  }

  /** The state store the plugin sees. Fill it before the plugin asks, read it afterwards. */
  get stored(): Map<string, Buffer> {
    return this.#parts.answers.stored;
  }

  /** The format that updates come in: the last one the plugin asked for, else `parsed`. */
  get format(): EventFormat {
    const asked = this.#parts.answers.subscriptions
      .map((one) => one.format ?? '')
      .filter((one) => one !== '')
      .at(-1);
    if (asked === 'hex') return 'raw';
    return asked === 'raw' || asked === 'full' || asked === 'summary' ? asked : 'parsed';
  }

  /** Scripts the answers to an engine call: `engine.answer('update-route', () => { throw new Error('no peer'); })`. */
  answer<N extends EngineCallName>(name: N, answer: (input: InputOf<N>) => OutputOf<N> | Promise<OutputOf<N>>): void {
    this.#parts.answers.script(name, answer);
  }

  /** Scripts a command that the plugin runs through `dispatchCommand`; anything else it runs is unknown. */
  answerCommand(command: string, answer: CommandAnswer): void {
    this.#parts.answers.command(command, answer);
  }

  /** Resolves when the plugin has made `count` calls of this name (since the start); to the last of them. */
  async called<N extends EngineCallName>(name: N, count = 1): Promise<InputOf<N>> {
    const made = (): readonly RecordedCall[] => this.calls.filter((call) => call.method === name);
    await within(
      this.#parts.deadlineMs,
      `call ${count} of ${name} (there were ${made().length})`,
      this.#parts.answers.until(() => made().length >= count),
    );
    return made()[count - 1]?.input as InputOf<N>;
  }

  /** Defines a peer, or changes its members; `up`, `update` and the others know it by its name then. */
  peer(like: PeerLike): TestPeer {
    const name = typeof like === 'string' ? like : like.name;
    const known = name === undefined ? undefined : this.#parts.peers.byName(name);
    const fresh = { address: `192.0.2.${(this.#parts.peers.capacity % 250) + 1}`, as: 65_001 + this.#parts.peers.capacity };
    const peer = testPeer({ ...fresh, ...known, ...(typeof like === 'string' ? { name: like } : like) });
    this.#parts.peers.see(peer);
    return peer;
  }

  /** The session comes up; resolves when the plugin has handled it, rejects when its handler threw. So do all below. */
  async up(
    like: PeerLike,
    more: { readonly 'initial-replay'?: string; readonly 'unheld-roles'?: readonly string[] } = {},
  ): Promise<void> {
    const peer = this.peer(like);
    this.#parts.established.add(peer.name);
    await this.#deliver(
      'state',
      '',
      peer,
      () => events.state(peer, 'up', more),
      row(this.#index(peer), {
        kind: 'state',
        up: true,
        initialReplay: Number(more['initial-replay'] ?? 0),
        unheldRoles: more['unheld-roles'] ?? [],
      }),
    );
  }

  /** The session goes down. */
  async down(like: PeerLike, reason = 'tcp-failure'): Promise<void> {
    const peer = this.peer(like);
    this.#parts.established.delete(peer.name);
    const text = (): string => events.state(peer, 'down', { reason });
    await this.#deliver('state', '', peer, text, row(this.#index(peer), { kind: 'state', reason }));
  }

  /**
   * An UPDATE, in whichever form the plugin asked for: rows, parsed, raw, full, summary. Its message id is the next number unless one is
   * given. Throws when the plugin has not subscribed to it: the daemon would not deliver it.
   */
  async update(
    like: PeerLike,
    update: TestUpdate | Uint8Array,
    options: {
      readonly direction?: Direction;
      readonly id?: number;
      readonly asn4?: boolean;
      readonly addPath?: readonly string[];
    } = {},
  ): Promise<void> {
    const peer = this.peer(like);
    const direction = options.direction ?? 'received';
    const context: UpdateContext = { asn4: options.asn4 ?? true, addPath: options.addPath ?? [] };
    const body = update instanceof Uint8Array ? update : updateBody(update, peer, context);
    this.#messageId = options.id ?? this.#messageId + 1;
    const id = this.#messageId;
    await this.#deliver(
      'update',
      direction,
      peer,
      () => events.update(peer, updateParts(body, context), toHex(body), this.format, { id, direction }),
      row(this.#index(peer), { kind: 'update', direction, id, body, ...context }),
    );
  }

  /** An End-of-RIB. */
  async endOfRib(like: PeerLike, family = 'ipv4/unicast'): Promise<void> {
    const peer = this.peer(like);
    await this.#deliver('eor', '', peer, () => events.endOfRib(peer, family), undefined);
  }

  /** Event texts as they are, as one batch: see `events` for their makers. Delivered whatever the plugin subscribed to. */
  async send(...texts: readonly string[]): Promise<void> {
    const { handlers, link, deadlineMs } = this.#parts;
    const done =
      handlers === undefined ? link.mux.call('ze-plugin-callback:deliver-batch', { events: texts }) : handlers.events(texts);
    await within(deadlineMs, 'the events to be handled', done);
  }

  /**
   * Runs one of the plugin's commands: words after its declared name are arguments (`args` adds ones with blanks). Rejects when its
   * handler threw, and when it declared no such command.
   */
  async execute(line: string, more: { readonly args?: readonly string[]; readonly peer?: string } = {}): Promise<Executed> {
    const reader = this.read(line, more);
    const rows: unknown[] = [];
    return within(
      this.#parts.deadlineMs,
      `the answer of "${line}"`,
      (async () => {
        const head = await reader.head;
        const collected = await reader.collapse();
        for (const value of unfolded(head, collected.data)) rows.push(value);
        const verdict = await reader.verdict;
        return { status: collected.status, data: collected.data, error: collected.error ?? '', rows, head, verdict };
      })(),
    );
  }

  /** The same as a stream: `for await (const row of engine.read('hello rows 5'))`. Leaving the loop tells the plugin. */
  read(line: string, more: { readonly args?: readonly string[]; readonly peer?: string } = {}): AnswerReader {
    const { command, args } = this.#commandOf(line);
    const input = { serial: '', command, args: [...args, ...(more.args ?? [])], peer: more.peer ?? '*' };
    const { handlers, link } = this.#parts;
    if (handlers === undefined) return link.mux.dispatchAnswer('ze-plugin-callback:execute-command', input);
    const stop = new AbortController();
    return new AnswerReader(handlers.execute(input, stop.signal));
  }

  /** Calls any callback: `await engine.call('filter-update', { … })`. Resolves to its output, rejects with RpcError. */
  async call<N extends ValueCallback>(
    name: N,
    input: Methods[`ze-plugin-callback:${N}`]['input'],
  ): Promise<Methods[`ze-plugin-callback:${N}`]['output']> {
    const method = `ze-plugin-callback:${name}` as const;
    if (!(CALLBACK_METHODS as readonly string[]).includes(method)) throw new TypeError(`there is no callback ${name}`);
    const { handlers, link, deadlineMs } = this.#parts;
    const call =
      handlers === undefined
        ? (link.mux.call(method, input) as Promise<unknown>)
        : (handlers.callback(method, input, AbortSignal.timeout(deadlineMs)) as Promise<unknown>);
    return (await within(deadlineMs, name, call)) as Methods[`ze-plugin-callback:${N}`]['output'];
  }

  /** All plugins are up: `onAllPluginsReady`. */
  async allPluginsReady(): Promise<void> {
    await this.call('post-startup', undefined);
  }

  /** Says goodbye and waits for the plugin's end. */
  async bye(reason = 'shutdown'): Promise<void> {
    await this.call('bye', { reason });
    this.#over = true;
    await within(this.#parts.deadlineMs, 'the end of the plugin', this.ended);
  }

  /** Ends the plugin, with a goodbye unless it is gone, and frees everything. Idempotent. */
  async close(): Promise<void> {
    const { link, release, deadlineMs } = this.#parts;
    try {
      if (!this.#over && !link.mux.signal.aborted) await this.bye().catch(() => undefined);
      this.#over = true;
      await link.mux.close();
    } finally {
      release();
    }
    await within(
      deadlineMs,
      'the end of the plugin',
      this.ended.catch(() => undefined),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #index(peer: TestPeer): number {
    return this.#parts.peers.see(peer);
  }

  async #deliver(type: string, direction: string, peer: TestPeer, text: () => string, one: TestRow | undefined): Promise<void> {
    if (!this.#subscribed(type, direction, peer)) {
      const what = direction === '' ? type : `${type} direction ${direction}`;
      throw new Error(`the plugin has not subscribed to ${what} of ${peer.name}: the daemon would not deliver it`);
    }
    const { handlers, peers } = this.#parts;
    this.#sequence++;
    if (handlers?.structured !== undefined && one !== undefined) {
      handlers.structured(testBatch([one], peers));
      return;
    }
    await this.send(`${text().slice(0, -1)},"meta":{"schema-version":1,"seq":${this.#sequence}}}`);
  }

  #subscribed(type: string, direction: string, peer: TestPeer): boolean {
    const index = this.#index(peer);
    return this.#parts.answers.subscriptions.some((one) => {
      if ((one.namespace ?? 'bgp') !== 'bgp') return false;
      if (!selectPeers(this.#parts.peers, (one.peers ?? []).join(',')).includes(index)) return false;
      return (one.events ?? []).some((event) => {
        const [wanted, , wantedDirection = 'both'] = event.split(/\s+/);
        const meets = direction === '' || wantedDirection === 'both' || wantedDirection === direction;
        return (wanted === '*' || wanted === type) && meets;
      });
    });
  }

  /** The longest declared command that the line begins with. */
  #commandOf(line: string): { readonly command: string; readonly args: readonly string[] } {
    const words = line.trim().split(/\s+/);
    const declared = (this.registration.commands ?? []).flatMap((one) =>
      [one.name, ...(one['deprecated-names'] ?? [])].map((name) => [name, one.name] as const),
    );
    for (let count = words.length; count > 0; count--) {
      const head = words.slice(0, count).join(' ').toLowerCase();
      const found = declared.find(([name]) => name.trim().replaceAll(/\s+/g, ' ').toLowerCase() === head);
      if (found !== undefined) return { command: found[1], args: words.slice(count) };
    }
    const names = declared.map(([name]) => name).join(', ');
    throw new Error(`the plugin declares no command that "${line}" begins with; it declares: ${names === '' ? 'none' : names}`);
  }
}

function serve(link: EngineLink, answers: EngineAnswers): void {
  const stages = ['declare-registration', 'declare-capabilities', 'ready'].map((name) => `ze-plugin-engine:${name}`);
  for (const method of ENGINE_METHODS) {
    if (stages.includes(method)) continue;
    if (isDispatch(method)) link.mux.serveAnswer(method, (input) => answers.dispatch(method, input));
    else link.mux.serve(method, async (input) => (await answers.call(method, input)) as never);
  }
}

function isDispatch(method: EngineMethod): method is DispatchMethod {
  return method === 'ze-plugin-engine:dispatch-command' || method === 'ze-plugin-engine:dispatch-command-args';
}

function row(peer: number, more: Partial<TestRow> & { readonly kind: TestRow['kind'] }): TestRow {
  return {
    peer,
    direction: 'received',
    id: 0,
    body: new Uint8Array(0),
    asn4: true,
    addPath: [],
    up: false,
    reason: '',
    ...more,
  };
}
