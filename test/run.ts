// Collects every *.test.ts below test/ (Node 20 has no globs) and hands them to node:test.
//   node --import tsx test/run.ts            unit, wire, property, scenario, tidy
//   node --import tsx test/run.ts interop    only the tests below test/interop, which need peer daemons
//   node --import tsx test/run.ts unit/wire  only the tests whose path holds the word
// Property tests try new values in each run; ZEST_SEED=N repeats a run.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { finished } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { inspect } from 'node:util';

const root = import.meta.dirname;
const words = process.argv.slice(2);
const ALONE = ['lives', 'daemon-load', 'daemon-plugins', 'daemon-hostile', 'daemon-unblockable', 'plugin-commands'].map(
  (folder) => join('scenario', folder),
);
/** Of each failure at the end. */
const SHOWN_LINES = 15;
const failures: { readonly name: string; readonly file: string; readonly text: string }[] = [];
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .filter((name) => (words.length === 0 ? !name.startsWith('interop') : words.some((word) => name.includes(word))))
  .sort()
  .map((name) => join(root, name));

/**
 * Interop sessions need addresses that may be next hops, IPv6 among them: the runner starts itself again in a network namespace of its own
 * with such addresses on its loopback device. Without root, or where that is forbidden, the tests that need it say so and are skipped.
 */
function inNamespace(): boolean {
  const setUp = [
    'ip link set lo up',
    ...['192.0.2.1/32', '192.0.2.2/32', '192.0.2.3/32', '2001:db8::1/128', '2001:db8::2/128'].map(
      (it) => `ip addr add ${it} dev lo`,
    ),
  ];
  const can = spawnSync('unshare', ['-n', 'sh', '-c', setUp.join(' && ')], { stdio: 'ignore' });
  if (can.status !== 0) {
    process.stderr.write('no network namespace to be had (root, unshare and ip are needed)\n');
    return false;
  }
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const ran = spawnSync('unshare', ['-n', 'sh', '-c', `${setUp.join(' && ')} && exec "$@"`, 'sh', ...again], {
    stdio: 'inherit',
    env: { ...process.env, ZEST_NETNS: '1' },
  });
  process.exitCode = ran.status ?? 1;
  return true;
}

const isInterop = words.some((word) => word.startsWith('interop'));
if (isInterop && process.env['ZEST_NETNS'] !== '1' && inNamespace()) {
  // The run in the namespace has said it all.
} else if (files.length === 0) {
  process.stderr.write(`no test matches ${words.join(' ')}\n`);
  process.exitCode = 2;
} else {
  // The runner hands its own arguments down to the process of each file.
  process.execArgv.push('--import', new URL('support/seed.ts', import.meta.url).href);
  // Interop tests own ports and daemons of the machine: one at a time. So do scenarios that load it, or that wait for what a loaded one is late
  // with; they come last. The rest share the cores.
  const alone = (file: string): boolean => isInterop || ALONE.some((word) => file.includes(word));
  for (const [group, concurrency] of [
    [files.filter((file) => !alone(file)), availableParallelism()],
    [files.filter(alone), 1],
  ] as const) {
    if (group.length > 0) await runTests(group, concurrency);
  }
  sayFailures();
}

/** At the very end, where a long log is read first: what failed, why, and the seed that repeats it. */
function sayFailures(): void {
  if (failures.length === 0) return;
  process.stdout.write(`\n${failures.length} failed (ZEST_SEED=${process.env['ZEST_SEED'] ?? 'of each file, see there'}):\n`);
  for (const { name, file, text } of failures) {
    const lines = text.split('\n');
    const shown = lines.slice(0, SHOWN_LINES).map((line) => `    ${line}\n`);
    process.stdout.write(`\n  ${file}: ${name}\n${shown.join('')}${lines.length > SHOWN_LINES ? '    …\n' : ''}`);
  }
}

/** Resolves when all have run; a failure is the process's exit code. */
async function runTests(group: readonly string[], concurrency: number): Promise<void> {
  const stream = run({ files: [...group], concurrency, timeout: 900_000 });
  stream.on('test:fail', ({ name, file, todo, details: { error } }) => {
    if (todo !== undefined && todo !== false) return;
    process.exitCode = 1;
    // A suite fails by its tests: they are named.
    if ((error as { failureType?: unknown }).failureType === 'subtestsFailed') return;
    failures.push({ name, file: relative(root, file ?? ''), text: inspect(error.cause) });
  });
  const reported = stream.pipe(new spec());
  reported.pipe(process.stdout, { end: false });
  await finished(reported, { writable: false });
}
