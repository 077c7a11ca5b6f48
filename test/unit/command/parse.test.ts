import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { splitWords, quoteWord } from '../../../engine/core/words.ts';
import { nearest } from '../../../engine/core/nearest.ts';
import { CommandError } from '../../../engine/command/fault.ts';
import { parseArguments, parseCommand } from '../../../engine/command/parse.ts';
import { builtInHandlers } from '../../../engine/command/builtin/index.ts';
import { builtInCommands, usage } from '../../../engine/command/spec.ts';
import { fakeContext } from './fake-context.ts';

const { dispatcher } = fakeContext();
const parse = (text: string) => parseCommand(text, dispatcher.tree, dispatcher);

for (const [text, expected] of [
  ['a b', ['a', 'b']],
  ['  a\tb ', ['a', 'b']],
  ['say "two words" x', ['say', 'two words', 'x']],
  ['a\\ b', ['a b']],
  ['"a \\" b"', ['a " b']],
  ['x""y', ['xy']],
  ['""', ['']],
  ['a |b', ['a', '|', 'b']],
  ['a|b', ['a|b']],
  ['', []],
] as const) {
  test(`words of ${JSON.stringify(text)}`, () => {
    const split = splitWords(text);
    assert.ok(split.ok);
    assert.deepEqual(
      split.words.map((word) => word.text),
      expected,
    );
  });
}

for (const [text, message, column] of [
  ['a "b', 'unterminated quote', 3],
  ['a b\\', 'a backslash at the end escapes nothing', 4],
  ['a\nb', 'control character 0x0a', 2],
  ['a "\u001b[0m"', 'control character 0x1b', 4],
] as const) {
  test(`refused words: ${JSON.stringify(text)}`, () =>
    assert.deepEqual(splitWords(text), { ok: false, fault: { message, column } }));
}

test('more words than the limit are refused', () => {
  assert.ok(splitWords('a a a', 3).ok);
  assert.deepEqual(splitWords('a a a a', 3), { ok: false, fault: { message: 'more than 3 words', column: 7 } });
});

test('a quoted word is read back as it was', () =>
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }).filter((text) => !/[\u0000-\u001f\u007f]/.test(text)),
      (text) => {
        const split = splitWords(`x ${quoteWord(text)} y`);
        assert.ok(split.ok);
        assert.deepEqual(
          split.words.map((word) => word.text),
          ['x', text, 'y'],
        );
        assert.ok(!split.words.some((word) => word.text === '|' && !word.quoted));
      },
    ),
  ));

test('no text makes the parser throw anything but a CommandError', () =>
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc
          .array(
            fc.constantFrom(
              'peer',
              '*',
              'edge',
              'update',
              'text',
              '|',
              'match',
              'x',
              'summary',
              '"a b"',
              'json',
              'rib',
              'routes',
            ),
          )
          .map((w) => w.join(' ')),
      ),
      (text) => {
        try {
          parse(text);
        } catch (error) {
          assert.ok(error instanceof CommandError);
          assert.ok(error.column <= text.length + 1);
        }
      },
    ),
  ));

for (const [typed, meant] of [
  ['summray', 'summary'],
  ['stat', 'status'],
  ['xyzzy', undefined],
  ['pere', 'peer'],
  ['teardwon', 'teardown'],
] as const) {
  test(`nearest to ${typed}`, () => assert.equal(nearest(typed, ['summary', 'status', 'peer', 'teardown', 'show']), meant));
}

// text → path, selector, words
for (const [text, path, selector, words] of [
  ['summary', 'summary', '', []],
  ['SUMMARY IPv4', 'summary', '', ['IPv4']],
  ['bgp summary', 'summary', '', []],
  ['peer list', 'peer list', '', []],
  ['peer * list', 'peer list', '*', []],
  ['peer edge detail', 'peer detail', 'edge', []],
  ['show bgp peer', 'peer detail', '', []],
  ['show bgp peer 192.0.2.1', 'peer detail', '192.0.2.1', []],
  ['peer as65001 detail', 'peer detail', 'as65001', []],
  ['peer !edge detail', 'peer detail', '!edge', []],
  ['peer 192.0.2.*,core detail', 'peer detail', '192.0.2.*,core', []],
  ['peer 2001:db8::2 teardown 2 going "down now"', 'peer teardown', '2001:db8::2', ['2', 'going', 'down now']],
  ['peer edge teardown 2 peer 192.0.2.1 is broken', 'peer teardown', 'edge', ['2', 'peer', '192.0.2.1', 'is', 'broken']],
  ['rib routes 5', 'rib routes', '', ['5']],
  ['bgp rib show 5', 'rib routes', '', ['5']],
  ['peer edge rib routes', 'rib routes', 'edge', []],
  ['rib routes peer edge family x', 'rib routes', 'edge', ['family', 'x']],
  ['rib routes | prefix 10.0.0.0/8 | count', 'rib routes', '', ['prefix', '10.0.0.0/8']],
  ['monitor event peer edge include update,state', 'monitor event', 'edge', ['include', 'update,state']],
  [
    'peer edge update text origin igp community [64500:1 64500:2] nlri ipv4/unicast add 10.0.0.0/8',
    'peer update text',
    'edge',
    'origin igp community [64500:1 64500:2] nlri ipv4/unicast add 10.0.0.0/8'.split(' '),
  ],
] as const) {
  test(`parse: ${text}`, () => {
    const parsed = parse(text);
    assert.deepEqual([parsed.spec.path, parsed.selector, parsed.words], [path, selector, words]);
  });
}

