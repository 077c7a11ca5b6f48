// bgp-healthcheck: results to states, a section to settings, checks that end whatever they do, and what a pool is told.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { runCheck } from '../../../plugins/bgp-healthcheck/check.ts';
import { BEGIN, next } from '../../../plugins/bgp-healthcheck/probe-state.ts';
import { Probe } from '../../../plugins/bgp-healthcheck/probe.ts';
import { probesOf, type ProbeSettings } from '../../../plugins/bgp-healthcheck/settings.ts';
import { eventually } from '../../support/zest-process.ts';

/** Results by letter, `+` healthy; states by initial: init, Rising, Up, Falling, Down. */
const WALKS: readonly (readonly [name: string, rise: number, fall: number, results: string, states: string])[] = [
  ['up after three', 3, 3, '+++', 'RRU'],
  ['down after three', 3, 3, '---', 'FFD'],
  ['one result is enough when that is what is asked', 1, 1, '+-+', 'UDU'],
  ['a failure begins the count anew', 3, 2, '++-+++', 'RRFRRU'],
  ['an up probe that fails once is not down', 2, 3, '++-++', 'RUFRU'],
  ['and goes down in time', 2, 3, '++---', 'RUFFD'],
  ['a down probe that answers once is not up', 3, 2, '--+-', 'FDRF'],
];
for (const [name, rise, fall, results, states] of WALKS) {
  test(`results in a row: ${name}`, () => {
    let standing = BEGIN;
    const seen = Array.from(results, (one) => (standing = next(standing, one === '+', rise, fall)).state);
    assert.equal(seen.map((state) => state[0]?.toUpperCase()).join(''), states);
  });
}

const section = (probe: object): unknown => ({ bgp: { healthcheck: { probe: { web: probe } } } });

test('a probe has the defaults of the schema', () => {
  const { command, ...rest } = probesOf(section({ command: 'true', group: 'g' })).get('web')!;
  assert.equal(command, 'true');
  assert.deepEqual(rest, {
    name: 'web',
    group: 'g',
    intervalMs: 5000,
    fastIntervalMs: 1000,
    timeoutMs: 5000,
    rise: 3,
    fall: 3,
    withdrawOnDown: false,
    disable: false,
    debounce: false,
    upMetric: 100,
    downMetric: 1000,
    disabledMetric: 500,
    interface: '',
    dynamic: false,
    addresses: [],
    on: { up: [], down: [], disabled: [], change: [] },
  });
});

test('a section that the engine would not have let through is refused with the leaf', () => {
  for (const [probe, fault] of [
    [{ group: 'g' }, /probe web: command is missing/],
    [{ command: 'x' }, /probe web: group is missing/],
    [{ command: 'x', group: 'g', rise: 0 }, /rise must be at least 1/],
    [{ command: 'x', group: 'g', 'ip-setup': { ip: ['192.0.2.1/32'] } }, /ip-setup needs an interface/],
  ] as const)
    assert.throws(() => probesOf(section(probe)), fault);
  assert.equal(probesOf({}).size, 0);
});

const CHECKS: readonly (readonly [name: string, command: string, timeoutMs: number, reason: RegExp])[] = [
  ['healthy', 'exit 0', 5000, /^$/],
  ['an exit code, and the last words', 'echo first >&2; echo no route >&2; exit 3', 5000, /^exit code 3: no route$/],
  ['no such command', '/no/such/command', 5000, /^exit code 127: .*not found/],
  ['a signal', 'kill -TERM $$', 5000, /^(exit code 143|ended by SIGTERM)/],
  ['one that hangs', 'sleep 60', 200, /^killed after 0\.2 s$/],
  ['one that ignores signals', 'trap "" TERM INT; while :; do sleep 1; done', 200, /^killed after 0\.2 s$/],
  ['megabytes of output', 'head -c 20000000 /dev/zero; head -c 5000000 /dev/zero >&2; exit 0', 5000, /^$/],
  ['output without an end', 'yes; exit 0', 200, /^killed after/],
  ['words without an end', 'yes >&2', 200, /^killed after/],
  ['a command that cannot be said', 'x\0y', 5000, /null bytes/],
];
for (const [name, command, timeoutMs, reason] of CHECKS) {
  test(`a check: ${name}`, async () => {
    const result = await runCheck(command, timeoutMs, new AbortController().signal);
    assert.match(result.reason, reason);
    assert.equal(result.healthy, result.reason === '');
  });
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // A zombie of somebody else's is no process any more.
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
};

for (const [name, after] of [
  ['its time is over', 'wait'],
  ['it is over', 'exit 0'],
] as const) {
  test(`what a check forked goes when ${name}`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'zest-check-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'pid');
    const { healthy } = await runCheck(`sleep 300 & echo $! > ${file}; ${after}`, 500, new AbortController().signal);
    assert.equal(healthy, after === 'exit 0');
    const pid = Number(readFileSync(file, 'utf8'));
    await eventually('the child is gone', () => (isAlive(pid) ? undefined : true));
  });
}

