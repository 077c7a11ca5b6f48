// For any plan and any step that fails: the state after is the state before, and what was applied is undone in exactly reverse order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Fate, type Simulation, World } from '../unit/config/transaction/simulated.ts';

interface Plugin extends Simulation {
  readonly count: number;
}

/** Sections, or so many operations that stand on each other by chance. */
const plugin: fc.Arbitrary<Plugin> = fc.record({
  tier: fc.nat(2),
  count: fc.nat(4),
  verifySeconds: fc.nat(3),
  applySeconds: fc.nat(3),
});

const verbs = ['create', 'modify', 'destroy'] as const;

function simulate(
  plugins: readonly Plugin[],
  verbOf: (i: number) => number,
  fates: Readonly<Record<string, Fate>>[],
): Simulation[] {
  let made = 0;
  return plugins.map(({ count, ...rest }, p) => {
    const operations = Array.from({ length: count }, (_, i) => {
      const at = made++;
      return {
        id: `p${p}-${i}`,
        verb: verbs[verbOf(at) % 3] ?? 'modify',
        target: { kind: 'interface', name: `n${at}` } as const,
        ...(at === 0 ? {} : { consumes: [{ kind: 'interface', name: `n${verbOf(at) % at}` } as const] }),
      };
    });
    const decomposes = { operations: [{ root: 'bgp', decompose: true, operations: ['change'] }], decompose: { bgp: operations } };
    return { ...rest, ...(count === 0 ? {} : decomposes), fates: fates[p] ?? {} };
  });
}

test('a failure at any step of any plan leaves the state before, undone in reverse', async () => {
  const fate = fc.constantFrom<Fate>('refuse', 'nonsense');
  await fc.assert(
    fc.asyncProperty(
      fc.array(plugin, { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(1000), { minLength: 20, maxLength: 20 }),
      fc.nat(),
      fate,
      async (plugins, random, where, what) => {
        const verbOf = (i: number): number => random[i % random.length] ?? 0;
        const rehearsal = new World();
        const steps = (world: World, fails: string) =>
          ['plugins', 'peers-apply'].map((type) => world.step('engine', type, { fails: fails === `engine ${type} apply` }));
        const all = (world: World, fates: Readonly<Record<string, Fate>>[]) =>
          simulate(plugins, verbOf, fates).map((one, p) => world.plugin(`p${p}`, one));
        const good = await rehearsal.run(all(rehearsal, []), { steps: steps(rehearsal, '') });
        assert.ok(good.ok, JSON.stringify(good));

        // Any call before the commit may be the one that fails.
        const candidates = rehearsal.calls.filter((call) => !/commit/.test(call));
        const chosen = candidates[where % candidates.length] ?? '';
        const [owner = '', ...rest] = chosen.split(' ');
        const fates = plugins.map((_, p) => (owner === `p${p}` ? { [rest.join(' ')]: what } : {}));
        const world = new World();
        const result = await world.run(all(world, fates), { steps: steps(world, chosen) });
        assert.ok(!result.ok && !world.committed, chosen);
        assert.deepEqual(world.state, [], chosen);
        assert.deepEqual(world.broken, []);

        const applied = world.calls.filter((call) => / config-operation-apply | apply$/.test(call) && call !== chosen);
        const undone = world.calls.filter((call) => / config-operation-rollback | undo$/.test(call));
        const undoOf = (call: string): string =>
          call.replace('operation-apply', 'operation-rollback').replace(/ apply$/, ' undo');
        assert.deepEqual(undone, applied.map(undoOf).reverse());
        const touched = [
          ...new Set(world.calls.filter((call) => /-apply/.test(call) && call !== chosen).map((call) => call.split(' ')[0])),
        ].filter((name) => name !== 'engine');
        const told = world.calls.filter((call) => call.endsWith(' config-rollback')).map((call) => call.split(' ')[0] ?? '');
        assert.deepEqual([...told].sort(), [...touched].sort());
        const order = rehearsal.calls.filter((call) => call.endsWith('config-verify')).map((call) => call.split(' ')[0] ?? '');
        assert.deepEqual(
          told,
          [...order].reverse().filter((name) => told.includes(name)),
        );
      },
    ),
    { numRuns: 150 },
  );
});
