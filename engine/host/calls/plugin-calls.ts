// What the engine asks of running plugins on behalf of others: commands, families and capabilities that they read and write.
import type { AnswerReader } from '../../../sdk/rpc/answer.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import type { DecodeNlriInput, EncodeNlriInput, ExecuteCommandInput } from '../../../yang/generated/methods.ts';
import type { NlriCaller } from '../../codec/registry.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { PluginLife } from '../life.ts';
import { type PluginLink, refusedAnswer, withDeadline } from '../link.ts';
import { quote } from '../quote.ts';
import type { Registry } from '../registry/registration.ts';
import type { ReportSink } from '../services.ts';

export interface CallParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly report: ReportSink;
  readonly registry: Registry;
  readonly life: (plugin: string) => PluginLife | undefined;
  /** Until the head of a command's answer; else 30 s. */
  readonly commandTimeoutMs: number | undefined;
}

/** Until the head of a command's answer (plugin-wire §8). */
const HEAD_MS = 30_000;
/** Of encode-nlri, decode-nlri and decode-capability. */
const CODEC_MS = 5000;
const NOT_RUNNING = 'plugin process not running';
/** One report of unanswered commands of a plugin in this time. */
const COMPLAINT_MS = 10_000;

export class PluginCalls implements NlriCaller {
  readonly #parts: CallParts;
  /** When it was last said that a plugin does not answer. */
  readonly #complained = new WeakMap<PluginLife, number>();

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  /** Runs a plugin's command. The reader rejects when the plugin is not running, or says nothing for 30 s. */
  execute(plugin: string, input: ExecuteCommandInput, signal: AbortSignal): AnswerReader {
    const link = this.#parts.life(plugin)?.link;
    if (link === undefined) return refusedAnswer(new RpcError('error', NOT_RUNNING));
    const late = new AbortController();
    const timer = this.#parts.clock.after(this.#parts.commandTimeoutMs ?? HEAD_MS, () => {
      late.abort(new DOMException('deadline exceeded', 'TimeoutError'));
      void this.#unanswered(plugin, input.command);
    });
    const reader = link.execute(input, AbortSignal.any([signal, late.signal]));
    const done = (): void => timer.cancel();
    reader.head.then(done, done);
    return reader;
  }

  /** A thread that hangs is ended; of any other plugin it is said, once in ten seconds. */
  async #unanswered(plugin: string, command: string): Promise<void> {
    const life = this.#parts.life(plugin);
    if (life === undefined || !(await life.suspect('a command was not answered in time'))) return;
    const { clock, log, report, commandTimeoutMs = HEAD_MS } = this.#parts;
    const message = `no answer to ${quote(command)} within ${commandTimeoutMs / 1000} s`;
    life.lastError = message;
    const now = clock.now();
    if (now - (this.#complained.get(life) ?? -Infinity) < COMPLAINT_MS) return;
    this.#complained.set(life, now);
    log.warn({ plugin, command }, 'a plugin does not answer a command');
    report({ severity: 'error', code: 'plugin-unanswered', source: 'host', subject: plugin, message });
  }

  /** Asks the family's owner; 5 s. */
  async decodeNlri(plugin: string, input: DecodeNlriInput): Promise<unknown> {
    const output = await this.#ask(plugin, (link, signal) => link.call('ze-plugin-callback:decode-nlri', input, signal));
    return output.json;
  }

  /** Hex of one entry, from its words; 5 s. */
  async encodeNlri(plugin: string, input: EncodeNlriInput): Promise<string> {
    const output = await this.#ask(plugin, (link, signal) => link.call('ze-plugin-callback:encode-nlri', input, signal));
    return output.hex;
  }

  /** Asks the plugin that declared the capability what a value says; undefined when nobody did. Rejects when it fails; 5 s. */
  async decodeCapability(code: number, hex: string): Promise<unknown> {
    const owner = this.#parts.registry.capabilityOwner(code);
    if (owner === '') return undefined;
    const output = await this.#ask(owner, (link, signal) =>
      link.call('ze-plugin-callback:decode-capability', { code, hex }, signal),
    );
    return output.json;
  }

  async #ask<T>(plugin: string, work: (link: PluginLink, signal: AbortSignal) => Promise<T>): Promise<T> {
    const link = this.#parts.life(plugin)?.link;
    if (link === undefined) throw new RpcError('error', NOT_RUNNING);
    return await withDeadline(this.#parts.clock, CODEC_MS, undefined, (signal) => work(link, signal));
  }
}
