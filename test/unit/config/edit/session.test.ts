// The editor without a terminal: what each command does to the candidate, what it says when it cannot, what a commit meets.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CandidateSession, Unreadable } from '../../../../engine/config/edit/session.ts';
import { loadConfig } from '../../../../engine/config/load.ts';
import { FileTarget } from '../../../../engine/config/revisions/file-target.ts';
import { systemClock } from '../../../../engine/core/clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'zest-edit-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const BASE = `# Edge
bgp {
    router-id 10.0.0.1;
    session {
        asn {
            local 64500;
        }
    }
    peer edge {
        description "transit link";
        connection {
            local {
                ip 10.0.0.1;
            }
            remote {
                ip 10.0.0.2;
            }
            md5 {
                password very-secret;
            }
        }
        session {
            asn {
                remote 64496;
            }
            family {
                ipv4/unicast {
                    prefix {
                        maximum 5000;
                    }
                }
            }
        }
        filter {
            import [ one two three ];
        }
    }
    inactive: peer old {
        description gone;
    }
}
`;
/** What can be committed: chains must name filters, and so on. */
const GOOD = BASE.replace(/ +filter \{[^}]*\}\n/, '').replace(/ +md5 \{[^}]*\}\n/, '');

let files = 0;

function open(text: string | undefined, path = join(folder, `${++files}.conf`)): Promise<CandidateSession> {
  if (text !== undefined) writeFileSync(path, text);
  return CandidateSession.open({
    target: new FileTarget({ path, read: (one) => Promise.resolve(loadConfig(one, { path })), clock: systemClock }),
    author: 'ann',
    prepare: () => Promise.resolve({ path }),
  });
}

/** Runs lines that must go well; the text of the last one. */
async function run(session: CandidateSession, ...lines: readonly string[]): Promise<string> {
  let text = '';
  for (const line of lines) {
    const outcome = await session.run(line);
    assert.ok(outcome.ok, `${line}: ${outcome.text}`);
    ({ text } = outcome);
  }
  return text;
}

const CHANGES: readonly (readonly [lines: readonly string[], compare: string])[] = [
  [['set bgp router-id 10.0.0.9'], '[edit bgp]\n-   router-id 10.0.0.1;\n+   router-id 10.0.0.9;\n'],
  [['set bgp router-id 10.0.0.1'], ''],
  [['edit bgp peer edge', 'set description x'], '[edit bgp peer edge]\n-   description "transit link";\n+   description x;\n'],
  [
    ['edit bgp peer edge', 'edit timer', 'set connect-retry 5', 'up', 'delete description'],
    '[edit bgp peer edge]\n-   description "transit link";\n+   timer {\n+       connect-retry 5;\n+   }\n',
  ],
  [['edit bgp peer edge', 'top set bgp router-id 10.0.0.9'], '[edit bgp]\n-   router-id 10.0.0.1;\n+   router-id 10.0.0.9;\n'],
  [['delete bgp peer old'], '[edit bgp]\n-   inactive: peer old {\n-       description gone;\n-   }\n'],
  [['deactivate bgp peer edge'], '[edit bgp]\n!   inactive: peer edge\n'],
  [['activate bgp peer old'], '[edit bgp]\n!   active: peer old\n'],
  [
    ['deactivate bgp peer edge filter import two'],
    '[edit bgp peer edge filter]\n-   import [ one two three ];\n+   import [ one inactive:two three ];\n',
  ],
  [
    ['insert bgp peer edge filter import four before two'],
    '[edit bgp peer edge filter]\n-   import [ one two three ];\n+   import [ one four two three ];\n',
  ],
  [
    ['insert bgp peer edge filter import three after one'],
    '[edit bgp peer edge filter]\n-   import [ one two three ];\n+   import [ one three two ];\n',
  ],
  [
    ['insert bgp peer edge filter import three first'],
    '[edit bgp peer edge filter]\n-   import [ one two three ];\n+   import [ three one two ];\n',
  ],
  [
    ['insert bgp peer edge filter import one last'],
    '[edit bgp peer edge filter]\n-   import [ one two three ];\n+   import [ two three one ];\n',
  ],
  [['insert bgp peer old first'], '[edit bgp]\n!   order: router-id, session, peer old, peer edge\n'],
  [
    ['rename bgp peer old to older'],
    '[edit bgp]\n-   inactive: peer old {\n-       description gone;\n-   }\n+   inactive: peer older {\n+       description gone;\n+   }\n',
  ],
  [['copy bgp peer old to new'], '[edit bgp]\n+   inactive: peer new {\n+       description gone;\n+   }\n'],
  [['annotate bgp peer edge "two\\nlines"'], '[edit bgp]\n+   # two\n+   # lines\n    peer edge\n'],
  [
    ['set bgp peer edge connection md5 password other'],
    '[edit bgp peer edge connection md5]\n-   password ********;\n+   password ********;\n',
  ],
  [['set bgp router-id 10.0.0.9', 'discard'], ''],
];