test('the tail of a command is its text as typed', () => {
  const parsed = parse('peer edge update text  med 5   nlri ipv4/unicast add 10.0.0.0/8 | json');
  assert.equal(parsed.tail, 'med 5   nlri ipv4/unicast add 10.0.0.0/8');
  assert.equal(parsed.tailColumn, 24);
});

// text → kind, message, column
for (const [text, kind, message, column] of [
  ['', 'unknown', /unknown command: \(empty\)/, 0],
  ['shwo version', 'unknown', /unknown command: shwo version \(did you mean "show"\?\)/, 1],
  ['show verison', 'unknown', /did you mean "show version"/, 6],
  ['show', 'unknown', /incomplete command: show \(next: .*version/, 0],
  ['peer edgee detail', 'selector', /no peer is called "edgee" \(did you mean "edge"\?\)/, 6],
  ['peer teardown 2', 'selector', /peer teardown requires a peer selector/, 0],
  ['peer edge teardown', 'argument', /requires subcode: peer SEL teardown SUBCODE/, 19],
  ['peer edge teardown 256', 'argument', /subcode must be a number from 0 to 255, not "256"/, 20],
  ['peer edge teardown -1', 'argument', /number from 0 to 255/, 20],
  ['peer edge summary', 'selector', /summary takes no peer selector/, 6],
  ['monitor event direction up', 'argument', /direction must be sent or received, not "up"/, 25],
  ['monitor event includ update', 'argument', /unexpected "includ" \(did you mean "include"\?\)/, 15],
  ['monitor event include', 'argument', /include requires a value/, 15],
  ['monitor event include a include b', 'argument', /include stands twice/, 25],
  ['subscribe bgp', 'argument', /subscribe requires event/, 14],
  ['summary | grep x', 'argument', /unknown pipe operator: grep/, 11],
  ['summary | jsno', 'argument', /unknown pipe operator: jsno \(did you mean "json"\?\)/, 11],
  ['summary | json | yaml', 'argument', /multiple format operators: json and yaml/, 18],
  ['summary | json tight', 'argument', /json takes no "tight"/, 16],
  ['summary | match', 'argument', /match requires a value/, 11],
  ['summary |', 'syntax', /a pipe needs an operator/, 9],
  ['summary "x', 'syntax', /unterminated quote/, 9],
  ['summary ipv4 extra', 'argument', /unexpected "extra"/, 14],
] as const) {
  test(`refused: ${text}`, () => {
    assert.throws(
      () => parse(text),
      (error: unknown) => {
        assert.ok(error instanceof CommandError);
        assert.equal(error.kind, kind);
        assert.match(error.message, message);
        assert.equal(error.column, column);
        return true;
      },
    );
  });
}

test('dispatch by exact name takes words as they are', () => {
  const parsed = parseArguments('Rib Routes', ['| count', 'peer', '*'], 'edge', dispatcher.tree);
  assert.deepEqual(
    [parsed.spec.path, parsed.words, parsed.selector, parsed.pipes.steps],
    ['rib routes', ['| count', 'peer', '*'], 'edge', []],
  );
  assert.throws(() => parseArguments('rib', [], '', dispatcher.tree), /unknown command: rib/);
  assert.throws(() => parseArguments('peer teardown', ['2'], '', dispatcher.tree), /requires a peer selector/);
});

test('every built-in command has a handler and a one-line summary, and no handler is left over', () => {
  const specs = builtInCommands();
  assert.deepEqual([...new Set(specs.map((spec) => spec.handler))].sort(), [...builtInHandlers().keys()].sort());
  for (const spec of specs) {
    assert.match(spec.summary, /^\S.{3,80}$/, spec.path);
    assert.ok(usage(spec).startsWith(spec.path.split(' ')[0] ?? ''));
  }
});
