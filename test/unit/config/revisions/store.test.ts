// Revisions of a configuration file: kept, numbered, rotated, read back; torn and foreign files named; writes whole or not at all.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { FileTarget } from '../../../../engine/config/revisions/file-target.ts';
import { readMark, removeMark, writeMark } from '../../../../engine/config/revisions/pending.ts';
import { stageFile, writeSafely } from '../../../../engine/config/revisions/safe-write.ts';
import { RevisionStore, versionOf } from '../../../../engine/config/revisions/store.ts';
import { loadConfig } from '../../../../engine/config/load.ts';
import { systemClock } from '../../../../engine/core/clock.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'zest-revisions-'));
  path = join(folder, 'zest.conf');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const kept = (text: string, comment = '') => ({ text, author: 'ann', comment, time: Date.UTC(2026, 0, 2) });
const stored = (name: string): string => join(folder, 'zest.conf.zest', name);

test('a revision comes back with its text, time, author and comment, newest first', async () => {
  const store = await RevisionStore.of(path);
  assert.deepEqual(await store.list(), { revisions: [], faults: [] });
  assert.equal(existsSync(store.folder), false);
  await store.save(kept('a\n', 'first "words"\nin two lines'));
  await store.save(kept('b'));
  const { revisions, faults } = await store.list();
  assert.deepEqual(faults, []);
  assert.deepEqual(
    revisions.map(({ number, comment }) => [number, comment]),
    [
      [2, ''],
      [1, 'first "words"\nin two lines'],
    ],
  );
  assert.deepEqual(await store.read(1), { ...revisions[1], text: 'a\n' });
  assert.equal(revisions[1]?.time, '2026-01-02T00:00:00.000Z');
  assert.equal((await store.holding('b'))?.number, 2);
  assert.equal(await store.holding('c'), undefined);
  assert.equal(await store.read(3), undefined);
  assert.equal(statSync(store.folder).mode & 0o777, 0o700);
  assert.equal(statSync(stored('000002.conf')).mode & 0o777, 0o600);
});

test('at the limit all are kept, one more and the oldest goes; numbers are not used again', async () => {
  const store = await RevisionStore.of(path, 3);
  for (const text of ['1', '2', '3']) await store.save(kept(text));
  assert.equal((await store.list()).revisions.length, 3);
  await store.save(kept('4'));
  assert.deepEqual(
    (await store.list()).revisions.map((one) => one.number),
    [4, 3, 2],
  );
});

test('revisions kept at the same time by two writers each get a number', async () => {
  const stores = await Promise.all([RevisionStore.of(path), RevisionStore.of(path)]);
  const all = await Promise.all(stores.flatMap((store) => ['a', 'b', 'c'].map((text) => store.save(kept(text)))));
  assert.deepEqual(all.map((one) => one.number).sort(), [1, 2, 3, 4, 5, 6]);
});

/** The second revision goes, and something else stands in the store. */
function instead(put: () => void): void {
  rmSync(stored('000002.conf'));
  put();
}

const damage: readonly [name: string, harm: () => void, reason: RegExp][] = [
  ['cut short', () => truncateSync(stored('000002.conf'), 300), /000002\.conf.*checksum/],
  ['empty', () => truncateSync(stored('000002.conf'), 0), /000002\.conf.*first line/],
  ['changed by hand', () => writeFileSync(stored('000002.conf'), `${readFileSync(stored('000002.conf'), 'utf8')}x`), /checksum/],
  ['of another number', () => writeFileSync(stored('000002.conf'), readFileSync(stored('000001.conf'))), /says it is revision 1/],
  [
    'a header that is no JSON',
    () => writeFileSync(stored('000002.conf'), '# zest-revision {"number":\nx'),
    /first line cannot be read/,
  ],
  ['of another format', () => writeFileSync(stored('000002.conf'), '# zest-revision null\nx'), /first line cannot be read/],
  ['a folder', () => instead(() => mkdirSync(stored('000002.conf'))), /000002\.conf.*(not a file|EISDIR)/],
  ['a pipe that nobody writes', () => instead(() => spawnSync('mkfifo', [stored('000002.conf')])), /000002\.conf.*not a file/],
  ['larger than any', () => truncateSync(stored('000002.conf'), (64 << 20) + 1), /000002\.conf: larger than 64 MiB/],
  ['a link to itself', () => instead(() => symlinkSync('000002.conf', stored('000002.conf'))), /000002\.conf.*ELOOP/],
  ['a foreign file', () => instead(() => writeFileSync(stored('notes.txt'), 'x')), /notes\.txt.*not a revision/],
];
for (const [name, harm, reason] of damage) {
  test(`a file in the store that is ${name} is named, and the others are read`, async () => {
    const store = await RevisionStore.of(path);
    for (const text of ['a long enough text to be cut', 'b'.repeat(200), 'c']) await store.save(kept(text));
    harm();
    const { revisions, faults } = await store.list();
    assert.deepEqual(
      revisions.map((one) => one.number),
      [3, 1],
    );
    assert.equal(faults.length, 1);
    assert.match(`${faults[0]?.file}: ${faults[0]?.reason}`, reason);
    assert.equal(await store.read(2), undefined);
    assert.equal((await store.save(kept('d'))).number, 4);
  });
}

