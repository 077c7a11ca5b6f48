/**
 * What the engine asks of a plugin: the author's handlers, their defaults, and the two lanes they run in.
 *
 * Events run one after another in the order they came. Everything else runs beside them and beside each other, so that a
 * handler may wait for the engine, or for a command of a plugin that calls back, without blocking the one it waits for.
 */
import type {
  ByeInput,
  CallbackMethod,
  ConfigApplyInput,
  ConfigCommittedInput,
  ConfigOperationApplyInput,
  ConfigOperationApplyOutput,
  ConfigOperationCommitInput,
  ConfigOperationDecomposeInput,
  ConfigOperationDecomposeOutput,
  ConfigOperationRollbackInput,
  ConfigOperationVerifyInput,
  ConfigResult,
  ConfigRollbackInput,
  ConfigureInput,
  ConfigVerifyInput,
  DecodeCapabilityInput,
  DecodeNlriInput,
  Diagnostic,
  DoctorCheckInput,
  EncodeNlriInput,
  EnrichShowInput,
  ExecuteCommandInput,
  FilterUpdateInput,
  FilterUpdateOutput,
  Methods,
  ShareRegistryInput,
  ValidateOpenInput,
  ValidateOpenOutput,
} from '../../yang/generated/methods.ts';
import type { AnswerSource } from '../rpc/answer.ts';
import { messageOf, RpcError } from '../rpc/errors.ts';
import { answerOf } from '../rpc/records.ts';
import type { StructuredBatch } from './structured.ts';

type Awaitable<T> = T | Promise<T>;

/** The author's handlers by callback; absent = the default of the protocol. A throw answers `error` (config ones: a result). */
export interface Handlers {
  /** One event text (JSON or text encoding). */
  event?: (event: string) => Awaitable<void>;
  /** In-process only: events without JSON, read in place; nothing of the batch may be kept. */
  structuredEvent?: (batch: StructuredBatch) => void;
  /** An (async) iterable answers row by row, an AnswerSource as it is, any other value as one document. */
  executeCommand?: (input: ExecuteCommandInput, signal: AbortSignal) => unknown;
  /** Answers hex. */
  encodeNlri?: (input: EncodeNlriInput, signal: AbortSignal) => Awaitable<string>;
  /** Answers the JSON value to show. */
  decodeNlri?: (input: DecodeNlriInput, signal: AbortSignal) => unknown;
  decodeCapability?: (input: DecodeCapabilityInput, signal: AbortSignal) => unknown;
  /** Stage 2. The engine cannot be called from here. A throw refuses the configuration. */
  configure?: (input: ConfigureInput) => Awaitable<void>;
  /** Stage 4. The engine cannot be called from here. */
  shareRegistry?: (input: ShareRegistryInput) => Awaitable<void>;
  /** A throw, or a result with status `error`, refuses the candidate. */
  configVerify?: (input: ConfigVerifyInput, signal: AbortSignal) => Awaitable<ConfigResult | undefined>;
  configApply?: (input: ConfigApplyInput, signal: AbortSignal) => Awaitable<ConfigResult | undefined>;
  /** Runs only after an apply that was accepted since the last commit or rollback. A throw marks the plugin broken. */
  configRollback?: (input: ConfigRollbackInput, signal: AbortSignal) => Awaitable<void>;
  configCommitted?: (input: ConfigCommittedInput, signal: AbortSignal) => Awaitable<void>;
  configOperationDecompose?: (
    input: ConfigOperationDecomposeInput,
    signal: AbortSignal,
  ) => Awaitable<ConfigOperationDecomposeOutput>;
  configOperationVerify?: (input: ConfigOperationVerifyInput, signal: AbortSignal) => Awaitable<ConfigResult | undefined>;
  configOperationApply?: (
    input: ConfigOperationApplyInput,
    signal: AbortSignal,
  ) => Awaitable<ConfigOperationApplyOutput | undefined>;
  configOperationRollback?: (input: ConfigOperationRollbackInput, signal: AbortSignal) => Awaitable<ConfigResult | undefined>;
  configOperationCommit?: (input: ConfigOperationCommitInput, signal: AbortSignal) => Awaitable<ConfigResult | undefined>;
  validateOpen?: (input: ValidateOpenInput, signal: AbortSignal) => Awaitable<ValidateOpenOutput>;
  filterUpdate?: (input: FilterUpdateInput, signal: AbortSignal) => Awaitable<FilterUpdateOutput>;
  doctorCheck?: (input: DoctorCheckInput, signal: AbortSignal) => Awaitable<readonly Diagnostic[]>;
  /** Answers what is merged into the command's output, or nothing. */
  enrichShow?: (input: EnrichShowInput, signal: AbortSignal) => Awaitable<Readonly<Record<string, unknown>> | undefined>;
  /** After stage 5, before the first event. The engine may be called. */
  started?: () => Awaitable<void>;
  /** Every plugin's commands can be dispatched. */
  allPluginsReady?: () => Awaitable<void>;
  /** The engine says goodbye; a throw answers `error` and the plugin goes on. */
  bye?: (reason: string) => Awaitable<void>;
}

