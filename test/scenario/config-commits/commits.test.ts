// Commits of the running daemon: checked before, kept as revisions, taken back, and confirmed or given back by themselves; all of it through
// the command line, with a session that must not notice.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DaemonTarget } from '../../../engine/cli/config/daemon-target.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

const config = (port: number, description: string, more = '', hold = 90): string => `
environment { log { level warn; } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer one {
        description "${description}"
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 1000; } } } }
        timer { receive-hold-time ${hold}; }
        update { attribute { origin igp; next-hop self; } nlri { ipv4/unicast add 192.0.2.0/24 198.51.100.0/24; } }
        ${more}
    }
}
`;

type Fields = Readonly<Record<string, unknown>>;

describe('commits', { timeout: 600_000 }, () => {
  let folder: string;
  let port: number;
  let zest: ZestProcess;
  let speaker: RawSpeaker;
  const file = (): string => readFileSync(zest.configPath, 'utf8');
  const offer = (text: string): string => {
    const path = join(folder, 'candidate.conf');
    writeFileSync(path, text);
    return path;
  };
  const description = async (): Promise<unknown> =>
    Object.values((await zest.json('peer', 'one', 'detail'))['peers'] as Record<string, Fields>)[0]?.['description'];
  const pending = async (): Promise<unknown> => (await zest.json('config', 'status'))['pending'];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'zest-commits-'));
    port = await freePort();
    zest = await ZestProcess.start(config(port, 'first'), {}, folder);
    speaker = await RawSpeaker.establish({ port, local: '127.0.0.2' });
  });
  after(async () => {
    await speaker.close();
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a check says what would come, and nothing is applied', async () => {
    const wish = offer(
      config(port, 'second', 'update { attribute { next-hop self; } nlri { ipv4/unicast add 203.0.113.0/24; } }', 30).replace(
        ' 198.51.100.0/24',
        '',
      ),
    );
    const answer = await zest.json('config', 'check', wish);
    assert.equal(answer['valid'], true);
    assert.equal(answer['accepted'], true);
    assert.deepEqual(
      (answer['changes'] as readonly Fields[]).map((one) => [one['path'], one['class'], one['before'], one['after']]),
      [
        ['bgp/peer/one/description', 'live', 'first', 'second'],
        ['bgp/peer/one/timer/receive-hold-time', 'reset', '90', '30'],
        [
          'bgp/peer/one/update/default/nlri/ipv4/unicast/content',
          'live',
          '[ add 192.0.2.0/24 198.51.100.0/24 ]',
          '[ add 192.0.2.0/24 ]',
        ],
        ['bgp/peer/one/update/default 2/attribute/next-hop', 'live', undefined, 'self'],
        ['bgp/peer/one/update/default 2/nlri/ipv4/unicast/content', 'live', undefined, '[ add 203.0.113.0/24 ]'],
      ],
    );
    const [peer] = answer['peers'] as readonly Fields[];
    assert.deepEqual([peer?.['peer'], peer?.['impact'], peer?.['established']], ['one', 'reset', true]);
    assert.deepEqual(answer['routes'], [
      {
        peer: 'one',
        'announced-count': 1,
        'changed-count': 0,
        'withdrawn-count': 1,
        announced: ['203.0.113.0/24'],
        changed: [],
        withdrawn: ['198.51.100.0/24'],
      },
    ]);
    assert.equal(await description(), 'first');
    assert.equal(speaker.established, true);
    const { code, stdout } = await zest.cli('config', 'check', wish);
    assert.equal(code, 0);
    assert.match(stdout, /~ \[reset\] +bgp\/peer\/one\/timer\/receive-hold-time 90 -> 30/);
    assert.match(stdout, /peer one: its session is reset: timer\/receive-hold-time$/m);
  });

  test('a text that does not hold is told with its line, exit code 1', async () => {
    const wish = offer(config(port, 'x').replace('router-id 10.0.0.1', 'router-idd 10.0.0.1'));
    const { code, stdout } = await zest.cli('config', 'check', wish);
    assert.equal(code, 1);
    assert.match(stdout, /line 4: unknown field in bgp: router-idd/);
    const refused = await zest.cli('config', 'commit', wish);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /invalid: the configuration is invalid; line 4/);
    assert.equal(await description(), 'first');
    assert.equal(file(), config(port, 'first'));
  });

  test('a commit is in force, in the file and in the history', async () => {
    const text = config(port, 'second');
    const done = await zest.json('config', 'commit', offer(text), '-m', 'the second');
    assert.deepEqual([done['status'], done['revision'], done['saved-as'], done['peers-changed']], ['committed', 2, 1, ['one']]);
    assert.equal(file(), text);
    assert.equal(await description(), 'second');
    const { revisions } = (await zest.json('config', 'history')) as { revisions: readonly Fields[] };
    assert.deepEqual(
      revisions.map((one) => [one['revision'], one['comment'], one['in-force']]),
      [
        [2, 'the second', true],
        [1, 'found in the file before a commit', false],
      ],
    );
    assert.equal((await zest.json('config', 'commit'))['notes']?.toString(), 'nothing has changed');
  });

  test('a revision is compared, shown, and put in force again', async () => {
    const diff = await zest.json('config', 'diff', '1');
    assert.deepEqual(diff['changes'], [{ path: 'bgp/peer/one/description', class: 'live', before: 'second', after: 'first' }]);
    assert.match(String((await zest.json('config', 'show', '1'))['config']), /description first/);
    const done = await zest.json('config', 'rollback', '1');
    assert.deepEqual([done['status'], done['revision'], done['saved-as']], ['committed', 3, 2]);
    assert.equal(file(), config(port, 'first'));
    const missing = await zest.cli('config', 'rollback', '99');
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /there is no revision 99/);
  });

  test('what was edited in the file is committed from there, and a session that began before is refused', async () => {
    const target = new DaemonTarget(join(folder, 'control.sock'), process.getuid?.() ?? 0, zest.configPath);
    const { text, version } = await target.load();
    assert.equal(text, config(port, 'first'));
    const options = { base: version, author: 'ann', comment: 'by an editor', confirmSeconds: undefined };
    writeFileSync(zest.configPath, config(port, 'by hand'));
    assert.equal((await zest.json('config', 'status'))['file'], 'differs');
    const unseen = await target.commit(config(port, 'edited'), options);
    assert.deepEqual(unseen.ok ? '' : [unseen.reason, /edited since the daemon read it/.test(unseen.message)], ['refused', true]);
    assert.equal((await zest.json('config', 'commit', '-m', 'from the file'))['revision'], 4);
    assert.equal(await description(), 'by hand');
    const stale = await target.commit(config(port, 'edited'), options);
    assert.deepEqual(stale.ok ? '' : [stale.reason, /: a commit of \w+$/.test(stale.message)], ['changed', true]);
    const wrong = await target.commit('bgp { nonsense 1; }', { ...options, base: undefined });
    assert.deepEqual(wrong.ok ? '' : [wrong.reason, wrong.faults[0]?.line], ['invalid', 1]);
    const good = await target.commit(config(port, 'edited'), { ...options, base: (await target.load()).version });
    assert.deepEqual(good.ok && [good.saved, good.notes], [4, ['revision 5', 'peers changed: one']]);
    assert.deepEqual((await target.history())[0]?.author, 'ann');
    assert.equal(await target.revision(4), config(port, 'by hand'));
    assert.equal(await target.revision(77), undefined);
    const checked = await target.check(config(port, 'other'));
    assert.deepEqual(checked.ok && checked.impact, [
      'peer one: changed, the session stays: description',
      'plugin bgp-watchdog: verified',
    ]);
    assert.equal(await target.pending(), undefined);
    assert.deepEqual(await target.confirm(), { ok: false, message: 'no commit waits for a confirmation' });
  });

  test('a commit that is confirmed stays; until then the file is the old one and nothing else may be committed', async () => {
    const text = config(port, 'confirmed');
    const done = await zest.json('config', 'commit', offer(text), '--confirmed', '600', '-m', 'try');
    assert.equal(done['status'], 'committed-until-confirmed');
    assert.equal(await description(), 'confirmed');
    assert.equal(file(), config(port, 'edited'));
    assert.equal(((await pending()) as Fields)['comment'], 'try');
    for (const words of [
      ['config', 'commit', offer(config(port, 'x'))],
      ['config', 'rollback', '1'],
      ['daemon', 'reload'],
    ]) {
      const refused = await zest.cli(...words);
      assert.equal(refused.code, 1, words.join(' '));
      assert.match(refused.stderr, /a commit waits for its confirmation/);
    }
    assert.equal((await zest.json('config', 'confirm'))['revision'], 6);
    assert.equal(file(), text);
    assert.equal(await pending(), undefined);
    assert.equal(existsSync(`${zest.configPath}.zest/pending`), false);
  });

  test('one that is not comes back by itself, and is kept with that word', async () => {
    const target = new DaemonTarget(join(folder, 'control.sock'), process.getuid?.() ?? 0, zest.configPath);
    // Long enough for the commands that look at it, each a process.
    await zest.json('config', 'commit', offer(config(port, 'for a while')), '--confirmed', '12');
    assert.equal(await description(), 'for a while');
    const { version } = await target.load();
    await eventually('it is back', async () => ((await description()) === 'confirmed' ? true : undefined));
    await eventually('nothing waits', async () => ((await pending()) === undefined ? true : undefined));
    assert.equal(file(), config(port, 'confirmed'));
    const { revisions } = (await zest.json('config', 'history')) as { revisions: readonly Fields[] };
    assert.deepEqual([revisions[0]?.['comment'], revisions[1]?.['in-force']], ['not confirmed', true]);
    const late = await target.commit(config(port, 'x'), { base: version, author: 'ann', comment: '', confirmSeconds: undefined });
    assert.match(late.ok ? '' : late.message, /the commit of \w+ was taken back, not confirmed in time$/);
  });

  test('one is aborted at once', async () => {
    await zest.json('config', 'commit', offer(config(port, 'aborted')), '--confirmed', '600');
    assert.equal((await zest.json('config', 'abort'))['status'], 'aborted');
    assert.equal(await description(), 'confirmed');
    assert.equal((await zest.cli('config', 'abort')).code, 1);
  });

  test('the session has noticed nothing of all this', () => {
    assert.equal(speaker.established, true);
    assert.equal(speaker.notification, undefined);
  });

  test('a daemon that is killed before the confirmation comes back with the old configuration and says so', async () => {
    await zest.json('config', 'commit', offer(config(port, 'killed')), '--confirmed', '600', '-m', 'risky');
    assert.equal(await description(), 'killed');
    zest.child.kill('SIGKILL');
    await eventually('it is gone', () => (zest.exitCode === undefined ? undefined : true));
    await speaker.close();
    zest = await ZestProcess.start(file(), {}, folder);
    assert.equal(await description(), 'confirmed');
    await zest.logs(/was not confirmed before the daemon ended.*risky/);
    assert.equal(await pending(), undefined);
    speaker = await RawSpeaker.establish({ port, local: '127.0.0.2' });
  });

  test('a file and its revisions without a daemon', async () => {
    const { code, stdout } = await zest.cli('config', 'history', zest.configPath, '--json');
    assert.equal(code, 0);
    const { revisions } = JSON.parse(stdout) as { revisions: readonly Fields[] };
    assert.match(String(revisions[0]?.['comment']), /not confirmed: risky/);
    const diff = await zest.cli('config', 'diff', '1', zest.configPath);
    assert.match(diff.stdout, /first/, diff.stderr);
    const back = await zest.cli('config', 'rollback', '1', zest.configPath);
    assert.equal(back.code, 0, back.stderr);
    assert.match(file(), /description first/);
    assert.equal((await zest.cli('config', 'rollback', '55', zest.configPath)).code, 2);
  });

  test('people read what a commit did, and which sessions it cost', async () => {
    const told = async (text: string): Promise<string> => (await zest.cli('config', 'commit', offer(text))).stdout;
    const head = /^committed \(what was before: revision \d+\)\nrevision \d+\npeers changed: one\n/;
    const reset = await told(config(port, 'told', '', 60));
    assert.match(reset, head);
    assert.match(reset, /\nsessions reset: one\n$/);
    const live = await told(config(port, 'told again', '', 60));
    assert.match(live, head);
    assert.doesNotMatch(live, /reset/);
  });
});
