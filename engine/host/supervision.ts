/**
 * What happens when a plugin fails (plugin-lifecycle §6): its declared failure policy and the operator's `respawn` decide, within
 * bounds. Restarts wait longer each time, so that a plugin that dies at once does not keep the daemon busy.
 */
import type { Report } from '../bgp/port.ts';
import type { Clock, Timer } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { PluginFault } from './fault.ts';
import type { PluginLife } from './life.ts';
import type { FailurePolicy } from './registry/registration.ts';

/** How often a plugin is started again, and how long it waits before: longer with each restart of the window. */
export interface RestartBounds {
  readonly windowMs: number;
  readonly inWindow: number;
  readonly inLife: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

/** The protocol's bounds; the delays are ours. */
export const RESTART_BOUNDS: RestartBounds = {
  windowMs: 60_000,
  inWindow: 5,
  inLife: 20,
  firstDelayMs: 100,
  maxDelayMs: 10_000,
};

/** Counts the restarts of one plugin. */
export class RestartBudget {
  readonly #bounds: RestartBounds;
  #recent: number[] = [];
  #total = 0;

  constructor(bounds: RestartBounds = RESTART_BOUNDS) {
    this.#bounds = bounds;
  }

  /** Takes one restart: how long to wait before it, or why there is none left. */
  take(now: number): { readonly delayMs: number } | { readonly exhausted: string } {
    const { windowMs, inWindow, inLife, firstDelayMs, maxDelayMs } = this.#bounds;
    this.#recent = this.#recent.filter((at) => now - at < windowMs);
    if (this.#total >= inLife) return { exhausted: `${inLife} restarts in the daemon's life` };
    if (this.#recent.length >= inWindow) return { exhausted: `${inWindow} restarts in ${windowMs / 1000} s` };
    const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** this.#recent.length);
    this.#recent.push(now);
    this.#total++;
    return { delayMs };
  }
}

export type Verdict = 'restart' | 'down' | 'fatal';

/** The declared policy (`undefined` = it failed before it declared one) and the operator's leaf. */
export function verdictFor(policy: FailurePolicy | undefined, respawn: boolean | undefined): Verdict {
  switch (policy ?? 'ignore') {
    case 'restart':
      return respawn === false ? 'down' : 'restart';
    case 'fatal':
      return 'fatal';
    case 'ignore':
      return 'down';
  }
}

export interface SupervisorOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly report: (report: Report) => void;
  readonly bounds: RestartBounds;
  /** Starts the plugin again, by itself. Throws PluginFault. */
  readonly restart: (life: PluginLife) => Promise<void>;
  /** A plugin of policy `fatal` has failed. */
  readonly fatal: (plugin: string, reason: string) => void;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #budgets = new Map<PluginLife, RestartBudget>();
  readonly #waiting = new Map<PluginLife, Timer>();
  #stopping = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Restarts that wait for their time: what a leak test counts. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** A plugin's start or life has ended by a fault; everything of it is taken back. */
  failed(life: PluginLife, fault: PluginFault): void {
    if (this.#stopping || fault.code === 'plugin-stopped') {
      life.become('stopped');
      return;
    }
    this.#report(life, fault);
    switch (verdictFor(life.policy, life.spec.settings.respawn)) {
      case 'restart':
        this.#restart(life, fault);
        return;
      case 'down':
        this.#down(life, 'failed', fault.message);
        return;
      case 'fatal':
        this.#down(life, 'failed', fault.message);
        this.#options.fatal(life.name, fault.message);
    }
  }

  /** The engine no longer trusts its state: it is ended and started anew, whatever its policy says of failures. */
  async revive(life: PluginLife, fault: PluginFault): Promise<void> {
    if (this.#isStopping() || this.#waiting.has(life) || life.state === 'restarting' || life.state === 'starting') return;
    this.#report(life, fault);
    life.lastError = fault.message;
    await life.stop('restart');
    if (this.#isStopping()) return;
    if (life.spec.settings.respawn === false) this.#down(life, 'failed', fault.message);
    else this.#restart(life, fault);
  }

  /** The plugin runs: it is no longer down. */
  up(life: PluginLife): void {
    this.#options.report({
      severity: 'warning',
      code: 'plugin-down',
      source: 'host',
      subject: life.name,
      message: '',
      clear: true,
    });
  }

  /** The plugin leaves the configuration: nothing of it is remembered. */
  forget(life: PluginLife): void {
    this.#waiting.get(life)?.cancel();
    this.#waiting.delete(life);
    this.#budgets.delete(life);
    this.up(life);
  }

  /** No restarts any more. */
  stop(): void {
    this.#stopping = true;
    for (const timer of this.#waiting.values()) timer.cancel();
    this.#waiting.clear();
  }

  #isStopping(): boolean {
    return this.#stopping;
  }

  #report(life: PluginLife, fault: PluginFault): void {
    const { name, policy } = life;
    this.#options.log.warn({ plugin: name, code: fault.code, reason: fault.message, policy }, 'plugin failed');
    this.#options.report({
      severity: 'error',
      code: fault.code,
      source: 'host',
      subject: name,
      message: fault.message,
      detail: { stage: fault.stage, policy: policy ?? 'unknown' },
    });
  }

  #restart(life: PluginLife, fault: PluginFault): void {
    let budget = this.#budgets.get(life);
    if (budget === undefined) this.#budgets.set(life, (budget = new RestartBudget(this.#options.bounds)));
    const taken = budget.take(this.#options.clock.now());
    if ('exhausted' in taken) {
      this.#down(life, 'disabled', `disabled after ${taken.exhausted}, last: ${fault.message}`);
      return;
    }
    life.restarts++;
    life.become('restarting');
    const timer = this.#options.clock.after(taken.delayMs, () => {
      this.#waiting.delete(life);
      void this.#again(life);
    });
    this.#waiting.set(life, timer);
  }

  async #again(life: PluginLife): Promise<void> {
    try {
      await this.#options.restart(life);
      this.up(life);
    } catch (error) {
      this.failed(life, error as PluginFault);
    }
  }

  #down(life: PluginLife, state: 'failed' | 'disabled', message: string): void {
    life.become(state);
    this.#options.report({ severity: 'warning', code: 'plugin-down', source: 'host', subject: life.name, message });
  }
}
