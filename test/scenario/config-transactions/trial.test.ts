// A check of a candidate that brings plugins: each program is started for a trial, says what it makes of the candidate, and is gone; who cannot
// be asked is named with the reason. The commit then asks the same and gets the same answer.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ZestProcess } from '../../support/zest-process.ts';

const SDK = pathToFileURL(resolve(import.meta.dirname, '../../../dist/sdk/plugin/index.js')).href;

/** Writes down what it is asked; dislikes some peers; announces as soon as it may. */
const PLUGIN = `
import { appendFileSync } from 'node:fs';
import { Plugin } from '${SDK}';
const [name, mode = ''] = process.argv.slice(2);
const note = (text) => appendFileSync('asked.log', name + ' ' + text + '\\n');
note('starts, trial ' + (process.env.ZEST_PLUGIN_TRIAL ?? 'no'));
if (mode === 'dead') process.exit(3);
const plugin = Plugin.fromEnv(name);
plugin.onConfigure(({ sections }) => {
  note('configure ' + sections.map((section) => section.root).join());
  if (mode === 'fussy') throw new Error('no such configuration for me');
});
plugin.onConfigVerify(({ sections }) => {
  note('verify ' + sections.map((section) => section.root).join());
  if (JSON.stringify(sections).includes('unloved')) throw new Error('this peer is not to my taste');
});
plugin.onConfigApply(() => note('apply'));
plugin.onAllPluginsReady(async () => {
  await plugin.updateRoute('*', 'update text origin igp next-hop self nlri ipv4/unicast add 203.0.113.0/24').then(
    () => note('announced'),
    (error) => note('not announced: ' + error.message),
  );
});
await plugin.run({ 'wants-config': ['bgp'], dependencies: mode === 'needy' ? ['somebody'] : [] });
`;

type Fields = Readonly<Record<string, unknown>>;

describe('plugins that only the candidate names', { timeout: 600_000 }, () => {
  let folder: string;
  let zest: ZestProcess;
  const config = (description: string, ...plugins: readonly string[]): string => `
${plugins.map((one) => `plugin { external ${one.split(' ')[0] ?? ''} { ${one.startsWith('module') ? 'use "./some.mjs"' : `run "exec node plugin.mjs ${one}"`}; timeout 20s; } }`).join('\n')}
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer one {
        description ${description}
        connection { local { ip 127.0.0.1; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 1000; } } } }
    }
}
`;
  const log = (): readonly string[] => readFileSync(join(folder, 'asked.log'), 'utf8').split('\n').filter(Boolean);
  const check = async (text: string): Promise<Fields> => {
    writeFileSync(join(folder, 'asked.log'), '');
    writeFileSync(join(folder, 'candidate.conf'), text);
    const { stdout } = await zest.cli('config', 'check', join(folder, 'candidate.conf'), '--json');
    return JSON.parse(stdout) as Fields;
  };
  const said = (answer: Fields): readonly unknown[] =>
    (answer['plugins'] as readonly Fields[])
      .filter((one) => !String(one['name']).startsWith('bgp-'))
      .map((one) => [one['name'], one['state'], one['error']]);
  const names = async (): Promise<readonly string[]> =>
    ((await zest.json('plugin', 'list'))['plugins'] as readonly { name: string }[]).map(({ name }) => name);

  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-trial-')));
    writeFileSync(join(folder, 'plugin.mjs'), PLUGIN);
    zest = await ZestProcess.start(config('first'), {}, folder);
  });
  after(async () => {
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('one that agrees is asked and is gone; nothing of it reaches the daemon', async () => {
    const before = await names();
    const answer = await check(config('first', 'good'));
    assert.deepEqual([answer['accepted'], said(answer)], [true, [['good', 'verified', undefined]]]);
    const [starts, configure, ...rest] = log();
    assert.deepEqual([starts, configure], ['good starts, trial 1', 'good configure bgp']);
    assert.ok(rest.includes('good verify bgp'), rest.join(', '));
    assert.ok(!rest.some((line) => /apply|good announced/.test(line)), rest.join(', '));
    assert.deepEqual(await names(), before);
  });

  test('one that objects refuses the check, by the same word as the commit', async () => {
    const text = config('unloved', 'good');
    const answer = await check(text);
    assert.deepEqual([answer['accepted'], answer['refused']], [false, 'plugin good: verify: this peer is not to my taste']);
    writeFileSync(zest.configPath, text);
    await assert.rejects(zest.json('daemon', 'reload'), /plugin good: verify: this peer is not to my taste/);
    assert.ok(!(await names()).includes('good'));
    assert.match(String((await zest.json('config', 'text'))['text']), /description first/);
    const fussy = await check(config('first', 'fussy fussy'));
    assert.equal(fussy['accepted'], false);
    assert.match(String(fussy['refused']), /plugin fussy: .*no such configuration for me/);
  });

  test('one that cannot be asked is named with the reason', async () => {
    writeFileSync(join(folder, 'some.mjs'), 'export default {};\n');
    const answer = await check(config('second', 'dead dead', 'needy needy', 'module'));
    assert.equal(answer['accepted'], true);
    const plugins = answer['plugins'] as readonly Fields[];
    const why = (name: string): unknown => plugins.find((one) => one['name'] === name)?.['error'];
    assert.match(String(why('dead')), /could not be asked: .*code 3/);
    assert.match(String(why('needy')), /could not be asked: missing dependency: .*somebody/);
    assert.match(String(why('module')), /could not be asked: it runs in the process of the daemon/);
    assert.ok((answer['impact'] as readonly string[]).some((line) => /^plugin dead: could not be asked: /.test(line)));
  });

  test('a good candidate is committed, and then its plugin may announce', async () => {
    writeFileSync(join(folder, 'asked.log'), '');
    writeFileSync(zest.configPath, config('first', 'good'));
    await zest.json('daemon', 'reload');
    assert.ok((await names()).includes('good'));
    assert.deepEqual(log().slice(0, 2), ['good starts, trial no', 'good configure bgp']);
    assert.ok(log().includes('good verify bgp') && !log().includes('good apply'));
    const other = await check(config('first', 'good other'));
    assert.match(JSON.stringify(said(other)), /good.*not-asked.*is started anew by the commit/);
  });
});
