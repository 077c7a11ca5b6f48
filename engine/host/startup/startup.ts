/**
 * One phase of the startup: all its processes at once, then the handshakes tier by tier (plugin-lifecycle §2, §3). Who fails
 * leaves; who needed it fails with `missing dependency`; all others go on.
 */
import type { Clock } from '../../core/clock.ts';
import { PluginFault } from '../fault.ts';
import type { PluginLife } from '../life.ts';
import { layers, Tier } from './tier.ts';

export interface PhaseHooks {
  readonly clock: Clock;
  /** The plugin runs. */
  up(life: PluginLife): void;
  /** The plugin's start has failed; everything of it is taken back. */
  failed(life: PluginLife, fault: PluginFault): void;
  /** A tier is about to start; its number for stopping and for the order of deliveries. */
  nextTier(): number;
}

/** Resolves when every plugin of the phase runs or has failed, and calls of those that run are served. */
export async function runPhase(lives: readonly PluginLife[], hooks: PhaseHooks): Promise<void> {
  /** Failures whose last traces are still being taken away: nobody waits for that but the end of the phase. */
  const failures: Promise<void>[] = [];
  const failing = (life: PluginLife, start: (failed: () => void) => Promise<void>): Promise<void> =>
    new Promise((resolve) => {
      failures.push(
        start(resolve)
          .catch((error: unknown) => hooks.failed(life, error as PluginFault))
          .finally(resolve),
      );
    });
  const dependencies = new Map<PluginLife, readonly string[]>();
  // All at once; what each depends on is in its first line.
  await Promise.all(
    lives.map((life) =>
      failing(life, async (failed) => {
        dependencies.set(life, await life.connect(failed));
      }),
    ),
  );
  const { tiers, cyclic } = layers(inNames(dependencies));
  const byName = new Map(lives.map((life) => [life.name, life]));
  const pick = (names: readonly string[]): PluginLife[] => names.flatMap((name) => byName.get(name) ?? []);
  await Promise.all(
    pick(cyclic).map(async (life) => {
      const fault = new PluginFault('plugin-dependency', `dependency cycle: ${cyclic.join(', ')}`, 1);
      await life.refuse(fault);
      hooks.failed(life, fault);
    }),
  );
  const running: PluginLife[] = [];
  for (const names of tiers) {
    const number = hooks.nextTier();
    const tier = new Tier(names, hooks.clock);
    await Promise.all(
      pick(names).map((life) => {
        life.tier = number;
        return failing(life, async (failed) => {
          await life.handshake(tier, failed);
          running.push(life);
          hooks.up(life);
        });
      }),
    );
  }
  for (const life of running) life.open();
  await Promise.all(failures);
}

/** Dependencies as names of this phase's plugins: a built-in under another instance name answers to both. */
function inNames(dependencies: ReadonlyMap<PluginLife, readonly string[]>): Map<string, readonly string[]> {
  const instances = new Map<string, string[]>();
  for (const life of dependencies.keys()) {
    for (const name of new Set([life.name, life.spec.builtIn])) {
      if (name !== '') instances.set(name, [...(instances.get(name) ?? []), life.name]);
    }
  }
  return new Map([...dependencies].map(([life, needs]) => [life.name, needs.flatMap((need) => instances.get(need) ?? [])]));
}
