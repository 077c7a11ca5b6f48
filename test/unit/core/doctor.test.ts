import assert from 'node:assert/strict';
import test from 'node:test';
import { ManualClock } from '../../../engine/core/clock.ts';
import {
  CHECK_MS,
  type DoctorCheck,
  type DoctorLine,
  type DoctorScene,
  isClean,
  runDoctor,
} from '../../../engine/core/doctor.ts';

const check = (name: string, changes: Partial<DoctorCheck> = {}): DoctorCheck => ({
  owner: 'watch',
  name,
  phase: 'post-config',
  order: 0,
  dependencies: [],
  platforms: ['any'],
  codes: ['doctor-a'],
  run: () => [],
  ...changes,
});

async function run(checks: readonly DoctorCheck[], scene: Partial<DoctorScene> = {}): Promise<readonly DoctorLine[]> {
  const lines: DoctorLine[] = [];
  const { signal } = new AbortController();
  for await (const line of runDoctor(checks, { clock: new ManualClock(), platform: 'linux', hasConfig: true, signal, ...scene }))
    lines.push(line);
  return lines;
}

// checks → the order they ran in
for (const [name, checks, expected] of [
  ['by phase', [check('b'), check('a', { phase: 'pre-config' })], 'a b'],
  ['by order', [check('b', { order: 20 }), check('a', { order: 10, owner: 'zest' }), check('c', { order: 15 })], 'a c b'],
  ['by owner and name where the order is the same', [check('b'), check('c', { owner: 'a' }), check('a')], 'c a b'],
  ['after its dependency, whatever the order', [check('a', { dependencies: ['b'] }), check('b', { order: 99 })], 'b a'],
  [
    'after its own plugin’s dependency of that name',
    [check('a', { dependencies: ['x'] }), check('x', { order: 9 }), check('x', { owner: 'another', order: 8 })],
    'x a x',
  ],
  ['after another plugin’s check', [check('a', { dependencies: ['x'] }), check('x', { owner: 'zest', order: 9 })], 'x a'],
] as const) {
  test(`checks run ${name}`, async () => {
    assert.equal((await run(checks)).map((line) => line.check).join(' '), expected);
  });
}

// check, scene → its line
for (const [name, one, scene, expected] of [
  ['finds nothing', {}, {}, { status: 'ok', message: '' }],
  ['is for other platforms', { platforms: ['darwin'] }, {}, { status: 'skipped', message: 'for darwin, this is linux' }],
  ['is for any platform', { platforms: [] }, {}, { status: 'ok' }],
  ['is for windows as Go spells it', { platforms: ['windows'] }, { platform: 'win32' }, { status: 'ok' }],
  ['needs a missing configuration', { phase: 'missing-config' }, {}, { status: 'skipped' }],
  ['needs a configuration', {}, { hasConfig: false }, { status: 'skipped', message: 'there is no configuration' }],
  ['runs without a configuration', { phase: 'missing-config' }, { hasConfig: false }, { status: 'ok' }],
  [
    'depends on nobody’s check',
    { dependencies: ['gone'] },
    {},
    { status: 'ok', message: 'it depends on "gone", which nobody declares' },
  ],
  ['throws', { run: () => Promise.reject(new Error('no disk')) }, {}, { status: 'failed', message: 'no disk' }],
  [
    'throws at once',
    {
      run: () => {
        throw new Error('no disk');
      },
    },
    {},
    { status: 'failed', message: 'no disk' },
  ],
  [
    'finds something',
    { run: () => [{ code: 'doctor-a', severity: 'warning', message: 'nearly full' }] },
    {},
    { status: 'warning', code: 'doctor-a', message: 'nearly full', undeclared: false },
  ],
  [
    'finds what it did not declare',
    { run: () => [{ code: 'doctor-b', severity: 'error', message: 'full' }] },
    {},
    { status: 'error', code: 'doctor-b', message: 'full', undeclared: true },
  ],
] as const satisfies readonly (readonly [string, Partial<DoctorCheck>, Partial<DoctorScene>, Partial<DoctorLine>])[]) {
  test(`a check that ${name} is ${expected.status}`, async () => {
    const lines = await run([check('one', one)], scene);
    assert.equal(lines.length, 1);
    for (const [key, value] of Object.entries(expected)) assert.equal(lines[0]![key as keyof DoctorLine], value, key);
    assert.equal(isClean(lines), expected.status === 'ok' || expected.status === 'skipped');
  });
}

test('checks that depend on each other in a circle fail and say so, the others run', async () => {
  const lines = await run([check('a', { dependencies: ['b'] }), check('b', { dependencies: ['a'] }), check('c')]);
  assert.deepEqual(lines.map((line) => `${line.check} ${line.status}`).sort(), ['a ok', 'b failed', 'c ok']);
  assert.match(lines.find((line) => line.check === 'b')?.message ?? '', /circle: b, a/);
});

test('a dependency of a later phase fails the check', async () => {
  const lines = await run([check('a', { phase: 'pre-config', dependencies: ['b'] }), check('b')]);
  assert.match(lines[0]?.message ?? '', /"b", which runs in a later phase/);
});

test('a check that never answers fails after 5 s, the third of its plugin is not asked, the others go on', async () => {
  const clock = new ManualClock();
  const asked: string[] = [];
  const stuck = (name: string, owner: string): DoctorCheck =>
    check(name, {
      owner,
      run: () => {
        asked.push(name);
        return owner === 'stuck' ? new Promise<never>(() => undefined) : [];
      },
    });
  const running = run([...['a', 'b', 'c'].map((name) => stuck(name, 'stuck')), stuck('d', 'well')], { clock });
  for (let i = 0; i < 2; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(CHECK_MS);
  }
  const lines = await running;
  assert.deepEqual(
    lines.map((line) => `${line.check} ${line.status}: ${line.message}`),
    [
      'a failed: no answer within 5 s',
      'b failed: no answer within 5 s',
      'c failed: not asked: stuck did not answer 2 checks before',
      'd ok: ',
    ],
  );
  assert.deepEqual(asked, ['a', 'b', 'd']);
});

test('who leaves does not wait for the check under way', async () => {
  const leave = new AbortController();
  const running = run([check('a', { run: () => new Promise<never>(() => undefined) }), check('b')], { signal: leave.signal });
  await new Promise((resolve) => setImmediate(resolve));
  leave.abort();
  assert.deepEqual(
    (await running).map((line) => line.message),
    ['interrupted'],
  );
});
