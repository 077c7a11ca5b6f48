/**
 * What the engine itself does in a transaction, each step with its way back: log levels, the set of plugins, and last the peers. Peers come
 * last because a session that was reset cannot be given back; only who consumes a peer or its address comes behind them.
 */
import type { ResourceRef } from '../../yang/generated/methods.ts';
import type { ApplyReport, PeerSettings, ReactorPort, ReactorSettings } from '../bgp/port.ts';
import type { EventBus } from '../bus/bus.ts';
import type { ConfigDiff } from '../config/diff.ts';
import type { RunningConfig } from '../config/running.ts';
import type { EngineStep } from '../config/transaction/participant.ts';
import type { Log } from '../core/log.ts';
import type { RootLog } from '../core/root-log.ts';
import type { PluginHost } from '../host/host.ts';
import { bindingsByPeer, bindingsWith, type ConfigInForce, logSettings, needs } from './config-in-force.ts';
import type { ConfigRoutes } from './config-routes.ts';
import { peerChange } from './impact.ts';
import type { Questions } from './questions.ts';

export interface StepParts {
  readonly configs: ConfigInForce;
  readonly reactor: ReactorPort;
  readonly bus: EventBus;
  readonly host: PluginHost;
  readonly questions: Questions;
  readonly configRoutes: ConfigRoutes;
  readonly rootLog: RootLog;
  readonly log: Log;
}

/** Both steps that touch peers name it, so that one keeps behind the other. */
const BGP: ResourceRef = { kind: 'listener', name: 'bgp' };

export class ConfigSteps {
  readonly #parts: StepParts;
  readonly #before: RunningConfig;
  readonly #after: RunningConfig;
  readonly #diff: ConfigDiff;
  /** The peers that go have gone by a step of their own. */
  #isRemoved = false;
  /** What the reactor made of it. */
  readonly report = {
    added: [] as string[],
    removed: [] as string[],
    changed: [] as string[],
    unchanged: [] as string[],
    /** Those of the changed whose session ended for it. */
    reset: [] as string[],
  };

  constructor(parts: StepParts, before: RunningConfig, after: RunningConfig, diff: ConfigDiff) {
    this.#parts = parts;
    this.#before = before;
    this.#after = after;
    this.#diff = diff;
  }

  /** In the order in which they run where nothing else decides. */
  list(): readonly EngineStep[] {
    const { environment, plugins, hub, peers } = this.#diff;
    const steps: EngineStep[] = [];
    if (environment.some((name) => name.startsWith('ze.log.'))) steps.push(this.#logLevels());
    if ([plugins, hub].some((one) => one.added.length + one.removed.length + one.changed.length > 0)) steps.push(this.#plugins());
    if (peers.removed.length > 0) steps.push(this.#removal());
    steps.push(this.#peers());
    return steps;
  }

  #logLevels(): EngineStep {
    const { rootLog } = this.#parts;
    return step('environment', 'log-levels', 'modify', [], [], () => {
      const { default: level = 'warn', ...subsystems } = rootLog.levels();
      const wanted = logSettings(this.#after);
      rootLog.configure(wanted.level, wanted.subsystems);
      return Promise.resolve(() => {
        rootLog.configure(level, subsystems);
        return Promise.resolve();
      });
    });
  }

  #plugins(): EngineStep {
    const { bus, host } = this.#parts;
    const [before, after] = [this.#before, this.#after];
    const { added, changed } = this.#diff.plugins;
    const back = async (): Promise<void> => {
      bus.setBindings(bindingsByPeer(before));
      const outcome = await host.changeover.replace(before.plugins, before.hub, needs(before), false);
      if (!outcome.ok) throw new Error(`plugin ${outcome.plugin}: ${outcome.reason}`);
    };
    return step('plugin', 'plugins', 'modify', [], [], async () => {
      bus.setBindings(bindingsWith(before, after, [...added, ...changed]));
      const outcome = await host.changeover.replace(after.plugins, after.hub, needs(after), true);
      if (outcome.ok) return back;
      await back();
      throw new Error(`plugin ${outcome.plugin}: ${outcome.reason}`);
    });
  }

  #removal(): EngineStep {
    const gone = this.#before.reactor.peers.filter((peer) => this.#diff.peers.removed.includes(peer.name));
    return step('bgp', 'peers-remove', 'destroy', [BGP, ...gone.map(peerRef)], gone.flatMap(addressRef), async () => {
      const { removed } = await applyPeers(this.#parts, this.#remaining());
      this.report.removed.push(...removed);
      this.#isRemoved = true;
      return async () => {
        this.#isRemoved = false;
        await applyPeers(this.#parts, this.#before.reactor);
      };
    });
  }

  /** Peers and what hangs on them: who sees what of whom, filters, the routes of the configuration. The candidate is in force for all. */
  #peers(): EngineStep {
    const { configs, bus } = this.#parts;
    const [before, after] = [this.#before, this.#after];
    const { added, changed } = this.#diff.peers;
    const touched = new Set([...added, ...changed.map((peer) => peer.name)]);
    const peers = after.reactor.peers.filter((peer) => touched.has(peer.name));
    const back = async (): Promise<void> => {
      configs.active = before;
      bus.setBindings(bindingsByPeer(before));
      await applyPeers(this.#parts, this.#isRemoved ? this.#remaining() : before.reactor);
    };
    return step('bgp', 'peers-apply', 'modify', [BGP, ...peers.map(peerRef)], peers.flatMap(addressRef), async () => {
      try {
        configs.active = after;
        bus.setBindings(bindingsByPeer(after));
        const applied = await applyPeers(this.#parts, after.reactor);
        for (const key of ['added', 'removed', 'changed', 'unchanged'] as const) this.report[key].push(...applied[key]);
        this.report.reset.push(...applied.changed.filter((name) => isReset(before, after, name)));
        return back;
      } catch (error) {
        await back();
        throw error;
      }
    });
  }

  /** The old settings without the peers that go. */
  #remaining(): ReactorSettings {
    const { reactor } = this.#before;
    return { ...reactor, peers: reactor.peers.filter((peer) => !this.#diff.peers.removed.includes(peer.name)) };
  }
}

/** Peers with the capabilities of the plugins, then the routes of the configuration. */
export async function applyPeers(parts: StepParts, settings: ReactorSettings): Promise<ApplyReport> {
  const { reactor, bus, host, questions, configRoutes, log } = parts;
  questions.check(settings.peers);
  const applied = await reactor.apply({ ...questions.overridden(settings), capabilities: host.capabilities() });
  for (const fault of applied.faults) log.error({ fault }, 'a listener could not be opened');
  await configRoutes.apply(settings.peers, bus.directory.list);
  return applied;
}

function step(
  owner: string,
  type: string,
  verb: EngineStep['verb'],
  produces: readonly ResourceRef[],
  consumes: readonly ResourceRef[],
  apply: EngineStep['apply'],
): EngineStep {
  return { owner, type, verb, produces, consumes, apply };
}

function peerRef(peer: PeerSettings): ResourceRef {
  return { kind: 'peer', name: peer.name, peer: peer.remoteAddress };
}

function addressRef(peer: PeerSettings): readonly ResourceRef[] {
  return peer.localAddress === '' ? [] : [{ kind: 'address', address: peer.localAddress }];
}

function isReset(before: RunningConfig, after: RunningConfig, name: string): boolean {
  const [old, now] = [before, after].map(({ reactor }) => reactor.peers.find((peer) => peer.name === name));
  return old !== undefined && now !== undefined && peerChange(old, now) === 'reset';
}
