// What plugins keep on disk: keys, statuses, limits, what a crash or a broken disk leaves behind.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { keyFault, MAX_KEYS, MAX_LISTED, StateStore } from '../../../engine/host/services/state-store.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (data: Uint8Array | undefined): string => (data === undefined ? '' : Buffer.from(data).toString());

function folder(t: { after(action: () => void): void }): string {
  const made = mkdtempSync(join(tmpdir(), 'zest-state-'));
  t.after(() => {
    chmodSync(made, 0o700);
    rmSync(made, { recursive: true, force: true });
  });
  return made;
}

for (const [key, prefix, fault] of [
  ['meta/a', false, undefined],
  ['meta/A.b_c:d-e/f', false, undefined],
  ['meta/../../etc/passwd', false, undefined],
  [`meta/${'x'.repeat(507)}`, false, undefined],
  [`meta/${'x'.repeat(508)}`, false, 'key is longer than 512 characters'],
  ['a', false, 'key must begin with meta/: "a"'],
  ['', false, 'key must begin with meta/: ""'],
  ['meta/', false, 'key has nothing after meta/'],
  ['meta/a b', false, 'key may hold letters, digits and _ . : / - only'],
  ['meta/a\n', false, 'key may hold letters, digits and _ . : / - only'],
  ['meta/\u0000', false, 'key may hold letters, digits and _ . : / - only'],
  ['meta/', true, undefined],
  ['', true, undefined],
  ['etc/', true, 'key must begin with meta/: "etc/"'],
] as const) {
  test(`a key${prefix ? ' to list by' : ''}: ${JSON.stringify(key.slice(0, 40))} of ${key.length}`, () =>
    assert.equal(keyFault(key, prefix), fault));
}

test('values last over a restart, each plugin has its own, and no key leaves the folder', async (t) => {
  const home = folder(t);
  const store = new StateStore(home);
  assert.deepEqual(await store.get('p', 'meta/a'), { status: 'absent' });
  assert.deepEqual(await store.put('p', 'meta/a', bytes('one')), { status: 'ok' });
  assert.deepEqual(await store.put('p', 'meta/a', bytes('two')), { status: 'ok' });
  assert.deepEqual(await store.put('p', 'meta/../../../../x', bytes('three')), { status: 'ok' });
  assert.deepEqual(await store.put('../q', 'meta/a', bytes('')), { status: 'ok' });
  assert.deepEqual(readdirSync(home), ['plugins']);
  assert.equal(readdirSync(join(home, 'plugins')).length, 2);
  assert.equal(statSync(join(home, 'plugins', 'p')).mode & 0o777, 0o700);
  const again = new StateStore(home);
  assert.equal(
    text(
      (await again.get('p', 'meta/a')).status === 'ok'
        ? ((await store.get('p', 'meta/a')) as { data: Uint8Array }).data
        : undefined,
    ),
    'two',
  );
  assert.deepEqual(await again.list('p', 'meta/'), { status: 'ok', keys: ['meta/../../../../x', 'meta/a'] });
  assert.deepEqual(await again.list('p', 'meta/a'), { status: 'ok', keys: ['meta/a'] });
  assert.equal((await again.get('q', 'meta/a')).status, 'absent');
  assert.deepEqual(await again.get('../q', 'meta/a'), { status: 'ok', data: Buffer.alloc(0) });
  assert.deepEqual(await again.remove('p', 'meta/a'), { status: 'ok' });
  assert.deepEqual(await again.remove('p', 'meta/a'), { status: 'absent' });
  assert.deepEqual(await again.list('p', ''), { status: 'ok', keys: ['meta/../../../../x'] });
});

test('increments asked for at once each count', async (t) => {
  const store = new StateStore(folder(t));
  const answers = await Promise.all(Array.from({ length: 20 }, () => store.increment('p', 'meta/n')));
  assert.deepEqual(
    answers.map((answer) => ('value' in answer ? answer.value : answer.status)),
    Array.from({ length: 20 }, (_, i) => i + 1),
  );
  await store.put('p', 'meta/n', bytes('9007199254740991'));
  assert.equal((await store.increment('p', 'meta/n')).status, 'corrupt');
  await store.put('p', 'meta/n', bytes('x'));
  assert.equal((await store.increment('p', 'meta/n')).status, 'corrupt');
});

test('damage is seen, and what a crash left half written is cleared away', async (t) => {
  const home = folder(t);
  const store = new StateStore(home);
  await store.put('p', 'meta/a', bytes('value'));
  const shelf = join(home, 'plugins', 'p');
  const [name = ''] = readdirSync(shelf);
  writeFileSync(join(shelf, `${name}.1-1.tmp`), 'half');
  const whole = readFileSync(join(shelf, name));
  for (const broken of [
    whole.subarray(0, whole.length - 1),
    Buffer.from('rubbish'),
    Buffer.from(''),
    Buffer.concat([whole, whole]),
  ]) {
    writeFileSync(join(shelf, name), broken);
    assert.equal((await store.get('p', 'meta/a')).status, 'corrupt');
    assert.equal((await store.increment('p', 'meta/a')).status, 'corrupt');
  }
  const again = new StateStore(home);
  assert.deepEqual(await again.list('p', ''), { status: 'ok', keys: ['meta/a'] });
  assert.deepEqual(readdirSync(shelf), [name]);
  assert.deepEqual(await again.put('p', 'meta/a', bytes('new')), { status: 'ok' });
  assert.equal((await again.get('p', 'meta/a')).status, 'ok');
});

test('no folder, no write, no read: each has its status', async (t) => {
  const home = folder(t);
  assert.equal((await new StateStore(undefined).put('p', 'meta/a', bytes(''))).status, 'unavailable');
  writeFileSync(join(home, 'file'), '');
  assert.equal((await new StateStore(join(home, 'file')).get('p', 'meta/a')).status, 'unavailable');
  const store = new StateStore(home);
  await store.put('p', 'meta/a', bytes('value'));
  // A folder where the value should be: neither to be read nor replaced, also not by root.
  const shelf = join(home, 'plugins', 'p');
  const [name = ''] = readdirSync(shelf);
  rmSync(join(shelf, name));
  const { mkdirSync } = await import('node:fs');
  mkdirSync(join(shelf, name, 'x'), { recursive: true });
  assert.equal((await store.get('p', 'meta/a')).status, 'read-failed');
  assert.equal((await store.put('p', 'meta/a', bytes(''))).status, 'persist-failed');
  assert.equal((await store.remove('p', 'meta/a')).status, 'persist-failed');
  assert.deepEqual(readdirSync(shelf), [name], 'nothing is left beside it');
});

test('a plugin has so many bytes and no more; what it overwrites is given back', async (t) => {
  const store = new StateStore(folder(t));
  const big = new Uint8Array(1 << 20);
  for (let i = 0; i < 64; i++) assert.equal((await store.put('p', `meta/${i}`, big)).status, 'ok');
  assert.deepEqual(await store.put('p', 'meta/x', bytes('a')), {
    status: 'persist-failed',
    message: 'a plugin keeps at most 67108864 bytes',
  });
  assert.equal((await store.put('p', 'meta/0', bytes('small'))).status, 'ok');
  assert.equal((await store.put('p', 'meta/x', bytes('a'))).status, 'ok');
  assert.deepEqual([MAX_LISTED, MAX_KEYS], [4096, 16_384]);
});
