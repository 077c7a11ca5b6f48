/**
 * The five stages with one plugin (plugin-lifecycle §3.1, plugin-rpc-types §2–3): requests of the plugin in stages 1, 3 and 5,
 * ours in 2 and 4, a barrier after each. The `ok` of stages 1 and 3 is sent before the barrier, that of stage 5 behind it.
 */
import { decodePayload } from '../../../sdk/rpc/decode.ts';
import { messageOf, RpcError } from '../../../sdk/rpc/errors.ts';
import type { InboundRequest } from '../../../sdk/rpc/inbound.ts';
import type { Mux } from '../../../sdk/rpc/mux.ts';
import type {
  CapabilityDecl,
  ConfigureInput,
  DeclareRegistrationInput,
  Methods,
  ReadyInput,
  ShareRegistryInput,
} from '../../../yang/generated/methods.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { PluginFault, stageName, STAGES } from '../fault.ts';
import { clamp } from '../quote.ts';
import type { Refusal } from '../registry/registration.ts';
import type { StageMethod } from '../services.ts';
import { type Tier, whileProgressing } from './tier.ts';

/** What the engine does in each stage. Refusals are texts: they are the error line's message. */
export interface StageWork {
  register(declaration: DeclareRegistrationInput): Refusal | undefined;
  configure(): ConfigureInput;
  declareCapabilities(capabilities: readonly CapabilityDecl[]): string | undefined;
  shareRegistry(): ShareRegistryInput;
  /** Commands enter the tree, before the last barrier. */
  ready(input: ReadyInput): void;
  /** All are ready: events may flow from the line after the `ok` on. */
  running(input: ReadyInput): void;
  /** For `plugin list` and traces. */
  entered(stage: number): void;
}

export interface StageOptions {
  readonly name: string;
  /** Stall time of each stage. */
  readonly timeoutMs: number;
  readonly tier: Tier;
  readonly clock: Clock;
  readonly log: Log;
}

/** Runs the stages from the plugin's first request on. Throws PluginFault; the plugin has been told what it can be told. */
export async function runStages(mux: Mux, first: InboundRequest, work: StageWork, options: StageOptions): Promise<void> {
  await new StageRun(mux, work, options).run(first);
}

/** What stage 1 says, before its turn comes: nothing when it is unreadable (stage 1 will say so). */
export function peekDeclaration(first: InboundRequest): DeclareRegistrationInput {
  if (first.method !== 'ze-plugin-engine:declare-registration') return {};
  try {
    return decodePayload('ze-plugin-engine:declare-registration', first.payload);
  } catch {
    return {};
  }
}

/** Waits for the plugin's first line. */
export function firstRequest(mux: Mux, options: StageOptions): Promise<InboundRequest> {
  return waitInStage(1, options, (signal) => untilClosed(mux, 1, mux.next(signal)));
}

class StageRun {
  readonly #mux: Mux;
  readonly #work: StageWork;
  readonly #options: StageOptions;

  constructor(mux: Mux, work: StageWork, options: StageOptions) {
    this.#mux = mux;
    this.#work = work;
    this.#options = options;
  }

  async run(first: InboundRequest): Promise<void> {
    this.#work.entered(1);
    this.#register(first);
    await this.#barrier(1);

    this.#work.entered(2);
    await this.#configure();
    await this.#barrier(2);

    this.#work.entered(3);
    this.#capabilities(await this.#next(3));
    await this.#barrier(3);

    this.#work.entered(4);
    await this.#shareRegistry();
    await this.#barrier(4);

    this.#work.entered(5);
    const ready = await this.#next(5);
    const input = this.#ready(ready);
    await this.#barrier(5);
    // In one turn: the `ok` is written before the first event of the subscription that came with `ready`.
    this.#work.running(input);
    ready.reply();
  }