/** Callbacks answered by one value that `Callbacks.call` serves at run time. */
export type RuntimeCallback = Exclude<
  CallbackMethod,
  'ze-plugin-callback:execute-command' | 'ze-plugin-callback:deliver-event' | 'ze-plugin-callback:deliver-batch'
>;

const PREFIX = 'ze-plugin-callback:';

export class Callbacks {
  readonly handlers: Handlers = {};
  /** Resolves the moment a goodbye was answered. */
  readonly goodbye: Promise<void>;
  #sayGoodbye: () => void = () => undefined;
  #events: Promise<void> = Promise.resolve();
  /** An apply was accepted since the last commit or rollback. */
  #applied = false;
  /** The apply that runs, if one does. */
  #applying: Promise<unknown> = Promise.resolve();

  constructor() {
    this.goodbye = new Promise((resolve) => {
      this.#sayGoodbye = resolve;
    });
  }

  /** Events wait until `work` is done. */
  holdEvents(work: Promise<void>): void {
    this.#events = work.catch(() => undefined);
  }

  /** Event texts in order; the rest of a batch is dropped after a throw, which rejects. */
  events(texts: readonly string[]): Promise<void> {
    const handler = this.handlers.event;
    if (handler === undefined) return Promise.resolve();
    const done = this.#events.then(() => each(texts, 0, handler));
    this.#events = done.catch(() => undefined);
    return done;
  }

  async execute(input: ExecuteCommandInput, signal: AbortSignal): Promise<AnswerSource> {
    const handler = this.handlers.executeCommand;
    if (handler === undefined) throw unknownMethod(`${PREFIX}execute-command`);
    const stop = new AbortController();
    const relay = (): void => stop.abort(signal.reason);
    signal.addEventListener('abort', relay, { once: true });
    try {
      return stoppable(answerOf(await handler(input, stop.signal)), stop);
    } finally {
      // From here on whoever reads the answer cancels it.
      signal.removeEventListener('abort', relay);
    }
  }

  call<M extends RuntimeCallback>(method: M, input: Methods[M]['input'], signal: AbortSignal): Promise<Methods[M]['output']> {
    const serve = SERVED[method] as Served<M> | undefined;
    if (serve === undefined) return Promise.reject(unknownMethod(method));
    return serve(this, input, signal);
  }

  /** Config verify, apply and their kin: what goes wrong is a result, not an `error` line. */
  async config<I>(
    handler: ((input: I, signal: AbortSignal) => Awaitable<ConfigResult | undefined>) | undefined,
    input: I,
    signal: AbortSignal,
  ): Promise<ConfigResult> {
    try {
      return (await handler?.(input, signal)) ?? { status: 'ok' };
    } catch (error) {
      return { status: 'error', error: messageOf(error) };
    }
  }

  async apply(input: ConfigApplyInput, signal: AbortSignal): Promise<ConfigResult> {
    const applying = this.config(this.handlers.configApply, input, signal);
    this.#applying = applying;
    const result = await applying;
    if (result.status === 'ok') this.#applied = true;
    return result;
  }

