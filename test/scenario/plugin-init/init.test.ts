// `zest plugin init`: what it makes works as it stands: its tests pass, its configuration is valid, it runs in the daemon.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { after } from 'node:test';
import { PROGRAM, run } from '../../support/zest-process.ts';

const root = resolve(import.meta.dirname, '../../..');
const skip = existsSync(PROGRAM) ? false : 'dist is not built';
const python = spawnSync('python3', ['--version']).status === 0;
const folder = mkdtempSync(join(tmpdir(), 'zest-init-'));
after(() => rmSync(folder, { recursive: true, force: true }));

// As `npm install` would leave it, one folder up.
const modules = join(folder, 'node_modules');
mkdirSync(join(modules, '@types'), { recursive: true });
mkdirSync(join(modules, '.bin'));
symlinkSync(root, join(modules, 'zest-bgp'));
for (const name of ['typescript', '@types/node', 'undici-types', '.bin/tsc']) {
  if (existsSync(join(root, 'node_modules', name))) symlinkSync(join(root, 'node_modules', name), join(modules, name));
}
const path = `${join(modules, '.bin')}:${process.env['PATH'] ?? ''}`;
const zest = (...args: readonly string[]): ReturnType<typeof run> => run(process.execPath, [PROGRAM, ...args]);

const kinds: readonly (readonly [language: string, place: string, files: readonly string[]])[] = [
  [
    'ts',
    'external',
    [
      'package.json',
      'README.md',
      'zest.conf',
      'src/plugin.ts',
      'src/main.ts',
      'test/plugin.test.ts',
      'tsconfig.json',
      '.gitignore',
    ],
  ],
  [
    'ts',
    'in-process',
    ['package.json', 'README.md', 'zest.conf', 'src/plugin.ts', 'test/plugin.test.ts', 'tsconfig.json', '.gitignore'],
  ],
  [
    'js',
    'external',
    ['package.json', 'README.md', 'zest.conf', 'src/plugin.js', 'src/main.js', 'test/plugin.test.js', '.gitignore'],
  ],
  ['js', 'in-process', ['package.json', 'README.md', 'zest.conf', 'src/plugin.js', 'test/plugin.test.js', '.gitignore']],
  ['python', 'external', ['package.json', 'README.md', 'zest.conf', 'src/plugin.py', 'test/plugin.test.js']],
];
for (const [language, place, files] of kinds) {
  const needs = language === 'python' && !python ? 'no python3' : skip;
  test(`a plugin in ${language}, ${place}: its own test passes and its configuration is valid`, { skip: needs }, async () => {
    const name = `my-${language}-${place}`;
    const made = await zest('plugin', 'init', join(folder, name), '--language', language, `--${place}`, '--json');
    assert.equal(made.code, 0, made.stderr);
    assert.deepEqual(JSON.parse(made.stdout), { plugin: name, folder: join(folder, name), files });
    const own = join(folder, name);
    const tested = spawnSync('npm', ['test', '--silent'], {
      cwd: own,
      encoding: 'utf8',
      env: { ...process.env, PATH: path, NODE_TEST_CONTEXT: undefined },
    });
    assert.equal(tested.status, 0, tested.stdout + tested.stderr);
    assert.match(tested.stdout, /^# pass [12]$|^ℹ pass [12]$/m);
    const valid = await zest('config', 'validate', join(own, 'zest.conf'));
    assert.equal(valid.code, 0, valid.stdout + valid.stderr);
    const json = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8')) as Readonly<
      Record<string, Readonly<Record<string, string>>>
    >;
    assert.match((json['dependencies'] ?? json['devDependencies'])?.['zest-bgp'] ?? '', /^\^\d+\.\d+\.\d+/);
  });
}

test('it says what it made and what to do next', { skip }, async () => {
  const made = await zest('plugin', 'init', join(folder, 'spoken'));
  assert.equal(made.code, 0);
  assert.match(made.stdout, /^spoken: 8 files in /);
  assert.match(
    made.stdout,
    /\nNext:\n\n {2}cd .*spoken\n {2}npm install .*\n {2}npm test .*\n {2}npm run build\n {2}npx zest zest\.conf\n {2}npx zest spoken peers\n$/,
  );
});

test('what it cannot do it refuses, and leaves everything as it was', { skip }, async () => {
  const full = join(folder, 'full');
  mkdirSync(full);
  writeFileSync(join(full, 'notes.txt'), 'mine');
  const file = join(folder, 'file');
  writeFileSync(file, '');
  for (const [args, message] of [
    [[full], /full is not empty/],
    [[file], /file is a file/],
    [[join(folder, 'Not A Name')], /lower-case letters, digits and single hyphens, not "Not A Name"/],
    [[join(folder, 'snake'), '--language', 'python', '--in-process'], /a plugin in Python is external/],
    [[join(folder, 'cobol'), '--language', 'cobol'], /--language is one of ts, js, python, not "cobol"/],
    [[], /needs a folder/],
    [['a', 'b'], /one folder, not "a" and "b"/],
    [['a', '--fast'], /unknown option --fast/],
  ] as const) {
    const made = await zest('plugin', 'init', ...args);
    assert.equal(made.code, 1, args.join(' '));
    assert.match(made.stderr, message);
  }
  assert.equal(readFileSync(join(full, 'notes.txt'), 'utf8'), 'mine');
  assert.equal(existsSync(join(folder, 'snake')), false);
});

test('other plugin commands are the daemon’s, help knows both', { skip }, async () => {
  const listed = await zest('--socket', join(folder, 'none.sock'), 'plugin', 'list');
  assert.notEqual(listed.code, 0);
  assert.match(listed.stderr, /none\.sock/);
  assert.match((await zest('plugin', '--help')).stdout, /^zest plugin init DIR/);
  assert.match((await zest('help', 'plugin', 'init')).stdout, /^zest plugin init DIR/);
  assert.doesNotMatch((await zest('help', 'plugin', 'list')).stdout, /plugin init/);
  assert.match((await zest('help')).stdout, /zest plugin init DIR/);
});