  #register(request: InboundRequest): void {
    this.#expect(request, 1, 'ze-plugin-engine:declare-registration');
    const declaration = this.#decode(request, 1, 'ze-plugin-engine:declare-registration', 'invalid registration');
    const refusal = this.#work.register(declaration);
    if (refusal !== undefined) {
      request.fail(new RpcError('error', refusal.message));
      throw new PluginFault(refusal.code, refusal.message, 1);
    }
    request.reply();
  }

  async #configure(): Promise<void> {
    try {
      await this.#call(2, 'ze-plugin-callback:configure', this.#work.configure());
    } catch (error) {
      if (error instanceof PluginFault) throw error;
      throw new PluginFault('plugin-config', `configuration refused: ${messageOf(error)}`, 2, { cause: error });
    }
  }

  #capabilities(request: InboundRequest): void {
    this.#expect(request, 3, 'ze-plugin-engine:declare-capabilities');
    const input = this.#decode(request, 3, 'ze-plugin-engine:declare-capabilities', 'invalid capabilities');
    const refused = this.#work.declareCapabilities(input.capabilities);
    if (refused !== undefined) {
      request.fail(new RpcError('error', refused));
      throw new PluginFault('plugin-registration', refused, 3);
    }
    request.reply();
  }

  async #shareRegistry(): Promise<void> {
    try {
      await this.#call(4, 'ze-plugin-callback:share-registry', this.#work.shareRegistry());
    } catch (error) {
      if (error instanceof PluginFault) throw error;
      this.#options.log.warn({ plugin: this.#options.name, error: messageOf(error) }, 'command registry refused by plugin');
    }
  }

  #ready(request: InboundRequest): ReadyInput {
    this.#expect(request, 5, 'ze-plugin-engine:ready');
    let input: ReadyInput = {};
    try {
      input = decodePayload('ze-plugin-engine:ready', request.payload);
    } catch (error) {
      this.#options.log.warn({ plugin: this.#options.name, error: messageOf(error) }, 'unreadable ready params ignored');
    }
    this.#work.ready(input);
    return input;
  }

  #expect(request: InboundRequest, stage: number, method: StageMethod): void {
    if (request.method === method) return;
    const message = `expected ${STAGES[stage] ?? ''}, got ${clamp(request.method)}`;
    request.fail(new RpcError('error', message));
    throw new PluginFault('plugin-protocol', message, stage);
  }

  #decode<M extends StageMethod>(request: InboundRequest, stage: number, method: M, prefix: string): Methods[M]['input'] {
    try {
      return decodePayload(method, request.payload);
    } catch (error) {
      const message = `${prefix}: ${messageOf(error).replace(/^invalid [a-z-]+ params: /, '')}`;
      request.fail(new RpcError('error', message));
      throw new PluginFault('plugin-registration', message, stage, { cause: error });
    }
  }

  #next(stage: number): Promise<InboundRequest> {
    return waitInStage(stage, this.#options, (signal) => untilClosed(this.#mux, stage, this.#mux.next(signal)));
  }

  #call<M extends 'ze-plugin-callback:configure' | 'ze-plugin-callback:share-registry'>(
    stage: number,
    method: M,
    input: Methods[M]['input'],
  ): Promise<Methods[M]['output']> {
    return waitInStage(stage, this.#options, (signal) => untilClosed(this.#mux, stage, this.#mux.call(method, input, signal)));
  }

  async #barrier(stage: number): Promise<void> {
    await untilClosed(this.#mux, stage, this.#options.tier.arrive(this.#options.name, stage));
  }
}

function waitInStage<T>(stage: number, options: StageOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = (): PluginFault =>
    new PluginFault('plugin-stage-timeout', `${stageName(stage)}: no progress for ${options.timeoutMs} ms`, stage);
  return whileProgressing(options.tier, options.clock, options.timeoutMs, late, work);
}

/** Settles as `work` does, or with the fault that the link's end is. */
export function untilClosed<T>(mux: Mux, stage: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    void mux.closed.then((error) => reject(linkFault(error, stage)));
    work.then(resolve, (error: unknown) => {
      // The link's end settles `closed` with the better reason.
      if (error instanceof RpcError && error.code === 'closed') return;
      reject(error instanceof Error ? error : new Error(messageOf(error)));
    });
  });
}

/** A link that ended: the plugin's fault when it broke the framing, else a crash. */
export function linkFault(error: RpcError | undefined, stage: number): PluginFault {
  const where = stage > 5 ? '' : `${stageName(stage)}: `;
  if (error === undefined) return new PluginFault('plugin-crash', `${where}connection closed by the plugin`, stage);
  const broken = /unreadable/.test(error.message);
  return new PluginFault(broken ? 'plugin-protocol' : 'plugin-crash', `${where}${error.message}`, stage, { cause: error });
}