  /** Behind an apply that still runs: the engine gave it up, and what it is about to accept must be undone. */
  async rollback(input: ConfigRollbackInput, signal: AbortSignal): Promise<undefined> {
    await this.#applying;
    if (!this.#applied) return undefined;
    this.#applied = false;
    await this.handlers.configRollback?.(input, signal);
    return undefined;
  }

  async committed(input: ConfigCommittedInput, signal: AbortSignal): Promise<undefined> {
    this.#applied = false;
    await this.handlers.configCommitted?.(input, signal);
    return undefined;
  }

  async bye(input: ByeInput): Promise<undefined> {
    await this.handlers.bye?.(input.reason ?? '');
    this.#sayGoodbye();
    return undefined;
  }
}

/** Hands over text by text from `from` on; waits for nothing where the handler does not. */
function each(texts: readonly string[], from: number, handler: (event: string) => Awaitable<void>): Promise<void> | undefined {
  for (let i = from; i < texts.length; i++) {
    const done = handler(texts[i]!) as Awaitable<void> | null;
    if (typeof done === 'object' && done !== null && typeof done.then === 'function') return behind(done, texts, i + 1, handler);
  }
  return undefined;
}

async function behind(
  done: Promise<void>,
  texts: readonly string[],
  from: number,
  handler: (event: string) => Awaitable<void>,
): Promise<void> {
  await done;
  for (let i = from; i < texts.length; i++) await handler(texts[i]!);
}

/** The source, with the handler's signal aborted when it is cancelled. */
function stoppable(source: AnswerSource, stop: AbortController): AnswerSource {
  return {
    head: source.head,
    immediate: source.immediate,
    checked: source.checked,
    next: () => source.next(),
    cancel: () => {
      stop.abort(new RpcError('aborted', 'the reader is gone'));
      source.cancel();
    },
  };
}

type Served<M extends RuntimeCallback> = (
  callbacks: Callbacks,
  input: Methods[M]['input'],
  signal: AbortSignal,
) => Promise<Methods[M]['output']>;

/** Throws `unknown-method` for what the author did not register and the protocol has no default for. */
function need<H>(handler: H | undefined, name: string): H {
  if (handler === undefined) throw unknownMethod(PREFIX + name);
  return handler;
}

function unknownMethod(method: string): RpcError {
  return new RpcError('unknown-method', `unknown method: ${method}`);
}

/** How each callback reaches its handler, and what it answers without one. */
const SERVED: { readonly [M in RuntimeCallback]: Served<M> } = {
  'ze-plugin-callback:configure': async (c, input) => {
    await c.handlers.configure?.(input);
    return undefined;
  },
  'ze-plugin-callback:share-registry': async (c, input) => {
    await c.handlers.shareRegistry?.(input);
    return undefined;
  },
  'ze-plugin-callback:encode-nlri': async (c, input, signal) => ({
    hex: await need(c.handlers.encodeNlri, 'encode-nlri')(input, signal),
  }),
  'ze-plugin-callback:decode-nlri': async (c, input, signal) => ({
    json: await need(c.handlers.decodeNlri, 'decode-nlri')(input, signal),
  }),
  'ze-plugin-callback:decode-capability': async (c, input, signal) => ({
    json: await need(c.handlers.decodeCapability, 'decode-capability')(input, signal),
  }),
  'ze-plugin-callback:config-verify': (c, input, signal) => c.config(c.handlers.configVerify, input, signal),
  'ze-plugin-callback:config-apply': (c, input, signal) => c.apply(input, signal),
  'ze-plugin-callback:config-rollback': (c, input, signal) => c.rollback(input, signal),
  'ze-plugin-callback:config-committed': (c, input, signal) => c.committed(input, signal),
  'ze-plugin-callback:config-operation-decompose': async (c, input, signal) => {
    const handler = need(c.handlers.configOperationDecompose, 'config-operation-decompose');
    try {
      return await handler(input, signal);
    } catch (error) {
      return { status: 'error', error: messageOf(error) };
    }
  },
  'ze-plugin-callback:config-operation-verify': async (c, input, signal) =>
    c.config(need(c.handlers.configOperationVerify, 'config-operation-verify'), input, signal),
  'ze-plugin-callback:config-operation-apply': async (c, input, signal) =>
    c.config(need(c.handlers.configOperationApply, 'config-operation-apply'), input, signal),
  'ze-plugin-callback:config-operation-rollback': async (c, input, signal) =>
    c.config(need(c.handlers.configOperationRollback, 'config-operation-rollback'), input, signal),
  'ze-plugin-callback:config-operation-commit': async (c, input, signal) =>
    c.config(need(c.handlers.configOperationCommit, 'config-operation-commit'), input, signal),
  'ze-plugin-callback:validate-open': async (c, input, signal) =>
    c.handlers.validateOpen === undefined ? { accept: true } : await c.handlers.validateOpen(input, signal),
  'ze-plugin-callback:filter-update': async (c, input, signal) => need(c.handlers.filterUpdate, 'filter-update')(input, signal),
  'ze-plugin-callback:doctor-check': async (c, input, signal) => ({
    diagnostics: (await c.handlers.doctorCheck?.(input, signal)) ?? [],
  }),
  'ze-plugin-callback:enrich-show': async (c, input, signal) => {
    const data = await c.handlers.enrichShow?.(input, signal);
    return data === undefined ? {} : { data };
  },
  'ze-plugin-callback:post-startup': async (c) => {
    await c.handlers.allPluginsReady?.();
    return undefined;
  },
  'ze-plugin-callback:bye': (c, input) => c.bye(input),
};

/** Every callback `Callbacks.call` serves. */
export const RUNTIME_CALLBACKS = Object.keys(SERVED) as readonly RuntimeCallback[];
