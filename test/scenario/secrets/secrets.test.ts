// A canary secret in the configuration of a running daemon, and a plugin that quotes it wherever it may: no display, log, event or file of
// the daemon shows it.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { eventually, freePort, PROGRAM, ZestProcess } from '../../support/zest-process.ts';

const CANARY = 'canary-Zx81"of-thirty-two-characters-and-more';
const PIECE = 'of-thirty-two-characters';

const PLUGIN = `
import { definePlugin } from '${pathToFileURL(join(dirname(PROGRAM), '../sdk/plugin/index.js')).href}';
let secret = '', refuse = false;
export default definePlugin({ name: 'talker', roots: ['telemetry', 'bgp'], setup(engine) {
  engine.onConfigure(({ sections }) => {
    secret = JSON.parse(sections.find(({ root }) => root === 'telemetry').data).telemetry.prometheus['basic-auth'].password;
    console.error('the secret is ' + secret.length);
  });
  engine.onConfigVerify(({ sections }) => {
    if (JSON.stringify(sections).includes('refuse')) throw new Error('password ' + secret + ' is weak');
  });

  engine.command('talker fail', async function* () { throw new Error('failed with ' + secret); });
} });
`;

const config = (port: number, description: string, secret = CANARY): string => `
environment { log { level trace; } api-server { token ${JSON.stringify(secret)}; } }
plugin {
    hub { server main { ip 127.0.0.1; port 0; secret ${JSON.stringify(secret)}; } }
    external talker { use "./talker.mjs"; }
}
telemetry { prometheus { basic-auth { username u; password ${JSON.stringify(secret)}; } } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer one {
        description "${description}"
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 1000; } } } }
    }
}
`;

describe('secrets', { timeout: 600_000 }, () => {
  let folder: string;
  let zest: ZestProcess;
  let port: number;
  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-secrets-')));
    writeFileSync(join(folder, 'talker.mjs'), PLUGIN);
    port = await freePort();
    zest = await ZestProcess.start(config(port, 'first'), {}, folder);
  });
  after(async () => {
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('the plugin has it, and cannot make the daemon say it: a refused reload, a log, a report', async () => {
    writeFileSync(zest.configPath, config(port, 'refuse'));
    const { code, stderr, stdout } = await zest.cli('daemon', 'reload');
    assert.equal(code, 1);
    assert.match(stderr + stdout, /password \*{8} is weak/);
    assert.match((await zest.cli('show', 'errors', '--json')).stdout, /password \*{8} is weak/);
  });

  test('a changed secret is a change like another, and neither the old nor the new one is shown', async () => {
    const monitor = zest.cli('monitor', 'event', '--timeout', '3');
    writeFileSync(zest.configPath, config(port, 'second', CANARY.replace('Zx81', 'Zx82')));
    assert.deepEqual((await zest.cli('daemon', 'reload')).code, 0);
    const { stdout } = await monitor;
    assert.ok(!stdout.includes(PIECE), stdout);
  });

  test('no read-only command shows it', async () => {
    const { commands } = (await zest.json('command', 'list')) as { commands: readonly { name?: string; command?: string }[] };
    const names = commands
      .map((one) => one.name ?? one.command ?? '')
      .filter((name) => /^(show|log|plugin|event|command|daemon status|system|summary|rib|peer|doctor)/.test(name));
    assert.ok(names.length > 10, JSON.stringify(commands).slice(0, 300));
    for (const name of [
      ...names,
      'doctor',
      'log recent count 1000',
      'show plugin declarations',
      'env list',
      'plugin list',
      'show warnings',
      'show errors',
    ]) {
      const { stdout, stderr } = await zest.cli(...name.split(' '), '--json');
      assert.ok(!(stdout + stderr).includes(PIECE), name);
    }
  });

  test('offline commands do not: validate, doctor, declarations of the file', async () => {
    for (const words of [
      ['config', 'validate', '-v', zest.configPath],
      ['doctor', zest.configPath],
      ['show', 'plugin', 'declarations', 'config', zest.configPath],
    ]) {
      const { stdout, stderr } = await zest.cli(...words);
      assert.ok(stdout.length > 0 && !(stdout + stderr).includes(PIECE), words.join(' '));
    }
  });

  test('nothing that the daemon wrote holds it: log at level trace, state', async () => {
    await eventually('the log', () => (zest.output.includes('zest ready') ? true : undefined));
    assert.ok(
      !zest.output.includes(PIECE),
      zest.output.split('\n').find((line) => line.includes(PIECE)),
    );
    const state = join(folder, 'state');
    for (const name of readdirSync(state, { recursive: true, encoding: 'utf8' }))
      if (statSync(join(state, name)).isFile()) assert.ok(!readFileSync(join(state, name), 'utf8').includes(PIECE), name);
  });
});
