// Collects every *.test.ts below test/ (Node 20 has no globs) and hands them to node:test.
//   node --import tsx test/run.ts            unit, wire, property, scenario, tidy
//   node --import tsx test/run.ts interop    only the tests below test/interop, which need peer daemons
//   node --import tsx test/run.ts unit/wire  only the tests whose path holds the word
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const root = import.meta.dirname;
const words = process.argv.slice(2);
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .filter((name) => (words.length === 0 ? !name.startsWith('interop') : words.some((word) => name.includes(word))))
  .sort()
  .map((name) => join(root, name));

if (files.length === 0) {
  process.stderr.write(`no test matches ${words.join(' ')}\n`);
  process.exitCode = 2;
} else {
  // Interop tests own ports and daemons of the machine: one at a time. The rest share the cores.
  const concurrency = words.includes('interop') ? 1 : availableParallelism();
  const stream = run({ files, concurrency, timeout: 300_000 });
  stream.on('test:fail', (event) => {
    if (event.todo === undefined || event.todo === false) process.exitCode = 1;
  });
  stream.pipe(new spec()).pipe(process.stdout);
}
