// An external plugin of the SDK takes part in commands: long answers over TLS, completion, enrichers, doctor checks, pipe aliases; and what
// is said when it is gone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually, PROGRAM, ZestProcess } from '../../support/zest-process.ts';

const SDK = resolve(import.meta.dirname, '../../../dist/sdk/plugin/index.js');
const RPC = resolve(import.meta.dirname, '../../../dist/sdk/rpc/index.js');
const MILLION = 1_000_000;

const PLUGIN = `
import { definePlugin, runExternal } from ${JSON.stringify(SDK)};
import { rejected } from ${JSON.stringify(RPC)};

let alive = 0;
const plugin = definePlugin({
  name: 'geo',
  setup(engine) {
    engine.command('geo rows', { 'short-help': 'Many rows', description: 'First line\\nSecond line', args: ['count'], 'deprecated-names': ['geo list'] }, function* (input) {
      const count = Number(input.args?.[0] ?? 3);
      for (let i = 0; i < count; i++) yield { n: i, text: 'row' };
    });
    engine.command('geo endless', { hidden: true }, async function* () {
      alive++;
      try {
        for (let i = 0; ; i++) {
          if (i % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
          yield { n: i };
        }
      } finally {
        alive--;
      }
    });
    engine.command('geo alive', () => ({ alive, rss: process.memoryUsage.rss(), peak: process.resourceUsage().maxRSS * 1024 }));
    engine.command('geo odd', { columns: ['b', 'a'], shape: 'map' }, function* () {
      yield { a: 'line\\nfeed', b: 1 };
      yield rejected({ a: 'no' });
      yield { a: '\\u2028', b: 2 };
    });
    engine.command('geo broken', async function* () {
      for (let i = 0; i < 300; i++) yield { i };
      throw new Error('the table went away');
    });
    engine.command('geo die', () => process.exit(7));
    engine.completion('geo rows', (words) => ['10', '20', { word: '1000', help: 'as many' }].filter(() => words.length === 1));
    engine.pipe({ command: 'geo rows', name: 'second', description: 'The second row', expansion: 'match 1 | json compact' });
    engine.enricher({ command: 'peer detail', key: 'geo' }, (input) => ({ city: 'near ' + input.base.peer, mode: input.mode }));
    engine.doctorCheck({ name: 'atlas', phase: 'post-config', codes: ['doctor-atlas-old'] }, () => [
      { code: 'doctor-atlas-old', severity: 'warning', message: 'the atlas is of 1913' },
      { code: 'doctor-flat', severity: 'error', message: 'the earth is flat' },
    ]);
  },
});
await runExternal(plugin);
`;

/** Reads stdout without keeping it. */
function counting(
  zest: ZestProcess,
  words: readonly string[],
  slowMs = 0,
): Promise<{ code: number; lines: number; peak: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [PROGRAM, ...words], { env: zest.environment, stdio: ['ignore', 'pipe', 'inherit'] });
    let lines = 0;
    let peak = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === 10) lines++;
      if (slowMs > 0 && lines < 20_000) {
        child.stdout.pause();
        setTimeout(() => child.stdout.resume(), slowMs);
      }
      peak = Math.max(peak, memory(child.pid ?? 0));
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 128, lines, peak }));
  });
}

