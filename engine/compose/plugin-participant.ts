// A running plugin as a transaction asks it.
import { messageOf, RpcError } from '../../sdk/rpc/errors.ts';
import type { Methods } from '../../yang/generated/methods.ts';
import type { Answer, ConfigMethod, Participant } from '../config/transaction/participant.ts';
import type { Clock } from '../core/clock.ts';
import type { PluginHost, RunningPlugin } from '../host/host.ts';
import { withDeadline } from '../host/link.ts';

export class PluginParticipant implements Participant {
  readonly name: string;
  readonly tier: number;
  readonly wants: readonly string[];
  readonly operations: Participant['operations'];
  readonly verifySeconds: number;
  readonly applySeconds: number;
  readonly #plugin: RunningPlugin;
  readonly #host: PluginHost;
  readonly #clock: Clock;

  constructor(plugin: RunningPlugin, host: PluginHost, clock: Clock) {
    const { name, tier, declaration } = plugin;
    const { verifySeconds, applySeconds } = host.registry.budgets(name);
    this.name = name;
    this.tier = tier;
    this.wants = declaration['wants-config'] ?? [];
    this.operations = declaration['config-operations'] ?? [];
    this.verifySeconds = verifySeconds;
    this.applySeconds = applySeconds;
    this.#plugin = plugin;
    this.#host = host;
    this.#clock = clock;
  }

  async call<M extends ConfigMethod>(
    method: M,
    input: Methods[M]['input'],
    ms: number,
    signal: AbortSignal,
  ): Promise<Answer<Methods[M]['output']>> {
    let until: AbortSignal | undefined;
    try {
      const value = await withDeadline(this.#clock, ms, signal, (deadline) => {
        until = deadline;
        return this.#plugin.link.call(method, input, deadline);
      });
      return { ok: true, value };
    } catch (error) {
      if (until?.aborted === true && !signal.aborted) return { ok: false, code: 'timeout', message: 'no answer in time' };
      const code = signal.aborted || isTransient(error) ? 'transient' : 'error';
      return { ok: false, code, message: messageOf(error) };
    }
  }

  alive(): boolean {
    return this.#host.link(this.name) === this.#plugin.link;
  }

  /** Another session runs under its name, or is about to: it was given the configuration in force when it started. */
  replaced(): boolean {
    const link = this.#host.link(this.name);
    return link !== undefined && link !== this.#plugin.link;
  }
}

/** The link is gone, or the plugin has no room for one more request: another time it may do. */
function isTransient(error: unknown): boolean {
  return error instanceof RpcError && (error.code === 'closed' || error.message.startsWith('busy'));
}