test('a check ends with its plugin', async () => {
  const stop = new AbortController();
  const result = runCheck('sleep 60', 60_000, stop.signal);
  stop.abort();
  assert.deepEqual(await result, { healthy: false, reason: 'stopped' });
  assert.deepEqual(await runCheck('exit 0', 1000, stop.signal), { healthy: false, reason: 'stopped' });
});

interface Stage {
  readonly probe: Probe;
  readonly said: string[];
  readonly logged: string[];
}

function stage(t: { after(work: () => Promise<void>): void }, settings: Partial<ProbeSettings>, dispatch?: () => void): Stage {
  const [base] = probesOf(section({ command: 'true', group: 'web' })).values();
  const said: string[] = [];
  const logged: string[] = [];
  const line = (fields: object, message: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const probe = new Probe(
    { ...base!, rise: 1, fall: 1, intervalMs: 30, fastIntervalMs: 30, ...settings },
    {
      log: { debug: line, info: line, warn: line, error: line },
      dispatch: (command) => {
        dispatch?.();
        said.push(command);
        return Promise.resolve();
      },
    },
  );
  t.after(() => probe.stop(false));
  probe.start();
  return { probe, said, logged };
}

const TOLD: readonly (readonly [name: string, settings: Partial<ProbeSettings>, said: string])[] = [
  ['up', {}, 'watchdog announce web med 100'],
  ['down', { command: 'false' }, 'watchdog announce web med 1000'],
  ['down, to be withdrawn', { command: 'false', withdrawOnDown: true }, 'watchdog withdraw web'],
  ['disabled', { disable: true, command: 'false' }, 'watchdog announce web med 500'],
  ['disabled, to be withdrawn', { disable: true, withdrawOnDown: true }, 'watchdog withdraw web'],
  ['a pool with a blank in its name', { group: 'a "b"' }, 'watchdog announce "a \\"b\\"" med 100'],
];
for (const [name, settings, told] of TOLD) {
  test(`what the pool is told: ${name}`, async (t) => {
    const { said } = stage(t, settings);
    await eventually('something is said, twice', () => (said.length > 1 ? true : undefined));
    assert.deepEqual([...new Set(said)], [told]);
  });
}

test('debounce: once a change, and again when it did not work', async (t) => {
  let refusals = 2;
  const { probe, said, logged } = stage(t, { debounce: true }, () => {
    if (refusals-- > 0) throw new Error('no peer has a pool "web"');
  });
  await eventually('three more checks', () => ((probe.row() as { count: number }).count > 6 ? true : undefined));
  assert.deepEqual(said, ['watchdog announce web med 100']);
  assert.equal(logged.filter((line) => line.startsWith('a pool could not be moved')).length, 1);
  assert.deepEqual(
    { ...probe.row(), count: 0, 'last-check': '' },
    {
      probe: 'web',
      group: 'web',
      state: 'up',
      count: 0,
      'last-result': 'healthy',
      'last-check': '',
      said: 'announce web med 100',
      error: '',
    },
  );
});

test('hooks run once a change, with the state in their environment', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-hook-'));
  t.after(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const flag = join(folder, 'flag');
  const file = join(folder, 'log');
  const hook = (word: string): readonly string[] => [`echo ${word} $PROBE $STATE >> ${file}`];
  const { logged, probe } = stage(t, {
    command: `test ! -e ${flag}`,
    on: { up: [...hook('up'), 'exit 9'], down: hook('down'), disabled: [], change: hook('change') },
  });
  const lines = (): readonly string[] => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').sort() : []);
  await eventually('up', () => (lines().length === 2 ? true : undefined));
  await eventually('more checks', () => ((probe.row() as { count: number }).count > 3 ? true : undefined));
  assert.deepEqual(lines(), ['change web UP', 'up web UP']);
  await eventually('the hook that failed is told', () =>
    logged.some((line) => line.startsWith('a command of a probe failed') && line.includes('exit code 9')) ? true : undefined,
  );
  await runCheck(`touch ${flag}`, 5000, new AbortController().signal);
  await eventually('down', () => (lines().length === 4 ? true : undefined));
  assert.deepEqual(lines(), ['change web DOWN', 'change web UP', 'down web DOWN', 'up web UP']);
});

test('a reset begins anew, and what was under way counts no more', async (t) => {
  const { probe, said } = stage(t, { debounce: true });
  await eventually('said', () => (said.length === 1 ? true : undefined));
  probe.reset();
  assert.equal((probe.row() as { state: string }).state, 'init');
  await eventually('said again', () => (said.length === 2 ? true : undefined));
});

test('a probe that goes withdraws its pool', async (t) => {
  const { probe, said } = stage(t, { debounce: true });
  await eventually('said', () => (said.length === 1 ? true : undefined));
  await probe.stop(true);
  assert.equal(said.at(-1), 'watchdog withdraw web');
});
