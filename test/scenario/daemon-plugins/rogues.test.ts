// External plugins that misbehave in every way and every stage, all in one daemon: each fails alone, for the right reason, and leaves
// nothing behind (plugin-lifecycle §6, hostile inputs H56 to H58).
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pluginsIn, workingIn, zombiesOf } from '../../support/child-processes.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { assertCodesListed, type ReportEntry, reports } from '../../support/report-codes.ts';
import { writeScript } from '../../support/write-script.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';
import { MANDATORY, PREFIX, update } from '../../wire/build.ts';

interface Rogue {
  readonly name: string;
  readonly words: string;
  readonly code: string;
  readonly message: RegExp;
}

/** Of those that fall silent; the others shall not be hurried when forty start at once. */
const SILENCE_SECONDS = 5;
const PATIENCE_SECONDS = 120;
const DELIVERY_SECONDS = 8;
const stages = (how: string, code: string, message: (stage: number) => RegExp, from = 1): readonly Rogue[] =>
  [1, 2, 3, 4, 5]
    .filter((stage) => stage >= from)
    .map((stage) => ({ name: `${how}-${stage}`, words: `how=${how} at=${stage}`, code, message: message(stage) }));

/** They go wrong while they start. */
const AT_START: readonly Rogue[] = [
  ...stages('kill', 'plugin-crash', () => /SIGKILL/),
  ...stages('exit', 'plugin-crash', () => /exited with code 0/),
  ...stages('silent', 'plugin-stage-timeout', (stage) => new RegExp(`stage ${stage} .*no progress for ${SILENCE_SECONDS}000 ms`)),
  ...stages('rubbish', 'plugin-protocol', () => /unreadable lines in a row/),
  ...stages('long-line', 'plugin-protocol', () => /unreadable stream/),
  { name: 'kill-0', words: 'how=kill at=0', code: 'plugin-start', message: /SIGKILL/ },
  { name: 'bad-lines', words: 'how=bad-lines at=3', code: 'plugin-protocol', message: /101 unreadable lines/ },
  { name: 'half-line', words: 'how=half-line at=5', code: 'plugin-crash', message: /./ },
  {
    name: 'wrong-method',
    words: 'how=wrong-method at=1',
    code: 'plugin-protocol',
    message: /expected declare-registration, got ze-plugin-engine:ready/,
  },
  { name: 'wrong-token', words: 'how=wrong-token', code: 'plugin-start', message: /exited with code 0 before it connected/ },
  { name: 'wrong-policy', words: 'policy=perhaps', code: 'plugin-registration', message: /failure-policy/ },
  { name: 'forker', words: 'how=fork at=4', code: 'plugin-crash', message: /SIGKILL/ },
  { name: 'absent', words: 'none', code: 'plugin-start', message: /code 127 before it connected/ },
];
const UNACKNOWLEDGED = new RegExp(`not acknowledged within ${DELIVERY_SECONDS}000 ms`);
/** They go wrong when they run, or at their first events. */
const AT_WORK: readonly Rogue[] = [
  { name: 'killed', words: 'how=kill at=6', code: 'plugin-crash', message: /SIGKILL/ },
  { name: 'rubbish-6', words: 'how=rubbish at=6', code: 'plugin-protocol', message: /unreadable lines in a row/ },
  { name: 'long-line-6', words: 'how=long-line at=6', code: 'plugin-protocol', message: /unreadable stream/ },
  { name: 'half-line-6', words: 'how=half-line at=6', code: 'plugin-crash', message: /./ },
  { name: 'deaf', words: 'how=deaf at=6', code: 'plugin-silent', message: UNACKNOWLEDGED },
  { name: 'spinner', words: 'how=spin at=7', code: 'plugin-silent', message: UNACKNOWLEDGED },
  { name: 'mute', words: 'how=silent at=7', code: 'plugin-silent', message: UNACKNOWLEDGED },
];
const ROGUES = [...AT_START, ...AT_WORK];
/** Odd, and allowed. */
const TOLERATED = [
  { name: 'few-bad-lines', words: 'how=few-bad-lines at=6' },
  { name: 'deep-json', words: 'how=deep-json at=6' },
];

interface PluginRow {
  readonly name: string;
  readonly state: string;
  readonly restarts: number;
}

