// The editor on a running daemon, as an operator uses it: in a terminal, by -c, by standard input; two editors at once, a daemon that goes away.
// The session of the daemon must not notice any of it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { hasScript, Terminal } from '../../support/terminal.ts';
import { eventually, freePort, PROGRAM, type Ran, ZestProcess } from '../../support/zest-process.ts';

const SDK = pathToFileURL(resolve(import.meta.dirname, '../../../dist/sdk/plugin/index.js')).href;

/** A plugin with configuration of its own. */
const ACME = `
import { appendFileSync } from 'node:fs';
import { Plugin, runOrDeclare } from '${SDK}';
if (process.env.ZE_PLUGIN_MODE === 'declare') appendFileSync('asked.log', 'asked ');
const declaration = {
  'wants-config': ['acme'],
  schema: { module: 'acme', namespace: 'urn:acme', handlers: ['acme'], 'yang-text': \`module acme {
    namespace "urn:acme"; prefix acme;
    container acme {
      leaf interval { type uint16 { range "1..60"; } default 5; description "Seconds between looks"; }
      leaf mode { type enumeration { enum fast; enum slow; } }
    }
  }\` },
};
async function start() {
  const plugin = Plugin.fromEnv('acme');
  plugin.onConfigVerify(({ sections }) => {
    if (JSON.stringify(sections).includes('slow')) throw new Error('slow is not for this machine');
  });
  await plugin.run(declaration);
  return 0;
}
process.exit(await runOrDeclare(declaration, start));
`;

const config = (port: number): string => `# What runs here
plugin {
    external acme {
        run "exec node acme.mjs";
    }
}
acme {
    interval 7;
}
bgp {
    router-id 10.0.0.1;
    session {
        asn {
            local 64500;
        }
    }
    policy {
        prefix-list A {
            entry 10.0.0.0/8 {
                action accept;
            }
        }
        prefix-list B {
            entry 172.16.0.0/12 {
                action accept;
            }
        }
    }
    peer one {
        description first;
        connection {
            local {
                ip 127.0.0.1;
                port ${port};
            }
            remote {
                ip 127.0.0.2;
                connect false;
            }
        }
        session {
            asn {
                remote 64512;
            }
            family {
                ipv4/unicast {
                    prefix {
                        maximum 1000;
                    }
                }
            }
        }
        filter {
            import [ A ];
        }
    }
}
`;