for (const [lines, compare] of CHANGES) {
  test(lines.join('; '), async () => {
    const session = await open(BASE);
    await run(session, ...lines);
    assert.equal(await run(session, 'compare'), compare);
    assert.equal(session.changed, compare !== '');
  });
}

const FAULTS: readonly (readonly [line: string, column: number, message: RegExp])[] = [
  ['sett bgp', 1, /unknown command: sett \(did you mean "set"\?\)/],
  ['set bgp peer edge descripton x', 19, /unknown field in peer: descripton \(did you mean "description"\?\)/],
  ['set bgp router-id', 18, /router-id needs a value/],
  ['set bgp router-id 1.2', 19, /"1\.2" is not an IPv4 address/],
  ['set bgp router-id 1.1.1.1; set bgp x', 28, /one statement a line/],
  ['delete bgp peer edg', 12, /peer edg is not there \(there are: edge, old\)/],
  ['delete bgp peer edge timer', 22, /timer is not there/],
  ['delete', 8, /delete needs a path/],
  ['edit bgp router-id 1.1.1.1', 6, /is no block to go to/],
  ['up', 1, /this is the top/],
  ['insert bgp peer edge filter import x before nine', 45, /nine is not in the list \(there are: one, two, three\)/],
  ['insert bgp peer edge filter import two before two', 47, /two is what is placed/],
  ['insert bgp peer edge before edge', 29, /peer edge is what is placed/],
  ['insert bgp peer edge', 8, /insert PATH VALUE before X/],
  ['rename bgp peer old to edge', 24, /peer edge is there already/],
  ['rename bgp peer old', 8, /rename PATH to NAME/],
  ['rename bgp router-id to x', 8, /is no entry of a list/],
  ['set bgp peer edge description "x', 31, /unterminated string/],
  ['set bgp peer edge description "\u001b[31m"', 32, /control character 0x1b/],
  [`set bgp ${'x'.repeat(1_000_000)}`, 65_537, /the line has 1000008 characters/],
  ['commit confirmed 4000', 18, /1\.\.3600 seconds/],
  ['commit now', 8, /commit does not take "now"/],
  ['rollback x', 10, /a revision's number is needed/],
  ['rollback 7', 10, /there is no revision 7/],
  ['show | cuont', 13, /unknown pipe operator: cuont \(did you mean "count"\?\)/],
  ['| count', 1, /a command is needed/],
];

for (const [line, column, message] of FAULTS) {
  test(`fault of ${line.slice(0, 50)}`, async () => {
    const session = await open(BASE);
    const before = session.text();
    const outcome = await session.run(line);
    assert.ok(!outcome.ok);
    assert.match(outcome.text, message);
    assert.equal(outcome.column, column);
    assert.equal(session.text(), before, 'the candidate is as it was');
  });
}

test('columns are those of the line as typed, wherever the editor stands', async () => {
  const session = await open(BASE);
  await run(session, 'edit bgp peer edge');
  const outcome = await session.run('set  descripton x');
  assert.equal(outcome.column, 6, outcome.text);
});

test('exit goes back to before the last edit, and leaves at the top; changes are asked about once', async () => {
  const session = await open(BASE);
  await run(session, 'edit bgp', 'edit peer edge');
  assert.equal(session.where, 'bgp peer edge');
  await run(session, 'exit');
  assert.equal(session.where, 'bgp');
  await run(session, 'set router-id 10.0.0.7', 'exit');
  const first = await session.run('exit');
  assert.ok(!first.ok && first.unsaved === true && !first.leave);
  assert.ok((await session.run('exit')).leave);
});

test('no fault quotes a secret, the one that stands there or the one that is typed', async () => {
  for (const line of [
    'delete bgp peer edge connection md5 password typed-in',
    'deactivate bgp peer edge connection md5 password typed-in',
    'set bgp peer edge connection md5 password half typed-in',
    'set bgp peer edge connection md5 password "typed-in',
    `set bgp peer edge connection md5 password ${'typed-in'.repeat(11)}`,
    'set bgp peer edge connection md5 password $9$typed-in',
    'set bgp peer edge connection md5 password [ typed-in ]',
  ]) {
    const outcome = await (await open(BASE)).run(line);
    assert.equal(outcome.ok, false, line);
    assert.doesNotMatch(outcome.text, /very-secret|typed-in/, line);
  }
});

test('show masks secrets, as text and as set lines, and the file keeps them', async () => {
  const session = await open(BASE);
  for (const line of ['show', 'show | display set', 'show bgp peer edge connection'])
    assert.doesNotMatch(await run(session, line), /very-secret/, line);
  assert.match(session.text(), /password \$9\$\S+;/);
  assert.equal(await run(session, 'show bgp peer old'), 'description gone;\n');
  assert.equal(await run(session, 'show | match router'), '    router-id 10.0.0.1;\n');
});

test('a commit writes, keeps a revision with author and comment; rollback and diff reach it', async () => {
  const session = await open(GOOD);
  await run(session, 'set bgp router-id 10.0.0.9');
  assert.match(await run(session, 'commit check'), /the candidate is valid/);
  await run(session, 'commit comment "as agreed"');
  assert.ok(!session.changed);
  const history = await run(session, 'history');
  assert.match(history, /^2 .*ann +as agreed\n1 /);
  assert.match(await run(session, 'diff 1'), /-   router-id 10\.0\.0\.1;\n\+   router-id 10\.0\.0\.9;/);
  await run(session, 'rollback 1', 'commit');
  assert.equal(await run(session, 'diff 1'), '');
  assert.equal(await run(session, 'commit'), 'nothing has changed\n');
});

test('what is invalid is not committed, and says where', async () => {
  const session = await open(GOOD);
  await run(session, 'delete bgp peer edge connection local ip');
  const outcome = await session.run('commit');
  assert.ok(!outcome.ok);
  assert.match(outcome.text, /local ip is required/);
  assert.ok(session.changed);
});

test('a commit with a time needs a daemon', async () => {
  const session = await open(GOOD);
  await run(session, 'set bgp router-id 10.0.0.9');
  const outcome = await session.run('commit confirmed 60');
  assert.ok(!outcome.ok);
  assert.match(outcome.text, /needs a running daemon/);
});

test('two editors: the second does not overwrite the first; a rebase keeps both', async () => {
  const path = join(folder, 'two.conf');
  const ann = await open(GOOD, path);
  const bob = await open(undefined, path);
  await run(ann, 'set bgp peer edge description "of ann"', 'set bgp router-id 10.0.0.8', 'commit');
  await run(bob, 'set bgp peer edge description "of bob"', 'set bgp peer edge timer connect-retry 7', 'delete bgp peer old');
  const refused = await bob.run('commit');
  assert.ok(!refused.ok);
  assert.match(refused.text, /was changed by somebody else since it was loaded\n +rebase .*\n +discard /);
  assert.match(readFileSync(path, 'utf8'), /of ann/);
  assert.match(await run(bob, 'status'), /is not what it was when it was loaded/);
  assert.match(await run(bob, 'rebase'), /both changed bgp peer edge description: yours stands/);
  await run(bob, 'commit');
  const text = readFileSync(path, 'utf8');
  assert.match(text, /router-id 10\.0\.0\.8/);
  assert.match(text, /of bob/);
  assert.match(text, /connect-retry 7/);
  assert.doesNotMatch(text, /gone/);
});

test('a file of set lines stays one', async () => {
  const session = await open('# mine\nset bgp router-id 1.1.1.1\nset bgp session asn local 65000\n');
  await run(session, 'set bgp router-id 1.1.1.2');
  assert.equal(session.text(), '# mine\nset bgp router-id 1.1.1.2\nset bgp session asn local 65000\n');
});

test('a file that cannot be read whole is not edited; one with a bad value is', async () => {
  await assert.rejects(
    open('bgp { pear x { } }'),
    (error) => error instanceof Unreadable && /line 1: unknown field in bgp: pear/.test(error.message),
  );
  await assert.rejects(open('# a\nbgp { } # caf\uFFFD'), /line 2: a byte that is no UTF-8.*column 14/);
  const session = await open('bgp { router-id nonsense; }');
  assert.equal(await run(session, 'set bgp router-id 1.1.1.1', 'show bgp router-id'), 'router-id 1.1.1.1;\n');
});

const OFFERS: readonly (readonly [line: string, words: readonly string[], expects?: readonly string[]])[] = [
  ['dea', ['deactivate']],
  ['set bgp sess', ['session']],
  ['set bgp peer ', ['edge', 'old'], ['NAME']],
  ['delete bgp peer e', ['edge']],
  ['edit bgp peer edge conn', ['connection']],
  ['delete bgp peer edge ', ['description', 'connection', 'session', 'filter']],
  ['set bgp peer edge session family ipv4/unicast mode ', ['enable', 'disable', 'require', 'ignore'], ['ENUMERATION']],
  ['set bgp peer edge local', []],
  ['set bgp peer edge timer receive-hold-time ', [], ['0|3..65535 seconds']],
  ['set bgp peer edge connection remote connect ', ['true', 'false'], ['BOOLEAN']],
  ['delete bgp peer edge filter import t', ['two', 'three']],
  ['insert bgp peer edge filter import x before ', ['one', 'two', 'three']],
  ['commit c', ['check', 'confirmed', 'comment'].filter((word) => word.startsWith('c'))],
  ['show | c', ['compare', 'count']],
  ['show nonsense ', []],
  ['set bgp peer edge description "x', []],
];

for (const [line, words, expects] of OFFERS) {
  test(`after "${line}"`, async () => {
    const session = await open(BASE);
    const offer = session.complete(line);
    assert.deepEqual(
      offer.candidates.map(({ word }) => word),
      words,
    );
    if (expects !== undefined)
      assert.deepEqual(
        offer.expects.map(({ word }) => word),
        expects,
      );
  });
}
