// Query mode from the engine's side: five outcomes, bounds, and that nothing of a query stays.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { PluginSettings } from '../../../engine/config/settings/plugin-settings.ts';
import { systemClock } from '../../../engine/core/clock.ts';
import { type DeclarationAnswer, declarationRow, queryDeclarations } from '../../../engine/host/startup/query.ts';
import { workingIn } from '../../support/child-processes.ts';
import { eventually } from '../../support/zest-process.ts';

const LINE = '#1 ze-plugin-engine:declare-registration';
const settings = (name: string, how: { run?: string; use?: string }): PluginSettings => ({
  name,
  run: how.run ?? '',
  use: how.use ?? '',
  encoder: 'json',
  respawn: undefined,
  timeoutMs: 5000,
  queue: { batches: 64, bytes: 1 << 22, onOverflow: undefined },
  isolation: 'main',
});
const echo = (text: string): string => `echo '${text}'`;
const DECLARED = `${LINE} {"commands":[{"name":"acme show"}],"wants-config":["acme"],"failure-policy":"restart"}`;

const rows: readonly (readonly [name: string, how: { run?: string; use?: string }, outcome: string, reason: RegExp])[] = [
  ['a declaration', { run: echo(DECLARED) }, 'declared', /^$/],
  ['other lines before it', { run: `echo hello; echo '#1 ok'; echo '#7 x:y {}'; ${echo(DECLARED)}` }, 'declared', /^$/],
  [
    'keys in another case, unknown keys, nulls',
    { run: echo(`${LINE} {"Commands":[{"NAME":"x"}],"connection-handlers":[{}],"schema":null}`) },
    'declared',
    /^$/,
  ],
  ['no line feed at the end', { run: `printf '%s' '${DECLARED}'` }, 'declared', /^$/],
  ['it stays after its line', { run: `${echo(DECLARED)}; exec sleep 30` }, 'declared', /^$/],
  ['it declares nothing', { run: echo(`${LINE} {}`) }, 'declared-none', /^$/],
  ['it declares nothing, without params', { run: echo(LINE) }, 'declared-none', /^$/],
  [
    'stage 1 would refuse it',
    { run: echo(`${LINE} {"failure-policy":"perhaps"}`) },
    'declared',
    /^invalid registration: failure-policy "perhaps"/,
  ],
  ['no line', { run: 'echo hello' }, 'no-answer', /^it sent nothing \(exit code 0\)$/],
  [
    'no line, and a reason',
    { run: "echo one >&2; printf 'no \\033[31mhub\\n' >&2; exit 3" },
    'no-answer',
    /^it sent nothing \(exit code 3\): no \\x1b\[31mhub$/,
  ],
  ['killed', { run: 'kill -9 $$' }, 'no-answer', /ended by SIGKILL/],
  ['no JSON', { run: echo(`${LINE} {"commands":`) }, 'no-answer', /^its declaration cannot be read: /],
  ['a wrong kind', { run: echo(`${LINE} {"commands":7}`) }, 'no-answer', /commands is not a list/],
  ['a line past 16 MiB', { run: 'head -c 17000000 /dev/zero | tr "\\0" x' }, 'no-answer', /longer than 16 MiB/],
  ['no such program', { run: 'no-such-program-here' }, 'unstartable', /^exit code 127: .*not found/],
  ['silence', { run: 'sleep 30' }, 'timeout', /^nothing within 10 s$/],
  ['no such module', { use: './none.mjs' }, 'unstartable', /no such file/],
  ['no such built-in', { use: 'bgp-rip' }, 'unstartable', /^no built-in plugin "bgp-rip" \(did you mean "bgp-rib"\?\)$/],
  ['a module', { use: './good.mjs' }, 'declared', /^$/],
  ['a module that is none', { use: './empty.mjs' }, 'unstartable', /not a plugin/],
  ['a module that throws when it is asked', { use: './throws.mjs' }, 'no-answer', /^no moon$/],
  ['a module that never answers', { use: './hangs.mjs' }, 'timeout', /^nothing within 10 s$/],
];

describe('declarations', { timeout: 600_000 }, () => {
  let folder: string;
  const ask = (
    plugins: readonly PluginSettings[],
    timeoutMs = 10_000,
    signal?: AbortSignal,
  ): Promise<readonly DeclarationAnswer[]> =>
    queryDeclarations(plugins, {
      builtins: [{ name: 'bgp-rib', placement: 'main', moduleUrl: `file://${folder}/good.mjs` }],
      folder,
      binFolder: '/opt/zest/bin',
      environment: { ...process.env, ZE_PLUGIN_HUB_TOKEN: 'secret', 'ze.plugin.ca.pem': 'pem', ZE_LOG_BGP: 'debug' },
      clock: systemClock,
      timeoutMs,
      signal,
    });

  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-query-')));
    const module = (name: string, describe: string): void =>
      writeFileSync(join(folder, `${name}.mjs`), `export default { run() {}, describe: ${describe} };`);
    module('good', "() => Promise.resolve({ commands: [{ name: 'good show' }], families: [{ name: 'ipv4/flow' }] })");
    module('throws', "() => Promise.reject(new Error('no moon'))");
    module('hangs', '() => new Promise(() => {})');
    writeFileSync(join(folder, 'empty.mjs'), 'export default {};');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('every outcome, in the order of the plugins, and nothing stays', async () => {
    const plugins = rows.map(([, how], index) => settings(`p${index}`, how));
    const answers = await ask(plugins);
    assert.deepEqual(
      answers.map((answer) => answer.plugin),
      plugins.map((plugin) => plugin.name),
    );
    for (const [index, [name, , outcome, reason]] of rows.entries()) {
      const answer = answers[index];
      assert.ok(answer !== undefined);
      assert.equal(answer.outcome, outcome, `${name}: ${answer.reason}`);
      assert.match(answer.reason, reason, name);
      assert.equal(answer.declaration !== undefined, outcome.startsWith('declared'), name);
    }
    await eventually('no process is left', () => (workingIn(folder).length === 0 ? true : undefined));
  });

  test('the environment has the mode and nothing of a hub; the folder is that of the configuration', async () => {
    const run = `printf '%s {"claims":["%s","%s","%s","%s","%s","%s"]}\\n' '${LINE}' "$ZE_PLUGIN_MODE" "$ZE_PLUGIN_HUB_TOKEN" "$(env | grep -ci ca.pem)" "$ZE_LOG_BGP" "$PWD" "\${PATH%%:*}"`;
    const [answer] = await ask([settings('p', { run })]);
    assert.deepEqual(answer?.declaration?.claims, ['declare', '', '0', 'debug', folder, '/opt/zest/bin']);
  });

  test('no more than eight at a time', async () => {
    const count = join(folder, 'count');
    const run = `ls started | wc -l >> ${count}; touch started/$$; sleep 0.1; rm started/$$; ${echo(DECLARED)}`;
    mkdirSync(join(folder, 'started'));
    const answers = await ask(
      Array.from({ length: 20 }, (_, i) => settings(`p${i}`, { run })),
      20_000,
    );
    assert.ok(answers.every((answer) => answer.outcome === 'declared'));
    const seen = readFileSync(count, 'utf8').trim().split('\n').map(Number);
    assert.equal(seen.length, 20);
    assert.ok(Math.max(...seen) < 8, seen.join(' '));
  });

  test('whoever stops asking is not waited for, and what was started ends', async () => {
    const stop = new AbortController();
    const asking = ask([settings('p', { run: 'sleep 30' }), settings('q', { run: 'sleep 30' })], 20_000, stop.signal);
    await eventually('the programs run', () => (workingIn(folder).length >= 2 ? true : undefined));
    stop.abort();
    assert.deepEqual(
      (await asking).map((answer) => answer.outcome),
      ['unstartable', 'unstartable'],
    );
    await eventually('no process is left', () => (workingIn(folder).length === 0 ? true : undefined));
  });

  test('a row of the table', async () => {
    const [answer] = await ask([settings('p', { run: echo(DECLARED) })]);
    assert.ok(answer !== undefined);
    assert.deepEqual(declarationRow(answer), {
      plugin: 'p',
      outcome: 'declared',
      families: [],
      commands: ['acme show'],
      roots: ['acme'],
      schema: '',
      policy: 'restart',
      reason: '',
    });
  });
});
