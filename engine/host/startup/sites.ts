// Where a configured plugin runs and how it is brought there: its placement follows from its settings and from what ships with the daemon.
import type { PluginSettings } from '../../config/settings/plugin-settings.ts';
import type { Door } from '../external/door.ts';
import { PluginFault } from '../fault.ts';
import type { HostOptions } from '../options.ts';
import { ChildLauncher, type Launcher, MainLauncher, type ModuleSite, ReactorLauncher, ThreadLauncher } from './launch.ts';
import type { LifeSpec, PluginKind } from '../life.ts';
import { isModulePath, moduleUrlOf } from './load-plugin.ts';
import { findBinder } from '../external/parent-death.ts';
import type { BuiltinPlugin } from './plan.ts';
import { quote } from '../quote.ts';

type Placed = Omit<LifeSpec, 'explicit'>;

export class PluginSites {
  readonly #options: HostOptions;
  readonly #door: Door;
  #binder: Promise<string | undefined> | undefined;

  constructor(options: HostOptions, door: Door) {
    this.#options = options;
    this.#door = door;
  }

  /** Settings of a built-in that starts by itself. */
  defaults(builtin: BuiltinPlugin): PluginSettings {
    return {
      name: builtin.name,
      run: '',
      use: builtin.name,
      encoder: 'json',
      respawn: undefined,
      timeoutMs: this.#options.stageTimeoutMs,
      queue: { batches: 64, bytes: 4 << 20, onOverflow: undefined },
      isolation: 'main',
    };
  }

  specOf(settings: PluginSettings): Placed {
    if (settings.run !== '') return spec(settings, 'external', this.#childLauncher(settings), undefined);
    if (isModulePath(settings.use)) {
      const site = this.#site(settings.name, moduleUrlOf(settings.use, this.#options.configFolder));
      const launcher = settings.isolation === 'thread' ? new ThreadLauncher(site) : new MainLauncher(site);
      return spec(settings, 'in-process', launcher, undefined);
    }
    const builtin = this.#options.builtins.find((one) => one.name === settings.use);
    if (builtin === undefined) return spec(settings, 'built-in', unknownBuiltin(settings.use), undefined);
    const site = this.#site(settings.name, builtin.moduleUrl);
    const start = this.#options.startInReactor;
    const launcher =
      builtin.placement === 'reactor' && start !== undefined ? new ReactorLauncher(site, start) : new MainLauncher(site);
    return spec(settings, 'built-in', launcher, builtin);
  }

  #site(name: string, moduleUrl: string): ModuleSite {
    const { clock, log } = this.#options;
    return { name, moduleUrl, clock, log: log.child({ plugin: name }) };
  }

  #childLauncher(settings: PluginSettings): Launcher {
    const { clock, log, configFolder, binFolder, environment, relayLevel } = this.#options;
    return new ChildLauncher({
      name: settings.name,
      run: settings.run,
      door: this.#door,
      folder: configFolder,
      binFolder,
      environment,
      relayLevel,
      clock,
      log: log.child({ plugin: settings.name }),
      connectMs: this.#options.connectTimeoutMs,
      binder: () => (this.#binder ??= findBinder()),
    });
  }
}

function spec(settings: PluginSettings, kind: PluginKind, launcher: Launcher, builtin: BuiltinPlugin | undefined): Placed {
  return {
    settings,
    kind,
    launcher,
    builtIn: builtin?.name ?? '',
    dependencies: builtin?.dependencies ?? [],
    fatalOnConfigError: builtin?.fatalOnConfigError === true,
  };
}

/** Fails when it is started, so that the operator reads of it where all failures are. */
function unknownBuiltin(use: string): Launcher {
  return {
    placement: 'main',
    launch: () => Promise.reject(new PluginFault('plugin-start', `no built-in plugin ${quote(use)}`, 0)),
  };
}