describe('the editor on a running daemon', { timeout: 600_000 }, () => {
  let folder: string;
  let port: number;
  let zest: ZestProcess;
  let speaker: RawSpeaker;
  const file = (): string => readFileSync(zest.configPath, 'utf8');
  const edit = (...lines: string[]): Promise<Ran> => zest.cli('config', 'edit', ...lines.flatMap((line) => ['-c', line]));
  const fed = (input: string, ...options: string[]): Promise<Ran> =>
    new Promise((done) => {
      const child = spawn(process.execPath, [PROGRAM, 'config', 'edit', ...options], { env: zest.environment });
      let [stdout, stderr] = ['', ''];
      child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      child.on('close', (code) => done({ code: code ?? 128, stdout, stderr }));
      child.stdin.end(input);
    });
  const terminal = (): Terminal =>
    new Terminal([process.execPath, PROGRAM, 'config', 'edit', '-u', 'ann'], zest.environment, tmpdir());
  const description = async (): Promise<unknown> =>
    Object.values((await zest.json('peer', 'one', 'detail'))['peers'] as Record<string, Record<string, unknown>>)[0]?.[
      'description'
    ];
  const undisturbed = async (): Promise<void> => {
    assert.ok(speaker.established);
    assert.equal(speaker.notification, undefined);
    const { peers } = (await zest.json('peer', 'one', 'detail')) as { peers: Record<string, Record<string, unknown>> };
    assert.equal(peers['127.0.0.2']?.['flaps'], 0);
  };

  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-edit-daemon-')));
    writeFileSync(join(folder, 'acme.mjs'), ACME);
    port = await freePort();
    zest = await ZestProcess.start(config(port), {}, folder);
    rmSync(join(folder, 'asked.log'), { force: true });
    speaker = await RawSpeaker.establish({ port, local: '127.0.0.2' });
  });
  after(async () => {
    await speaker.close();
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('in a terminal: a whole session', { skip: hasScript ? false : 'script(1) is missing' }, async () => {
    const screen = terminal();
    try {
      assert.match(await screen.until(/zest# $/), /editing the running daemon \(zest\.conf\)/);
      screen.type('set bgp peer \t');
      await screen.until(/peer one $/);
      screen.type('desc\t');
      await screen.until(/description $/);
      assert.match(await screen.line('second'), /zest\*# $/);
      screen.type('set acme mo\t');
      await screen.until(/mode $/);
      assert.match(await screen.line('?'), /fast[^]*slow/);
      assert.match(await screen.line('set acme interval ?'), /<1\.\.60> +Seconds between looks, default 5, now 7/);
      assert.match(await screen.line('set acme interval 61'), /\^\r\nerror: acme\/interval: 61 is out of range \(1\.\.60\)/);
      assert.match(await screen.line('edit bgp peer one'), /\[edit bgp peer one\]/);
      await screen.line('set timer connect-retry 5');
      await screen.line('edit session');
      assert.match(await screen.line('show'), /remote 64512;/);
      await screen.line('up');
      assert.match(await screen.line('show timer'), /connect-retry 5;/);
      await screen.line('delete timer');
      await screen.line('insert filter import B before A');
      await screen.line('top');
      await screen.line('rename bgp policy prefix-list B to C');
      assert.match(await screen.line('commit check'), /error: the candidate is invalid:[^]*"?B"?/);
      await screen.line('rename bgp policy prefix-list C to B');
      assert.match(
        await screen.line('compare'),
        /\[edit bgp peer one\]\r\n-   description first;\r\n\+   description second;\r\n[^]*\+   import \[ B A \];/,
      );
      assert.match(await screen.line('show bgp peer one | compare'), /description second/);
      const check = await screen.line('commit check');
      assert.match(check, /peer one: its routes are sent or asked for again, the session stays: .*filter\/import/);
      assert.match(check, /the candidate is valid/);
      assert.equal(await description(), 'first');
      assert.match(await screen.line('commit comment "by hand"'), /revision 2\r\npeers changed: one[^]*zest# $/);
      assert.equal(await description(), 'second');
      assert.match(file(), /^# What runs here\n[^]*description second;[^]*import \[ B A \];/);
      assert.match(await screen.line('history'), /ann +by hand/);

      await screen.line('set bgp peer one description third');
      assert.match(await screen.line('commit confirmed 600 comment trial'), /comes back in 600 s unless it is confirmed/);
      assert.equal(await description(), 'third');
      assert.doesNotMatch(file(), /third/);
      assert.match(await screen.line('status'), /a commit of ann waits \d+ s for its confirmation/);
      await screen.line('set bgp peer one description fourth');
      assert.match(
        await screen.line('commit'),
        /error: not committed: .*waits for its confirmation[^]*confirm or abort it first/,
      );
      await screen.line('abort');
      assert.equal(await description(), 'second');
      assert.match(await screen.line('discard'), /changes discarded/);
      await screen.line('set bgp peer one description third');
      await screen.line('commit confirmed 600');
      assert.match(await screen.line('commit'), /confirmed/);
      assert.match(file(), /description third;/);

      await screen.line('deactivate bgp peer one filter');
      assert.match(await screen.line('compare'), /!   inactive: filter/);
      await screen.line('activate bgp peer one filter');
      assert.match(await screen.line('commit'), /nothing has changed/);
      await screen.line('set acme mode slow');
      assert.match(await screen.line('commit'), /error: not committed: plugin acme: verify: slow is not for this machine/);
      assert.match(await screen.line('quit'), /there are changes that are not committed/);
      screen.type('quit\r');
      assert.equal(await screen.ended, 0);
      await undisturbed();
    } finally {
      screen.kill();
    }
  });

  test('the daemon says what its plugins have added: none is started for it', async () => {
    const { code, stdout, stderr } = await zest.cli('config', 'edit', '--no-plugins', '-c', 'show acme');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^interval \d+;\n$/);
    assert.ok(!existsSync(join(folder, 'asked.log')));
  });

  test('a peer comes and goes by the editor, and the other one stays', async () => {
    const lines = ['copy bgp peer one to two', 'set bgp peer two connection remote ip 127.0.0.3', 'commit comment two'];
    const added = await edit(...lines);
    assert.equal(added.code, 0, added.stderr);
    assert.match(added.stdout, /peers added: two/);
    const removed = await edit('delete bgp peer two', 'commit');
    assert.match(removed.stdout, /peers removed: two/);
    await undisturbed();
  });

  test('lines of -c and of standard input: the first that fails ends them, and nothing is half done', async () => {
    const before = file();
    const wrong = await edit('set bgp peer one description no', 'set bgp peer one tmer x', 'commit');
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /line 2, column 18: unknown field in peer: tmer/);
    assert.equal(file(), before);
    const left = await edit('set bgp peer one description no');
    assert.equal(left.code, 1);
    assert.match(left.stderr, /not committed and are lost/);
    const piped = await fed(
      '# from a script\n\nedit bgp peer one\nset description piped\ncommit comment "by pipe"\nshow description\n',
    );
    assert.equal(piped.code, 0, piped.stderr);
    assert.match(piped.stdout, /description piped;/);
    assert.equal(await description(), 'piped');
    const json = await fed('set acme mode slow\ncommit\nshow\n', '--json');
    assert.equal(json.code, 1);
    const { ok, uncommitted, results } = JSON.parse(json.stdout) as {
      ok: boolean;
      uncommitted: boolean;
      results: { error?: string }[];
    };
    assert.deepEqual([ok, uncommitted, results.length], [false, true, 2]);
    assert.match(results[1]?.error ?? '', /plugin acme: verify: slow is not for this machine/);
    const { stdout } = await edit('rollback 1', 'compare', 'discard', 'history | count');
    assert.match(stdout, /description first/);
    await undisturbed();
  });

  test('two editors: the second is told, rebases, and both changes stand', {
    skip: hasScript ? false : 'script(1) is missing',
  }, async () => {
    const [first, second] = [terminal(), terminal()];
    try {
      await Promise.all([first.until(/zest# $/), second.until(/zest# $/)]);
      await first.line('set bgp peer one description "of the first"');
      await second.line('set acme interval 9');
      assert.match(await first.line('commit'), /revision \d+/);
      assert.match(await second.line('status'), /is not what it was when it was loaded[^]*: rebase or discard/);
      const told = await second.line('commit');
      assert.match(told, /error: not committed: another configuration is in force since this one was loaded: a commit of ann/);
      assert.match(told, /rebase[^]*discard/);
      assert.match(await second.line('rebase'), /1 of your lines stand on what is in force now/);
      assert.match(await second.line('commit'), /revision \d+/);
      assert.match(file(), /interval 9;[^]*description "of the first";/);
      first.type('quit\r');
      second.type('\u0004');
      assert.deepEqual(await Promise.all([first.ended, second.ended]), [0, 0]);
      await undisturbed();
    } finally {
      first.kill();
      second.kill();
    }
  });

  test('the daemon is stopped meanwhile: the editor says so and keeps what was typed', {
    skip: hasScript ? false : 'script(1) is missing',
  }, async () => {
    const screen = terminal();
    try {
      await screen.until(/zest# $/);
      await screen.line('set bgp peer one description kept');
      await speaker.close();
      await zest.stop();
      assert.match(await screen.line('commit'), /error: [^]*(?:no daemon|not running|answers)/i);
      assert.match(await screen.line('compare'), /\+   description kept;/);
      const held = file();
      zest = await ZestProcess.start(held, {}, folder);
      assert.match(await screen.line('commit'), /revision \d+/);
      assert.equal(await eventually('the description', description), 'kept');
      screen.type('exit\r');
      assert.equal(await screen.ended, 0);
    } finally {
      screen.kill();
    }
    speaker = await RawSpeaker.establish({ port, local: '127.0.0.2' });
  });
});
