// Config transactions over a daemon with three plugins: one in the process, one in TypeScript over TLS that takes its change apart, one in
// Python from the protocol's text that misbehaves. Whatever it does, the session stays, the old state is in force, and it is named.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { assertCodesListed, reports } from '../../support/report-codes.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

const { status } = spawnSync('python3', [
  '-c',
  'import ssl, sys; sys.exit(0 if ssl.HAS_TLSv1_3 and sys.version_info >= (3, 9) else 1)',
]);
const skip = status === 0 ? false : 'no python3 of 3.9 or later with TLS 1.3';
const SDK = pathToFileURL(resolve(import.meta.dirname, '../../../dist/sdk/plugin/index.js')).href;
const NAMES = ['first', 'second', 'third'] as const;

const config = (port: number, description: string, more = ''): string => `
environment { log { level warn; } }
plugin {
    external first { use "./first.mjs"; }
    external second { run "exec node second.mjs"; timeout 20s; }
    external third { run "exec python3 third.py"; timeout 20s; }
}
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer one {
        description "${description}"
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 1000; } } } }
    }
    ${more}
}
`;

interface PluginRow {
  readonly name: string;
  readonly state: string;
  readonly restarts: number;
  readonly 'last-error': string;
}

describe('config transactions', { skip, timeout: 600_000 }, () => {
  let folder: string;
  let port: number;
  let zest: ZestProcess;
  let speaker: RawSpeaker;
  const read = (file: string): readonly string[] => {
    try {
      return readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean);
    } catch {
      return [];
    }
  };
  const forget = (): void => {
    for (const name of [...NAMES, 'events']) rmSync(join(folder, `${name}.log`), { force: true });
  };
  const row = async (name: string): Promise<PluginRow | undefined> =>
    ((await zest.json('plugin', 'list'))['plugins'] as readonly PluginRow[]).find((one) => one.name === name);
  /** What the reactor runs the peer with. */
  const inForce = async (): Promise<unknown> => {
    const { peers } = (await zest.json('peer', 'one', 'detail')) as { peers: Record<string, Record<string, unknown>> };
    const { description, state, families, prefixes, timer, name, flaps } = peers['127.0.0.2'] ?? {};
    return { description, state, families, prefixes, timer, name, flaps };
  };
  const events = (): readonly { event: string; payload: Record<string, unknown> }[] =>
    read('events.log').map((line) => {
      const { event, payload } = JSON.parse(line) as { event: string; payload: unknown };
      return { event, payload: (typeof payload === 'string' ? JSON.parse(payload) : payload) as Record<string, unknown> };
    });

  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-transactions-')));
    for (const name of ['first', 'second']) {
      const source = readFileSync(join(import.meta.dirname, 'fixtures', `${name}.ts`), 'utf8').replace(
        "'zest-bgp/sdk'",
        `'${SDK}'`,
      );
      const { outputText } = ts.transpileModule(source, {
        compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
      });
      writeFileSync(join(folder, `${name}.mjs`), outputText);
    }
    copyFileSync(join(import.meta.dirname, 'fixtures', 'third.py'), join(folder, 'third.py'));
    port = await freePort();
    zest = await ZestProcess.start(config(port, 'old'), {}, folder);
    speaker = await RawSpeaker.establish({ port, local: '127.0.0.2' });
  });
  after(async () => {
    await speaker.close();
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('everyone verifies, applies and commits; an operation is waited for', async () => {
    forget();
    writeFileSync(zest.configPath, config(port, 'good'));
    const report = await zest.json('daemon', 'reload');
    assert.match(String(report['transaction-id']), /^tx-\d{19}$/);
    assert.deepEqual(report['plugins'], [
      // It wants to know of every peer, since any may have a pool.
      { name: 'bgp-watchdog', state: 'committed', operations: 0 },
      { name: 'first', state: 'committed', operations: 0 },
      { name: 'second', state: 'committed', operations: 1 },
      { name: 'third', state: 'committed', operations: 0 },
    ]);
    assert.deepEqual(report['peers-changed'], ['one']);
    assert.deepEqual(read('first.log'), [
      'config-verify',
      'config-apply {"bgp/peer/one/description":{"old":"old","new":"good"}}',
      'config-committed',
    ]);
    assert.deepEqual(read('second.log'), [
      'decompose',
      'operation-verify note-1',
      'operation-apply note-1',
      'ready',
      'operation-commit',
      'config-committed',
    ]);
    assert.deepEqual(read('third.log'), ['config-verify', 'config-apply', 'config-committed']);
    const seen = await eventually('the last event', () => {
      const all = events();
      return all.at(-1)?.event === 'applied' ? all : undefined;
    });
    const types = seen.map(({ event }) => event);
    for (const type of [
      ...['verify-first', 'verify-ok', 'apply-third', 'apply-ok', 'operation-verify-second', 'operation-verify-ok'],
      ...['operation-apply-second', 'operation-apply-ok', 'operation-commit-second', 'operation-commit-ok', 'committed'],
    ]) {
      assert.ok(types.includes(type), `${type} in ${types.join(' ')}`);
    }
    assert.ok(seen.every(({ payload }) => payload['transaction-id'] === report['transaction-id']));
    assert.equal(seen.find(({ event }) => event === 'verify-third')?.payload['deadline-ms'], 5000);
    assert.equal(seen.find(({ event }) => event === 'apply-third')?.payload['deadline-ms'], 2000);
    assert.equal(seen.at(-1)?.payload['saved'], true);
    assert.equal(((await inForce()) as { description: string }).description, 'good');
    assert.ok(speaker.established);
  });

  test('signal reload shows what daemon reload shows', async () => {
    const [signal, command] = [await zest.cli('signal', 'reload'), await zest.cli('daemon', 'reload')];
    assert.equal(signal.code, 0, signal.stderr);
    const keys = (text: string): readonly string[] =>
      [...text.matchAll(/[a-z]+-(?:added|removed|changed|id|unchanged)/g)].map(String);
    assert.ok(keys(signal.stdout).includes('transaction-id') && keys(signal.stdout).includes('peers-added'));
    assert.deepEqual(keys(signal.stdout), keys(command.stdout));
  });

  const failures: readonly {
    readonly what: string;
    readonly why: RegExp;
    readonly first: readonly string[];
    readonly second: readonly string[];
    readonly third: readonly string[];
    readonly restarted: boolean;
  }[] = [
    {
      what: 'refuse verify',
      why: /plugin third: verify: this peer is not to my taste/,
      first: ['config-verify'],
      second: [],
      third: ['config-verify'],
      restarted: false,
    },
    {
      what: 'hang verify',
      why: /plugin third: verify: no answer to config-verify within/,
      first: ['config-verify'],
      second: [],
      third: ['config-verify', 'configure good'],
      restarted: true,
    },
    {
      what: 'refuse apply',
      why: /plugin third: apply: no room left/,
      first: ['config-verify', 'config-apply', 'config-rollback'],
      second: ['decompose', 'operation-verify note-1', 'operation-apply note-1', 'ready', 'operation-rollback note-1', 'undone'],
      third: ['config-verify', 'config-apply'],
      restarted: false,
    },
    {
      what: 'die',
      why: /plugin third: apply: .*(?:closed|code 9)/,
      first: ['config-verify', 'config-apply', 'config-rollback'],
      second: ['decompose', 'operation-verify note-1', 'operation-apply note-1', 'ready', 'operation-rollback note-1', 'undone'],
      third: ['config-verify', 'config-apply', 'configure good'],
      restarted: true,
    },
    {
      what: 'hang',
      why: /plugin third: apply: no answer to config-apply within/,
      first: ['config-verify', 'config-apply', 'config-rollback'],
      second: ['decompose', 'operation-verify note-1', 'operation-apply note-1', 'ready', 'operation-rollback note-1', 'undone'],
      third: ['config-verify', 'config-apply', 'configure good'],
      restarted: true,
    },
  ];
  for (const { what, why, first, second, third, restarted } of failures) {
    test(`the third plugin is told to ${what}: nothing of it stays`, async () => {
      forget();
      const before = await reports(zest);
      const brokenBefore = before.filter((one) => one.code === 'plugin-broken' && one.subject === 'third').length;
      const old = await inForce();
      const restarts = (await row('third'))?.restarts ?? 0;
      const began = performance.now();
      writeFileSync(zest.configPath, config(port, what, 'multipath { maximum-paths 4; }'));
      const { code, stderr } = await zest.cli('daemon', 'reload');
      const took = performance.now() - began;
      assert.equal(code, 1);
      assert.match(stderr, why);
      assert.match(stderr, /transaction tx-\d+/);
      // Two seconds to apply, three times that to undo, and what a busy machine adds.
      assert.ok(took < 60_000, `${took} ms`);
      assert.deepEqual(
        read('first.log').map((line) => line.split(' ')[0]),
        first,
      );
      assert.deepEqual(read('second.log'), second);
      if (restarted) {
        await eventually('the third plugin runs again', async () => {
          const now = await row('third');
          return now?.state === 'running' && now.restarts > restarts ? true : undefined;
        });
      }
      assert.deepEqual(read('third.log'), third);
      assert.equal((await row('third'))?.restarts, restarts + (restarted ? 1 : 0));
      if (!restarted) assert.match((await row('third'))?.['last-error'] ?? '', /^config (?:verify|apply): /);
      assert.deepEqual(await inForce(), old, 'the peer is as it was');
      assert.ok(speaker.established, 'the session stays');
      const fresh = await reports(zest);
      assertCodesListed(fresh.map((one) => one.code));
      assert.ok(fresh.length > before.length);
      assert.match(fresh.filter((one) => one.code === 'reload-refused').at(-1)?.message ?? '', why);
      const broken = (await reports(zest)).filter((one) => one.code === 'plugin-broken' && one.subject === 'third').length;
      assert.equal(broken, brokenBefore + (restarted ? 1 : 0));
      await eventually('the last event', () => {
        const last = events().at(-1)?.event;
        return last === (what.endsWith(' verify') ? 'verify-abort' : 'rolled-back') ? true : undefined;
      });
    });
  }

  test('a check asks everyone, says who objects, and applies nothing', async () => {
    forget();
    const old = await inForce();
    writeFileSync(zest.configPath, config(port, 'refuse verify'));
    const answer = await zest
      .json('config', 'diff')
      .catch((error: unknown) => JSON.parse(String(error).replace(/^[^{]*/, '')) as never);
    assert.equal(answer['accepted'], false);
    assert.match(String(answer['refused']), /plugin third: verify: this peer is not to my taste/);
    assert.deepEqual(
      (answer['plugins'] as readonly { name: string; state: string }[]).map(({ name, state }) => [name, state]),
      [
        ['bgp-watchdog', 'verified'],
        ['first', 'verified'],
        ['second', 'verified'],
        ['third', 'refused'],
      ],
    );
    assert.deepEqual([read('first.log'), read('third.log')], [['config-verify'], ['config-verify']]);
    assert.deepEqual(await inForce(), old);
    assert.ok(speaker.established);
  });

  test('after all that a good candidate is taken', async () => {
    forget();
    writeFileSync(zest.configPath, config(port, 'better', 'multipath { maximum-paths 2; }'));
    const report = await zest.json('daemon', 'reload');
    assert.ok((report['plugins'] as readonly { state: string }[]).every(({ state }) => state === 'committed'));
    assert.equal(((await inForce()) as { description: string }).description, 'better');
    assert.ok(speaker.established);
  });
});
