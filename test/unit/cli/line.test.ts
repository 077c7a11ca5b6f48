import assert from 'node:assert/strict';
import test from 'node:test';
import { readLine } from '../../../engine/cli/line.ts';
import { commandLine, isConfig } from '../../../engine/cli/main.ts';
import { readOptions, subcommandOptions, UsageError } from '../../../engine/cli/options.ts';

// line → what goes to the daemon, format, paging
for (const [text, command, format, noMore] of [
  ['summary', 'summary', undefined, false],
  ['summary | json', 'summary', 'json', false],
  ['summary | json compact', 'summary', 'json-compact', false],
  ['summary | JSON Pretty', 'summary', 'json', false],
  ['rib routes | match "a b" | yaml | no-more', 'rib routes | match "a b"', 'yaml', true],
  ['rib routes | match json', 'rib routes | match json', undefined, false],
  ['rib routes | table | count', 'rib routes | count', 'table', false],
  ['summary | json | yaml', 'summary | json | yaml', undefined, false],
  ['summary | json tight', 'summary | json tight', undefined, false],
  ['summary |', 'summary |', undefined, false],
  ['peer edge teardown 2 "bye | json"', 'peer edge teardown 2 "bye | json"', undefined, false],
  ['summary "x', 'summary "x', undefined, false],
] as const) {
  test(`line: ${text}`, () => {
    const line = readLine(text);
    assert.deepEqual([line.command.replace(/ \| $/, ' |'), line.format, line.noMore], [command, format, noMore]);
  });
}

for (const [words, line] of [
  [['summary'], 'summary'],
  [['summary | count'], 'summary | count'],
  [['summary', '|', 'count'], 'summary | count'],
  [['peer', '*', 'teardown', '2', 'going down "now"'], 'peer * teardown 2 "going down \\"now\\""'],
  [['peer', 'edge', 'teardown', '2', ''], 'peer edge teardown 2 ""'],
  [['--', 'peer', 'x', 'teardown', '2', '--json'], 'peer x teardown 2 --json'],
] as const) {
  test(`words of the shell: ${JSON.stringify(words)}`, () => assert.equal(commandLine(words), line));
}

test('options stand anywhere, and end at --', () => {
  const { options, rest } = readOptions(['--socket=/x', 'peer', '--json', 'edge', '--timeout', '1.5', '--', '--json']);
  assert.deepEqual([options.socket, options.json, options.timeout], ['/x', true, 1.5]);
  assert.deepEqual(rest, ['peer', 'edge', '--', '--json']);
});

for (const [args, message] of [
  [['--format', 'xml'], /--format must be json/],
  [['--timeout', 'soon'], /--timeout must be seconds/],
  [['--socket'], /--socket needs a value/],
] as const) {
  test(`refused options: ${args.join(' ')}`, () =>
    assert.throws(
      () => readOptions(args),
      (error: unknown) => error instanceof UsageError && message.test(error.message),
    ));
}

test('an unknown option of a subcommand is named, with a guess', () => {
  assert.throws(
    () => subcommandOptions(['--verbos'], { verbose: { type: 'boolean' } }),
    /unknown option --verbos \(did you mean --verbose\?\)/,
  );
});

for (const [word, config] of [
  ['-', true],
  ['x.conf', true],
  ['dir/x.yaml', true],
  ['/', true],
  ['summary', false],
  ['/no/such/file', false],
] as const) {
  test(`a configuration: ${word}`, () => assert.equal(isConfig(word), config));
}
