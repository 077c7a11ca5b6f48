// A plugin with configuration of its own against the real program: its block is read, checked and delivered; a refused one leaves nothing;
// what plugins declare is shown without starting them.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { eventually, PROGRAM, type Ran, run, ZestProcess } from '../../support/zest-process.ts';

const SDK = pathToFileURL(resolve(import.meta.dirname, '../../../dist/sdk/plugin/index.js')).href;

/** An author's plugin: says what it adds, keeps what it is configured with, has a family of its own. */
const PLUGIN = `
import { Plugin, runOrDeclare } from '${SDK}';
const [mode = ''] = process.argv.slice(2);
const yang = \`module acme {
  namespace "urn:acme"; prefix acme;
  import ze-bgp-conf { prefix bgp; }
  description "Acme's settings";
  container acme {
    leaf interval { type uint16 { range "1..60"; } default 5; }
    leaf mode { type enumeration { enum fast; enum slow; } }
    list target { key name; leaf name { type string; } leaf weight { type uint8; default 1; } }
  }
  augment "/bgp:bgp/bgp:peer" { leaf acme-weight { type uint8; default 7; } }
}\`;
const declaration = {
  commands: [{ name: 'acme config' }, { name: 'daemon status' }],
  'wants-config': ['acme'],
  families: [{ name: 'acme/things', mode: 'both', afi: 16400, safi: 200 }],
  schema: { module: 'acme', namespace: 'urn:acme', 'yang-text': mode === 'broken' ? yang.replace('type uint8;', '') : yang, handlers: ['acme'] },
};
async function start() {
  const plugin = Plugin.fromEnv('acme');
  let sections = [];
  plugin.onConfigure((input) => { sections = input.sections; });
  plugin.onExecuteCommand(() => JSON.parse(JSON.stringify({ sections })));
  plugin.onEvent(() => undefined);
  plugin.onDecodeNlri(({ hex }) => { if (hex === 'ff') throw new Error('no thing I know'); return { thing: hex }; });
  plugin.onEncodeNlri(() => { throw new Error('a thing needs a name'); });
  await plugin.run({ ...declaration, subscribe: undefined });
  return 0;
}
if (mode === 'mute' && process.env.ZE_PLUGIN_MODE === 'declare') { console.error('what mode?'); process.exit(2); }
process.exit(await runOrDeclare(declaration, start));
`;

const peers = (more = ''): string => `bgp {
  router-id 10.0.0.1;
  session { asn { local 64500; } }
  peer p {
    ${more}
    connection { local { ip 127.0.0.1; } remote { ip 127.0.0.2; connect false; } }
    session { asn { remote 64501; } family { acme/things { prefix { maximum 5; } } } }
  }
}
`;
const plugin = (words = ''): string => `plugin { external mon { run "exec node acme.mjs ${words}"; } }\n`;