test('a number beyond all that are given is a foreign one; behind the last there is none', async () => {
  const store = await RevisionStore.of(path);
  await store.save(kept('a'));
  writeFileSync(stored('999999999999999.conf'), 'x');
  assert.equal((await store.save(kept('b'))).number, 2);
  writeFileSync(stored('999999999.conf'), 'x');
  await assert.rejects(store.save(kept('c')), /no number is left for a revision: 999999999\.conf stands in/);
  rmSync(stored('999999999.conf'));
  assert.equal((await store.save(kept('c'))).number, 3);
});

test('a pipe in the place of the mark, or of the file, is said and not waited for', async () => {
  const store = await RevisionStore.of(path);
  await store.prepare();
  spawnSync('mkfifo', [stored('pending'), path]);
  assert.deepEqual(await readMark(store), { kind: 'torn', reason: 'not a file' });
  const read = (text: string) => Promise.resolve(loadConfig(text, { path, env: {} }));
  await assert.rejects(new FileTarget({ path, read, clock: systemClock }).load(), /zest\.conf is not a file/);
});

test('a written file keeps its mode, and a link stays a link', async () => {
  writeFileSync(path, 'old');
  chmodSync(path, 0o640);
  const link = join(folder, 'link.conf');
  symlinkSync('zest.conf', link);
  assert.deepEqual(await writeSafely(link, 'new'), []);
  assert.equal(readFileSync(path, 'utf8'), 'new');
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.equal(statSync(path).mode & 0o777, 0o640);
  assert.equal((await RevisionStore.of(link)).folder, `${path}.zest`);
  assert.deepEqual(readdirSync(folder).sort(), ['link.conf', 'zest.conf']);
});

test('a link that leads nowhere yet is followed', async () => {
  const link = join(folder, 'link.conf');
  symlinkSync('zest.conf', link);
  await writeSafely(link, 'new');
  assert.equal(readFileSync(path, 'utf8'), 'new');
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('links in a circle are an error, not an endless walk', async () => {
  symlinkSync('b.conf', join(folder, 'a.conf'));
  symlinkSync('a.conf', join(folder, 'b.conf'));
  await assert.rejects(writeSafely(join(folder, 'a.conf'), 'x'));
});

test('a staged text that is given up leaves the old file and nothing else', async () => {
  writeFileSync(path, 'old');
  const staged = await stageFile(path, 'new');
  assert.equal(readFileSync(path, 'utf8'), 'old');
  await staged.discard();
  assert.equal(readFileSync(path, 'utf8'), 'old');
  assert.deepEqual(readdirSync(folder), ['zest.conf']);
});

test('what a writer that is dead left behind is swept away, what a living one writes is not', async () => {
  writeFileSync(path, 'old');
  const { pid } = spawnSync('true');
  writeFileSync(join(folder, `.zest.conf.${pid}-1.tmp`), 'half');
  writeFileSync(join(folder, '.zest.conf.1-1.tmp'), 'of another process');
  writeFileSync(join(folder, '.zest.conf.note.tmp'), 'of somebody else');
  await writeSafely(path, 'new');
  assert.deepEqual(readdirSync(folder).sort(), ['.zest.conf.1-1.tmp', '.zest.conf.note.tmp', 'zest.conf']);
});

test('the mark of a waiting commit is read back; a torn one is told; none is none', async () => {
  const store = await RevisionStore.of(path);
  assert.deepEqual(await readMark(store), { kind: 'none' });
  await removeMark(store);
  const mark = { deadline: 1234, author: 'ann', comment: 'try', text: 'text\n' };
  await writeMark(store, mark);
  assert.deepEqual(await readMark(store), { kind: 'mark', mark });
  assert.deepEqual(await store.list(), { revisions: [], faults: [] });
  truncateSync(join(store.folder, 'pending'), 90);
  assert.equal((await readMark(store)).kind, 'torn');
  await removeMark(store);
  assert.deepEqual(await readMark(store), { kind: 'none' });
});

const BGP = 'bgp {\n    router-id 10.0.0.1\n    session { asn { local 64500; } }\n}\n';

test('an editing session commits to a file: what was before and what is now are both kept', async () => {
  writeFileSync(path, BGP);
  const target = new FileTarget({ path, clock: systemClock, read: (text) => Promise.resolve(loadConfig(text, { path })) });
  const { text, version } = await target.load();
  assert.equal(text, BGP);
  const next = BGP.replace('10.0.0.1', '10.0.0.2');
  const options = { base: version, author: 'ann', comment: 'other id', confirmSeconds: undefined };
  assert.deepEqual(await target.commit(next, options), {
    ok: true,
    saved: 1,
    version: versionOf(next),
    warnings: [],
    notes: ['zest.conf is written, revision 2'],
  });
  assert.equal(readFileSync(path, 'utf8'), next);
  assert.deepEqual(
    (await target.history()).map(({ number, author, comment }) => [number, author, comment]),
    [
      [2, 'ann', 'other id'],
      [1, 'file', 'found in the file before a commit'],
    ],
  );
  assert.equal(await target.revision(1), BGP);
  const stale = await target.commit(BGP, options);
  assert.deepEqual(stale.ok ? undefined : stale.reason, 'changed');
  const wrong = await target.commit('bgp { nonsense 1; }', { ...options, base: undefined });
  assert.deepEqual(wrong.ok ? undefined : [wrong.reason, wrong.faults.length], ['invalid', 1]);
  const tried = await target.commit(BGP, { ...options, base: undefined, confirmSeconds: 10 });
  assert.deepEqual(tried.ok ? undefined : tried.reason, 'unsupported');
  const back = await target.commit(BGP, { ...options, base: undefined });
  assert.deepEqual(back.ok && [back.saved, (await target.history())[0]?.number], [2, 3]);
});
