// One probe at work: check, think, tell the pool, wait.
import { execFile } from 'node:child_process';
import { messageOf } from '../../sdk/rpc/errors.ts';
import type { PluginLog } from '../../sdk/plugin/log.ts';
import { runCheck } from './check.ts';
import { BEGIN, isSettled, next, type Standing } from './probe-state.ts';
import type { ProbeSettings } from './settings.ts';

export interface ProbeHost {
  readonly log: PluginLog;
  /** Runs a command of the daemon; rejects with why it did not. */
  dispatch(command: string): Promise<void>;
}

const HOOK_MS = 30_000;
const SETUP_MS = 5000;

export class Probe {
  readonly settings: ProbeSettings;
  readonly #host: ProbeHost;
  readonly #stop = new AbortController();
  #standing: Standing = BEGIN;
  /** The settled state that hooks were run for, and the one that the pool has; '' = none. */
  #entered = '';
  #moved = '';
  #said = '';
  #complaint = '';
  #reason = '';
  #checkedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Changes when a reset makes the check under way worthless. */
  #round = 0;

  constructor(settings: ProbeSettings, host: ProbeHost) {
    this.settings = settings;
    this.#host = host;
  }

  start(): void {
    if (!this.settings.dynamic) void this.#addresses('add');
    this.#begin();
  }

  /** As though it had just been started; what its pool was told stays until the state is settled again. */
  reset(): void {
    this.#entered = '';
    this.#moved = '';
    this.#begin();
  }

  /** The check under way is killed, nothing more is said. `withdraw`: nobody watches the pool any more. */
  async stop(withdraw: boolean): Promise<void> {
    this.#round++;
    clearTimeout(this.#timer);
    this.#stop.abort();
    if (!withdraw) return;
    await this.#addresses('del');
    await this.#tell(`watchdog withdraw ${quoted(this.settings.group)}`);
  }

  row(): object {
    const { name, group } = this.settings;
    return {
      probe: name,
      group,
      state: this.#standing.state,
      count: this.#standing.count,
      'last-result': this.#checkedAt === 0 ? '' : this.#reason === '' ? 'healthy' : this.#reason,
      'last-check': this.#checkedAt === 0 ? '' : new Date(this.#checkedAt).toISOString(),
      said: this.#said,
      error: this.#complaint,
    };
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#round++;
    this.#standing = this.settings.disable ? { state: 'disabled', count: 0 } : BEGIN;
    if (this.settings.disable) void this.#disabled(this.#round);
    else void this.#check(this.#round);
  }

  /** Nothing is checked; the pool is told, again and again as after a check. */
  async #disabled(round: number): Promise<void> {
    await this.#settled();
    if (round === this.#round) this.#timer = setTimeout(() => void this.#disabled(round), this.settings.intervalMs).unref();
  }

  async #check(round: number): Promise<void> {
    const { command, timeoutMs, rise, fall, intervalMs, fastIntervalMs, name } = this.settings;
    const { healthy, reason } = await runCheck(command, timeoutMs, this.#stop.signal, { PROBE: name });
    if (round !== this.#round) return;
    this.#reason = reason;
    this.#checkedAt = Date.now();
    this.#standing = next(this.#standing, healthy, rise, fall);
    if (isSettled(this.#standing)) await this.#settled();
    if (round !== this.#round) return;
    this.#timer = setTimeout(() => void this.#check(round), isSettled(this.#standing) ? intervalMs : fastIntervalMs);
    this.#timer.unref();
  }

  async #settled(): Promise<void> {
    const { state } = this.#standing;
    if (state !== 'up' && state !== 'down' && state !== 'disabled') return;
    const { debounce, dynamic, name, on } = this.settings;
    const changed = state !== this.#entered;
    this.#entered = state;
    if (changed) this.#host.log.info({ probe: name, state, reason: this.#reason }, 'the state of a probe changed');
    // Its address is there before the world is told, and goes after that.
    if (changed && dynamic && state === 'up') await this.#addresses('add');
    // A pool that could not be moved is tried again after the next check.
    if (!debounce || state !== this.#moved) await this.#move(state);
    if (changed && dynamic && state !== 'up') await this.#addresses('del');
    if (!changed) return;
    for (const command of [...on[state], ...on.change]) {
      void runCheck(command, HOOK_MS, this.#stop.signal, { PROBE: name, STATE: state.toUpperCase() }).then((result) => {
        if (!result.healthy) this.#host.log.warn({ probe: name, command, reason: result.reason }, 'a command of a probe failed');
      });
    }
  }

  /** bgp-watchdog sends what differs and nothing else: saying the same again costs no UPDATE. */
  async #move(state: 'up' | 'down' | 'disabled'): Promise<void> {
    const { group, withdrawOnDown, upMetric, downMetric, disabledMetric } = this.settings;
    const metric = { up: upMetric, down: downMetric, disabled: disabledMetric }[state];
    const moved =
      state !== 'up' && withdrawOnDown
        ? await this.#tell(`watchdog withdraw ${quoted(group)}`)
        : await this.#tell(`watchdog announce ${quoted(group)} med ${metric}`);
    if (moved) this.#moved = state;
  }

  /** The same complaint is made once. */
  async #tell(command: string): Promise<boolean> {
    try {
      await this.#host.dispatch(command);
      this.#said = command.replace(/^watchdog /, '');
      this.#complaint = '';
      return true;
    } catch (error) {
      const message = messageOf(error);
      if (message !== this.#complaint && !this.#stop.signal.aborted)
        this.#host.log.error({ probe: this.settings.name, error: message }, 'a pool could not be moved');
      this.#complaint = message;
      return false;
    }
  }

  async #addresses(verb: 'add' | 'del'): Promise<void> {
    for (const address of this.settings.addresses) {
      const failure = await new Promise<string>((resolve) => {
        const args = ['address', verb, address, 'dev', this.settings.interface];
        execFile('ip', args, { timeout: SETUP_MS }, (error, _stdout, stderr) => {
          resolve(error === null ? '' : stderr.trim() || error.message);
        });
      });
      // It is there already, or gone already.
      if (failure !== '' && !/File exists|Cannot assign|already assigned/.test(failure))
        this.#host.log.error({ probe: this.settings.name, address, error: failure }, `ip address ${verb} failed`);
    }
  }
}

function quoted(text: string): string {
  return /^[\w.:-]+$/.test(text) ? text : `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
