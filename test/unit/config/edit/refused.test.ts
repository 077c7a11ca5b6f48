// A candidate that holds by itself and that the target would not take: a check says so, and fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommitTarget } from '../../../../engine/config/edit/commit-target.ts';
import { CandidateSession } from '../../../../engine/config/edit/session.ts';

const never = (): Promise<never> => Promise.reject(new Error('not asked'));

function target(refused: string): CommitTarget {
  return {
    name: 't',
    load: () => Promise.resolve({ text: 'bgp { router-id 10.0.0.1; }\n', version: '1' }),
    check: () => Promise.resolve({ ok: true, warnings: [], impact: ['plugin pace: refused (only tens)'], refused }),
    commit: () => Promise.resolve({ ok: false, reason: 'changed', message: 'the commit of ann was taken back', faults: [] }),
    history: () => Promise.resolve([]),
    revision: () => Promise.resolve(undefined),
    pending: () => Promise.resolve(undefined),
    confirm: never,
    abort: never,
  };
}

test('commit check fails where a plugin would refuse', async () => {
  const session = await CandidateSession.open({
    target: target('plugin pace: only tens'),
    author: 'ann',
    prepare: () => Promise.resolve({ path: 't.conf' }),
  });
  await session.run('set bgp router-id 10.0.0.2');
  const checked = await session.run('commit check');
  assert.equal(checked.ok, false);
  assert.match(checked.text, /^the candidate would be refused:\n {2}plugin pace: refused \(only tens\)\n$/);
  assert.doesNotMatch(checked.text, /is valid/);
});

test('a check that nobody minds passes', async () => {
  const session = await CandidateSession.open({
    target: target(''),
    author: 'ann',
    prepare: () => Promise.resolve({ path: 't.conf' }),
  });
  assert.match((await session.run('commit check')).text, /the candidate is valid\n$/);
});

test('a commit that came too late says what came before it', async () => {
  const session = await CandidateSession.open({
    target: target(''),
    author: 'ann',
    prepare: () => Promise.resolve({ path: 't.conf' }),
  });
  await session.run('set bgp router-id 10.0.0.2');
  const late = await session.run('commit');
  assert.match(late.text, /^not committed: the commit of ann was taken back\n +rebase /);
});

const UNNAMED: readonly (readonly [string, string])[] = [
  ['set bgp peer description "transit"', '"description" stands where peer has its name: peer NAME description …'],
  ['set bgp peer description transit', '"description" stands where peer has its name: peer NAME description …'],
  ['set plugin hub server secret "correct horse battery"', '"secret" stands where server has its name: server NAME secret …'],
];

for (const [line, says] of UNNAMED)
  test(`a name that was left out is asked for: ${line}`, async () => {
    const session = await CandidateSession.open({
      target: target(''),
      author: 'ann',
      prepare: () => Promise.resolve({ path: 't.conf' }),
    });
    const refused = await session.run(line);
    assert.equal(refused.ok, false);
    assert.equal(refused.text.trim(), says);
  });
