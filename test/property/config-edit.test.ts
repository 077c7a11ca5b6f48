// The editor against any line: it answers, points into the line, and the candidate can always be written and read again. What lies
// between two trees, typed as commands, makes the one into the other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Candidate, cloneTree } from '../../engine/config/edit/candidate.ts';
import type { CommitTarget } from '../../engine/config/edit/commit-target.ts';
import { deltaCommands, differences } from '../../engine/config/edit/delta.ts';
import { CandidateSession } from '../../engine/config/edit/session.ts';
import { Findings } from '../../engine/config/fault.ts';
import { configSchema } from '../../engine/config/load.ts';
import { printConfig } from '../../engine/config/text/print.ts';
import { readSyntax } from '../../engine/config/set-format/index.ts';
import type { SyntaxTree } from '../../engine/config/text/syntax-tree.ts';
import { makeValidators } from '../../engine/config/rules/validators.ts';

const { root } = configSchema();
const BASE =
  'bgp { router-id 1.1.1.1; peer a { description x; filter { import [ p q ]; } update { nlri { ipv4/unicast add 10.0.0.0/8; } } } inactive: peer b { } }';

function target(): CommitTarget {
  const never = (): Promise<never> => Promise.reject(new Error('not asked'));
  return {
    name: 't',
    load: () => Promise.resolve({ text: BASE, version: '1' }),
    check: () => Promise.resolve({ ok: true, warnings: [], impact: [], refused: '' }),
    commit: () => Promise.resolve({ ok: true, saved: 1, version: '2', warnings: [], notes: [] }),
    history: () => Promise.resolve([]),
    revision: () => Promise.resolve(undefined),
    pending: () => Promise.resolve(undefined),
    confirm: never,
    abort: never,
  };
}

const word = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constantFrom(
      ...'bgp peer a b new description x filter import p q inactive:peer update update(2) nlri ipv4/unicast add 10.0.0.0/8 session family prefix maximum 10 [ ] { } | count compare match set display before after first last to "x y" "" environment log debug interface eth0 router-id 2.2.2.2'.split(
        ' ',
      ),
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
);
const verbs =
  'set set set delete edit up top exit show compare insert rename copy deactivate activate annotate validate commit discard rebase history rollback status help diff'.split(
    ' ',
  );
const line = fc.oneof(
  {
    weight: 20,
    arbitrary: fc
      .tuple(fc.constantFrom(...verbs), fc.array(word, { maxLength: 9 }))
      .map(([verb, words]) => `${verb} ${words.join(' ')}`),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
);

const read = (text: string): { tree: SyntaxTree; findings: Findings } => {
  const findings = new Findings();
  return { tree: readSyntax(text, 't', root, makeValidators(), findings), findings };
};

test('any lines: no exception, a column inside the line, a candidate that reads back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 14 }), async (lines) => {
      const session = await CandidateSession.open({
        target: target(),
        author: 'x',
        prepare: () => Promise.resolve({ path: 't' }),
      });
      for (const one of lines) {
        session.complete(one);
        const before = session.text();
        const outcome = await session.run(one);
        if (outcome.ok) continue;
        assert.ok(
          outcome.column >= 0 && outcome.column <= one.length + 2,
          `${JSON.stringify(one)}: ${outcome.column} ${outcome.text}`,
        );
        assert.equal(session.text(), before, `a refused line changed something: ${one}`);
      }
      const written = session.text();
      const back = read(written);
      assert.ok(!back.findings.incomplete, `${lines.join('\n')}\n---\n${written}\n${JSON.stringify(back.findings.faults)}`);
      assert.equal(printConfig(back.tree), written);
    }),
    { numRuns: 400 },
  );
});

/** Trees that an operator might have: made of set lines. */
const setLine = fc.constantFrom(
  'set bgp router-id 1.1.1.1',
  'set bgp router-id 2.2.2.2',
  'set bgp peer a description "x y"',
  'set bgp peer a description z',
  'set bgp peer a timer connect-retry 5',
  'set bgp peer b',
  'inactive bgp peer a',
  'set bgp peer a filter import [ p q ]',
  'set bgp peer a filter import [ q inactive:p ]',
  'set bgp update nlri ipv4/unicast add 10.0.0.0/8',
  'set bgp update nlri ipv4/unicast add 11.0.0.0/8',
  'set bgp update nlri ipv4/unicast add 11.0.0.0/8 12.0.0.0/8',
  'set bgp update(2) attribute med 7',
  'set bgp update attribute med 5',
  'set interface eth0 { mtu 1500; }',
  'set environment log level debug',
);
const some = fc
  .uniqueArray(setLine, { maxLength: 10 })
  .map((lines) =>
    lines.filter((one, at) => !one.startsWith('inactive') || lines.slice(0, at).some((two) => two.startsWith('set bgp peer a'))),
  );

test('what lies between two trees, typed as commands, makes the one into the other', () => {
  fc.assert(
    fc.property(some, some, (first, second) => {
      const before = read(first.join('\n')).tree;
      const after = read(second.join('\n')).tree;
      const candidate = new Candidate(cloneTree(before), makeValidators());
      for (const command of deltaCommands(differences(before.children, after.children))) {
        const blank = command.indexOf(' ');
        const verb = command.slice(0, blank);
        const rest = command.slice(blank + 1);
        const piece = { text: rest, column: 1 };
        const result =
          verb === 'set'
            ? candidate.set(piece)
            : verb === 'delete'
              ? candidate.delete(piece)
              : candidate.mark(piece, verb !== 'activate');
        assert.ok(result.ok, `${command}: ${JSON.stringify(result)}\n${first.join('\n')}\n---\n${second.join('\n')}`);
      }
      const left = differences(candidate.tree.children, after.children).filter((one) => one.kind !== 'order');
      assert.deepEqual(
        left.map((one) => `${one.kind} ${one.block} ${one.name}`),
        [],
      );
    }),
    { numRuns: 1500 },
  );
});