describe('plugins with configuration of their own', { timeout: 600_000 }, () => {
  let folder: string;
  const zest = (...words: string[]): Promise<Ran> => run(process.execPath, [PROGRAM, ...words]);
  const write = (text: string, name = 'zest.conf'): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-declared-')));
    writeFileSync(join(folder, 'acme.mjs'), PLUGIN);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('the editor learns what a plugin adds, once the candidate names the plugin', async () => {
    const file = write(peers().replace('acme/things', 'ipv4/unicast'), 'edited.conf');
    const edit = (...lines: string[]): Promise<Ran> =>
      zest('config', 'edit', '--file', file, ...lines.flatMap((line) => ['-c', line]));
    const plain = await edit('set acme interval 7');
    assert.match(plain.stderr, /line 1, column 5: unknown top-level keyword: acme/);
    const command = 'set plugin external mon run "exec node acme.mjs"';
    const wrong = await edit(command, 'set acme interval 70');
    assert.match(wrong.stderr, /line 2, column 19: acme\/interval: 70 is out of range \(1\.\.60\)/);
    const good = await edit(command, 'set acme interval 7', 'set bgp peer p acme-weight 3', 'commit', 'show acme');
    assert.equal(good.code, 0, good.stderr);
    assert.match(good.stdout, /revision 2\ninterval 7;\n$/);
    const offered = await zest('config', 'completion', '--input', 'set+acme+mode+', file);
    assert.equal(offered.stdout, 'fast\nslow\n');
  });

  test('config validate asks the plugin and checks its block', async () => {
    const good = await zest(
      'config',
      'validate',
      write(`${plugin()}acme { mode fast; target x { } }\n${peers('acme-weight 9;')}`),
    );
    assert.equal(good.code, 0, good.stdout);
    const bad = await zest(
      'config',
      'validate',
      write(`${plugin()}acme {\n  mode fist;\n  interval 61;\n  taget x;\n}\n${peers()}`),
    );
    assert.equal(bad.code, 1);
    for (const line of [
      'line 3: acme/mode: "fist" is not one of fast, slow (did you mean "fast"?)',
      'line 4: acme/interval: 61 is out of range (1..60)',
      'line 5: unknown field in acme: taget (did you mean "target"?)',
    ])
      assert.ok(bad.stdout.includes(line), bad.stdout);
    const unasked = await zest('config', 'validate', '--no-plugins', write(`${plugin()}acme { mode fast; }\n`));
    assert.match(unasked.stdout, /unknown top-level keyword: acme/);
    assert.doesNotMatch(unasked.stdout, /plugin mon/);
  });

  test('a plugin that does not answer the question is named with what would help', async () => {
    const { code, stdout } = await zest('config', 'validate', write(`${plugin('mute')}acme { mode fast; }\n`));
    assert.equal(code, 1);
    assert.match(stdout, /line 2: unknown top-level keyword: acme/);
    assert.match(
      stdout,
      /plugin mon: did not say what it adds .*no-answer: it sent nothing \(exit code 2\): what mode\?.*ZE_PLUGIN_MODE=declare/,
    );
  });

  test('what a configuration declares: five outcomes, in order, with and without JSON', async () => {
    const path = write(
      `plugin {
  external mon { run "exec node acme.mjs"; }
  external none { run "echo '#1 ze-plugin-engine:declare-registration {}'"; }
  external mute { run "exec node acme.mjs mute"; }
  external gone { run "no-such-program-here"; }
  external slow { run "exec sleep 600"; }
  external rib { use bgp-rib; }
}
`,
      'five.conf',
    );
    // All are asked at once: long enough for those that answer, each a process that starts.
    const environment = { ...process.env, ze_plugin_query_timeout: '15s' };
    const answer = await run(
      process.execPath,
      [PROGRAM, 'show', 'plugin', 'declarations', 'config', path, '--json'],
      environment,
    );
    assert.equal(answer.code, 1, 'some have not answered');
    const { declarations } = JSON.parse(answer.stdout) as { declarations: Record<string, unknown>[] };
    assert.deepEqual(
      declarations.map((row) => [row['plugin'], row['outcome']]),
      [
        ['mon', 'declared'],
        ['none', 'declared-none'],
        ['mute', 'no-answer'],
        ['gone', 'unstartable'],
        ['slow', 'timeout'],
        ['rib', 'declared'],
      ],
    );
    assert.deepEqual(declarations[0], {
      plugin: 'mon',
      outcome: 'declared',
      families: ['acme/things'],
      commands: ['acme config', 'daemon status'],
      roots: ['acme'],
      schema: 'acme',
      policy: 'ignore',
      reason: '',
    });
    const table = await zest('show', 'plugin', 'declarations', 'config', write(plugin(), 'one.conf'));
    assert.equal(table.code, 0, table.stderr);
    for (const word of ['plugin', 'outcome', 'families', 'commands', 'roots', 'policy', 'reason', 'acme config, daemon status'])
      assert.ok(table.stdout.includes(word), table.stdout);
    assert.equal((await zest('show', 'plugin', 'declarations', 'config', join(folder, 'none.conf'))).code, 2);
  });

  test('the daemon: the block is delivered typed and with defaults, a reload knows it, the schema is shown', async (t) => {
    const config = `${plugin()}acme { mode fast; target x { } }\n${peers()}`;
    const daemon = await ZestProcess.start(config, {}, folder);
    t.after(() => daemon.stop('SIGKILL'));
    const answer = (await daemon.json('acme', 'config')) as { sections: { root: string; data: string }[] };
    assert.deepEqual(
      answer.sections.map(({ root, data }) => [root, JSON.parse(data) as unknown]),
      [['acme', { acme: { mode: 'fast', target: { x: { weight: 1 } }, interval: 5 } }]],
    );
    const warnings = (await daemon.json('show', 'warnings')) as unknown as { code: string; subject: string }[];
    assert.deepEqual(
      warnings.filter(({ subject }) => subject === 'mon').map(({ code }) => code),
      ['plugin-command'],
      'daemon status is a command of the engine',
    );
    assert.match((await daemon.cli('schema', 'list')).stdout, /acme +urn:acme +Acme's settings/);
    assert.match((await daemon.cli('schema', 'show', 'acme')).stdout, /^module acme \{/);
    const pid = (): Promise<unknown> =>
      daemon
        .json('plugin', 'list')
        .then((list) => (list['plugins'] as { name: string; pid: number }[]).find((one) => one.name === 'mon')?.pid);
    const before = await pid();
    const asked = (await daemon.json('show', 'plugin', 'declarations'))['declarations'] as Record<string, unknown>[];
    assert.deepEqual(
      asked.map((row) => [row['plugin'], row['outcome']]),
      [['mon', 'declared']],
    );
    assert.equal(await pid(), before, 'the running process is not touched');
    const file = await daemon.cli(
      'cli',
      '-c',
      `show plugin declarations config ${write('plugin { external evil { run "touch evil"; } }', 'evil.conf')}`,
    );
    assert.notEqual(file.code, 0);
    assert.match(file.stderr, /the daemon asks about the configuration it runs/);
    const refused = await daemon.cli('peer', 'p', 'update', 'text', 'nlri', 'acme/things', 'add', 'x');
    assert.match(refused.stderr, /a thing needs a name/, 'the owner of a family says why it cannot be written');

    write(`${plugin()}acme { interval 61; }\n${peers()}`);
    assert.match((await daemon.cli('daemon', 'reload')).stderr, /acme\/interval: 61 is out of range \(1\.\.60\)/);
    write(peers());
    assert.match((await daemon.cli('daemon', 'reload')).stderr, /"acme\/things" is not an address family/);
    write(`${plugin()}acme { interval 9; }\n${peers('acme-weight 3;')}`);
    assert.equal((await daemon.cli('daemon', 'reload')).code, 0);
  });

  test('a plugin that cannot answer the question runs without its block, and a reload accepts it: stage 1 has said so', async (t) => {
    const daemon = await ZestProcess.start(plugin('mute'), {}, folder);
    t.after(() => daemon.stop('SIGKILL'));
    write(`${plugin('mute')}acme { mode slow; }\n`);
    const { code, stderr } = await daemon.cli('daemon', 'reload');
    assert.equal(code, 0, stderr);
  });

  test('a refused schema: the plugin is down and says why, nothing of it is left', async (t) => {
    const daemon = await ZestProcess.start(plugin('broken'), {}, folder);
    t.after(() => daemon.stop('SIGKILL'));
    const errors = await eventually('the refusal is reported', async () => {
      const list = (await daemon.json('show', 'errors')) as unknown as { code: string; message: string }[];
      return list.length > 0 ? list : undefined;
    });
    assert.deepEqual(
      errors.map(({ code }) => code),
      ['plugin-registration'],
    );
    assert.match(errors[0]?.message ?? '', /invalid registration: schema of plugin mon: acme:8: leaf weight: needs a type/);
    assert.match((await daemon.cli('acme', 'config')).stderr, /unknown command/);
    assert.doesNotMatch((await daemon.cli('schema', 'list')).stdout, /acme/);
  });
});