describe('rogue plugins', { timeout: 600_000 }, () => {
  let folder: string;
  let zest: ZestProcess;
  let speaker: RawSpeaker;
  let seen: readonly ReportEntry[];
  let rows: ReadonlyMap<string, PluginRow>;

  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-rogues-')));
    writeScript(folder, 'raw-plugin');
    const port = await freePort();
    const run = (name: string, words: string): string =>
      `external ${name} { run "exec ${words === 'none' ? './nowhere' : `node raw-plugin.mjs ${words}`}"; timeout ${words.startsWith('how=silent') ? SILENCE_SECONDS : PATIENCE_SECONDS}s; }`;
    const plugins = [{ name: 'good', words: '' }, ...TOLERATED, ...ROGUES];
    zest = await ZestProcess.start(
      `
environment { log { level info; } }
plugin {
    ${plugins.map(({ name, words }) => run(name, words)).join('\n    ')}
    external crasher { run "exec node raw-plugin.mjs how=kill at=6 policy=restart"; }
}
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer one {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 100000; } } } }
        ${plugins.map(({ name }) => `process ${name} { receive [ update state ]; }`).join('\n        ')}
    }
}
`,
      { ze_plugin_delivery_timeout: `${DELIVERY_SECONDS}s` },
      folder,
    );
    speaker = await RawSpeaker.establish({ port, local: '127.0.0.2', holdSeconds: 9 });
    speaker.send(update({ attributes: MANDATORY, nlri: PREFIX }));
    seen = await eventually(
      'every rogue has failed',
      async () => {
        const entries = await reports(zest);
        const missing = [...ROGUES.map(({ name }) => name), 'crasher'].filter(
          (name) => !entries.some((entry) => entry.subject === name && entry.code === 'plugin-down'),
        );
        if (missing.length > 0) throw new Error(`still there: ${missing.join(', ')}`);
        return entries;
      },
      180_000,
    );
    const answer = await zest.json('plugin', 'list');
    rows = new Map((answer['plugins'] as readonly PluginRow[]).map((row) => [row.name, row]));
  });
  after(async () => {
    await speaker.close();
    assert.equal(await zest.stop(), 0);
    await eventually('no process is left', () => (workingIn(folder).length === 0 ? true : undefined));
    rmSync(folder, { recursive: true, force: true });
  });

  for (const rogue of ROGUES) {
    test(`${rogue.name} (${rogue.words})`, () => {
      const own = seen.filter(
        (entry) => entry.subject === rogue.name && entry.severity === 'error' && entry.code !== 'plugin-auth',
      );
      const fault = own.find((entry) => entry.code === rogue.code);
      assert.ok(fault !== undefined, JSON.stringify(own));
      assert.match(fault.message, rogue.message);
      assert.equal(rows.get(rogue.name)?.state, 'failed');
      assert.ok(zest.output.includes(`plugin=${rogue.name}`), 'it is logged');
    });
  }

  test('a wrong token is reported as such', () => {
    assert.ok(
      seen.some((entry) => entry.code === 'plugin-auth' && entry.subject === 'wrong-token' && /auth failed/.test(entry.message)),
    );
  });

  test('a crash loop ends after five restarts in a minute', () => {
    const row = rows.get('crasher');
    assert.equal(row?.state, 'disabled');
    assert.equal(row.restarts, 5);
    assert.equal(seen.filter((entry) => entry.subject === 'crasher' && entry.code === 'plugin-crash').length, 6);
    assert.match(
      seen.find((entry) => entry.subject === 'crasher' && entry.code === 'plugin-down')?.message ?? '',
      /disabled after 5 restarts in 60 s/,
    );
  });

  test('the others run: the good plugin, the odd ones, the session', async () => {
    for (const name of ['good', ...TOLERATED.map((one) => one.name)]) assert.equal(rows.get(name)?.state, 'running', name);
    const { count } = (await zest.json('good', 'count')) as { count: number };
    assert.ok(count > 0, 'it got its events');
    assert.ok(speaker.established);
    assert.ok(speaker.largestGap < 4500, `${speaker.largestGap} ms`);
  });

  test('nothing is left of those that failed', async () => {
    const pid = zest.child.pid ?? 0;
    await eventually('three plugins', () => {
      assert.deepEqual([zombiesOf(pid).length, pluginsIn(folder).length], [0, 3]);
      return true;
    });
  });

  test('every code is explained', () => assertCodesListed(seen.map(({ code }) => code)));
});