/** Highest resident size so far, in MiB; 0 when the process is gone. */
function memory(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

describe('a plugin in commands', { timeout: 600_000 }, () => {
  let zest: ZestProcess;
  let folder: string;
  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-commands-')));
    writeFileSync(join(folder, 'geo.mjs'), PLUGIN);
    zest = await ZestProcess.start(
      `bgp { router-id 192.0.2.1; session { asn { local 64500; } }
         peer edge { connection { local { ip 127.0.0.1; } remote { ip 127.0.0.2; } } session { asn { remote 65001; } } } }
       plugin { external geo { run "exec ${process.execPath} geo.mjs"; } }`,
      { ze_test_bgp_port: '0' },
      folder,
    );
    await eventually('the plugin runs', async () => ((await zest.json('geo', 'rows', '1'))['length'] === 0 ? undefined : true));
  });
  after(async () => {
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a million rows from plugin to terminal, in bounded memory on every side', async (t) => {
    await counting(zest, ['geo', 'rows', '1000', '--format', 'text']);
    const before = memory(zest.child.pid ?? 0);
    const plugin = (await zest.json('geo', 'alive'))['peak'] as number;
    const { code, lines, peak } = await counting(zest, ['geo', 'rows', String(MILLION), '--format', 'json-compact']);
    assert.equal(code, 0);
    assert.equal(lines, 1);
    const grown = memory(zest.child.pid ?? 0) - before;
    const pluginGrown = (((await zest.json('geo', 'alive'))['peak'] as number) - plugin) / 1024 / 1024;
    t.diagnostic(`daemon +${grown.toFixed(0)} MiB, plugin +${pluginGrown.toFixed(0)} MiB, command line ${peak.toFixed(0)} MiB`);
    // The rows are 25 MB of text; held as records anywhere they would be 200 MB and more.
    assert.ok(grown < 150, `the daemon grew by ${grown.toFixed(0)} MiB`);
    assert.ok(pluginGrown < 100, `the plugin grew by ${pluginGrown.toFixed(0)} MiB`);
    assert.ok(peak < 200, `the command line took ${peak.toFixed(0)} MiB`);
  });

  test('every row arrives, one a line, also where the reader is slow at first', async () => {
    const { code, lines } = await counting(zest, ['geo', 'rows', '200000', '--format', 'text'], 30);
    assert.deepEqual([code, lines], [0, 200_001]);
  });

  test('who leaves an endless answer releases its generator in the plugin', async () => {
    const child = spawn(process.execPath, [PROGRAM, 'geo', 'endless', '--format', 'text'], {
      env: zest.environment,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    assert.equal((await zest.json('geo', 'alive'))['alive'], 1);
    child.stdout.destroy();
    child.kill('SIGINT');
    await eventually('the generator is released', async () =>
      (await zest.json('geo', 'alive'))['alive'] === 0 ? true : undefined,
    );
  });

  test('two answers of one plugin at a time do not mix', async () => {
    const [a, b, c] = await Promise.all([
      counting(zest, ['geo', 'rows', '50000', '--format', 'text']),
      counting(zest, ['geo', 'rows', '30000', '--format', 'text']),
      zest.json('geo', 'alive'),
    ]);
    assert.deepEqual([a.lines, b.lines, typeof c['rss']], [50_001, 30_001, 'number']);
  });

  test('rejected rows and text with line ends come through as they are', async () => {
    const { code, stdout, stderr } = await zest.cli('geo', 'odd', '--json');
    const document = JSON.parse(stdout) as Record<string, unknown>;
    assert.deepEqual(document, {
      data: [
        { a: 'line\nfeed', b: 1 },
        { a: '\u2028', b: 2 },
      ],
      errors: [{ a: 'no' }],
    });
    assert.equal(code, 1);
    assert.equal(stderr, '');
  });

  test('a walk that breaks off keeps its rows and says why', async () => {
    const { code, stdout } = await zest.cli('geo', 'broken', '--json');
    assert.equal(code, 1);
    assert.match(stdout, /\{"i":299\}/);
    const text = await zest.cli('geo', 'broken', '--format', 'text');
    assert.match(text.stderr, /the table went away/);
  });

  test('Tab asks the plugin, help shows its texts line by line and its aliases', async () => {
    const offered = await zest.cli('completion', 'words', '--', 'geo', 'rows', '1');
    assert.equal(offered.stdout, '10\t\n1000\tas many\n');
    const help = await zest.cli('help', 'geo', 'list');
    assert.match(
      help.stdout,
      /^geo rows \[COUNT\]\n\nMany rows\n\nFirst line\nSecond line\n\n"geo list" is an old name of "geo rows"\n/,
    );
    assert.match(help.stdout, /Pipes of its own\n {2}second +The second row\n/);
    assert.deepEqual((await zest.cli('geo rows | second')).stdout, '[{"n":1,"text":"row"}]\n');
    assert.equal((await zest.cli('geo', 'list', '1', '--format', 'json-compact')).stdout, '[{"n":0,"text":"row"}]\n');
  });

  test('what the plugin adds stands in the answer under its key', async () => {
    const { peers } = await zest.json('peer', 'edge', 'detail');
    assert.deepEqual((peers as Record<string, Record<string, unknown>>)['127.0.0.2']?.['geo'], {
      city: 'near 127.0.0.2',
      mode: 'detail',
    });
  });

  test('doctor runs the plugin’s check and flags the code it did not declare', async () => {
    const { code, stdout } = await zest.cli('doctor', '--json');
    const report = JSON.parse(stdout) as { from: string; status: string; checks: Record<string, unknown>[] };
    assert.deepEqual([code, report.from, report.status], [1, 'daemon', 'error']);
    assert.deepEqual(
      report.checks.filter((one) => one['owner'] === 'geo').map((one) => [one['check'], one['code'], one['undeclared']]),
      [
        ['atlas', 'doctor-atlas-old', undefined],
        ['atlas', 'doctor-flat', true],
      ],
    );
    const text = await zest.cli('doctor');
    assert.match(text.stdout, /warning +geo\/atlas +doctor-atlas-old: the atlas is of 1913\n/);
    assert.match(text.stdout, /doctor-flat \(a code the check does not declare\): the earth is flat\n/);
  });

  test('a command of a plugin that is gone names the plugin and how it is', async () => {
    await zest.cli('geo', 'die');
    await eventually('the plugin is gone', async () => {
      const { plugins } = await zest.json('plugin', 'list');
      return (plugins as { name: string; state: string }[]).some((one) => one.name === 'geo' && one.state !== 'running')
        ? true
        : undefined;
    });
    for (const words of [
      ['geo', 'rows'],
      ['geo', 'list', '5'],
      ['geo', 'nonsense'],
    ]) {
      const { code, stderr } = await zest.cli(...words);
      assert.equal(code, 1);
      assert.match(stderr, /^error: plugin geo is (?:failed|stopped|disabled)/, words.join(' '));
      assert.doesNotMatch(stderr, /did you mean/);
    }
  });
});
