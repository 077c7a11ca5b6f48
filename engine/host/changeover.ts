/**
 * From one set of plugins to the next, in steps that a transaction can take back: what is new and in nobody's way starts first; what is
 * gone or changed makes room in one step; what nobody needs any more stops when the change is settled.
 *
 * Plugins that start on the way are fresh: they are shown the candidate, and they go when it is given up.
 */
import type { HubServer, PluginSettings } from '../config/settings/plugin-settings.ts';
import type { StartOutcome, StartRefusal } from './host.ts';
import type { PluginLife } from './life.ts';
import { type BuiltinPlugin, type StartupNeeds, wantedBuiltins } from './startup/plan.ts';

/** The host, as far as a change of its plugins moves it. */
export interface PluginSet {
  readonly builtins: readonly BuiltinPlugin[];
  /** Started last comes first. */
  inStopOrder(): readonly PluginLife[];
  serve(hub: readonly HubServer[]): Promise<void>;
  /** Runs the phases for what does not live yet. With `only`, configured plugins stay out. */
  launch(plugins: readonly PluginSettings[], needs: StartupNeeds, only: 'all' | 'builtins'): Promise<StartRefusal | undefined>;
  remove(life: PluginLife): Promise<void>;
  /** Names that a running plugin has declared to depend on. */
  dependenciesOf(life: PluginLife): readonly string[];
}

export class Changeover {
  readonly #set: PluginSet;
  readonly #fresh = new Set<PluginLife>();
  /** Lives made now are fresh. */
  #marking = false;

  constructor(set: PluginSet) {
    this.#set = set;
  }

  /** A life was made. */
  made(life: PluginLife): void {
    if (this.#marking) this.#fresh.add(life);
  }

  /** Started by a change that is not settled yet. */
  isFresh(name: string): boolean {
    for (const life of this.#fresh) if (life.name === name) return true;
    return false;
  }

  /** A fresh plugin whose failure refuses the change, and not the daemon. */
  isStarting(name: string): boolean {
    return this.#marking && this.isFresh(name);
  }

  /**
   * Starts what the candidate adds: everything when nothing configured goes or changes, else built-ins alone, since new plugins may need
   * names that the old ones hold. A built-in that does not come up refuses the change.
   */
  async extend(plugins: readonly PluginSettings[], needs: StartupNeeds): Promise<StartOutcome> {
    const only = this.#leaving(plugins).length === 0 ? 'all' : 'builtins';
    const refused = await this.#marked(true, () => this.#set.launch(plugins, needs, only));
    if (refused !== undefined) return refused;
    const down = [...this.#fresh].find((life) => !life.spec.explicit && life.state !== 'running');
    return down === undefined ? { ok: true } : { ok: false, kind: 'config', plugin: down.name, reason: down.lastError };
  }

  /**
   * Configured plugins that are gone or changed stop, what does not live yet starts. After a refusal what was started here is stopped,
   * and what has gone is gone: the caller applies the old set. `fresh` = on the way to a candidate, not back.
   */
  async replace(
    plugins: readonly PluginSettings[],
    hub: readonly HubServer[],
    needs: StartupNeeds,
    fresh: boolean,
  ): Promise<StartOutcome> {
    await this.#set.serve(hub);
    for (const life of this.#leaving(plugins)) await this.#remove(life);
    const before = new Set(this.#set.inStopOrder());
    const refused = await this.#marked(fresh, () => this.#set.launch(plugins, needs, 'all'));
    if (refused === undefined) return { ok: true };
    for (const life of this.#set.inStopOrder()) if (!before.has(life)) await this.#remove(life);
    return refused;
  }

  /** The candidate is in force: built-ins that started by themselves and that nothing asks for any more stop. Returns their names. */
  async settle(plugins: readonly PluginSettings[], needs: StartupNeeds): Promise<readonly string[]> {
    this.#fresh.clear();
    const { builtins } = this.#set;
    const lives = this.#set.inStopOrder();
    const named = lives.filter((life) => life.spec.explicit).flatMap((life) => this.#set.dependenciesOf(life));
    const wanted = wantedBuiltins(builtins, plugins, needs, named);
    const gone = lives.filter((life) => !life.spec.explicit && !wanted.has(life.name));
    for (const life of gone) await this.#remove(life);
    return gone.map((life) => life.name).sort();
  }

  /** The candidate is given up: what was started for it stops. */
  async abandon(): Promise<void> {
    for (const life of this.#set.inStopOrder()) if (this.#fresh.has(life)) await this.#remove(life);
    this.#fresh.clear();
  }

  /** Configured plugins that the new list does not name, or names with other settings. */
  #leaving(plugins: readonly PluginSettings[]): readonly PluginLife[] {
    const wanted = new Map(plugins.map((plugin) => [plugin.name, JSON.stringify(plugin)]));
    return this.#set
      .inStopOrder()
      .filter((life) => life.spec.explicit && wanted.get(life.name) !== JSON.stringify(life.spec.settings));
  }

  async #remove(life: PluginLife): Promise<void> {
    this.#fresh.delete(life);
    await this.#set.remove(life);
  }

  async #marked<T>(fresh: boolean, work: () => Promise<T>): Promise<T> {
    this.#marking = fresh;
    try {
      return await work();
    } finally {
      this.#marking = false;
    }
  }
}
