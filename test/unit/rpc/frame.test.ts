import assert from 'node:assert/strict';
import test from 'node:test';
import { FrameError, LineSplitter, MAX_LINE_BYTES, parseLine } from '../../../sdk/rpc/frame.ts';

function split(text: string | Buffer, atEnd = true): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line.toString('utf8')));
  splitter.push(Buffer.from(text));
  if (atEnd) splitter.end();
  return lines;
}

const framings: readonly (readonly [name: string, stream: string, lines: readonly string[]])[] = [
  ['a request ends at the first LF', '#1 a:b {"x":1}\n#2 ok\n', ['#1 a:b {"x":1}', '#2 ok']],
  ['a CR stays', '#1 ok\r\n', ['#1 ok\r']],
  ['an empty line is a line', '\n\n', ['', '']],
  ['a counted text may hold LF and CR', '#1 row 5:a\nb\r\n\n#2 ok\n', ['#1 row 5:a\nb\r\n', '#2 ok']],
  ['an empty text', '#1 row 0:\n', ['#1 row 0:']],
  ['texts are counted in bytes', '#5 row 10:{"k":"é"}\n#6 ok\n', ['#5 row 10:{"k":"é"}', '#6 ok']],
  ['an envelope may hold LF', '#1 top map 1:\n 0:\n#2 ok\n', ['#1 top map 1:\n 0:', '#2 ok']],
  ['an end with a message of two lines', '#1 end 1 0 3:a\nb\n#2 ok\n', ['#1 end 1 0 3:a\nb', '#2 ok']],
  ['a nay with two texts', '#3 nay 0: 28:unknown command: shwo routes\n', ['#3 nay 0: 28:unknown command: shwo routes']],
  ['a word that only begins like a kind', '#1 rowing:x {}\n', ['#1 rowing:x {}']],
  ['a kind without its space', '#1 row\n#2 end\n', ['#1 row', '#2 end']],
  ['a text without its colon falls back to the first LF', '#1 row 5\n#2 ok\n', ['#1 row 5', '#2 ok']],
  ['a number closed by a colon falls back', '#1 end 1: 0 0:\n#2 ok\n', ['#1 end 1: 0 0:', '#2 ok']],
  ['an unknown item type falls back', '#1 top xyz 0: 0:\n#2 ok\n', ['#1 top xyz 0: 0:', '#2 ok']],
  ['a count with 21 digits falls back', '#1 row 000000000000000000001:a\n#2 ok\n', ['#1 row 000000000000000000001:a', '#2 ok']],
  ['a wrong separator after an envelope without LF falls back', '#1 top map 1:ab 0:\n#2 ok\n', ['#1 top map 1:ab 0:', '#2 ok']],
  ['an id with 21 digits is no answer line', '#000000000000000000001 row 5:a\nb\n', ['#000000000000000000001 row 5:a', 'b']],
  [
    'a word may end before its fourth letter',
    '#1 a\n#2 ab\n#3 abc\n#4 \n\n#5 a row 1:\n\n',
    ['#1 a', '#2 ab', '#3 abc', '#4 ', '', '#5 a row 1:', ''],
  ],
  [
    'a kind behind an id of twenty digits',
    '#18446744073709551615 row 1:\n\n#18446744073709551615 a:b\n',
    ['#18446744073709551615 row 1:\n', '#18446744073709551615 a:b'],
  ],
  ['the last line may lack its LF', '#1 ok\n#2 ok', ['#1 ok', '#2 ok']],
  ['so may one that is not yet an answer line', '#1 ro', ['#1 ro']],
];

for (const [name, stream, want] of framings) {
  test(`${name}, in any split`, () => {
    assert.deepEqual(split(stream), want);
    const bytes = Buffer.from(stream);
    for (let cut = 1; cut < bytes.length; cut++) {
      const lines: string[] = [];
      const splitter = new LineSplitter((line) => lines.push(line.toString('utf8')));
      splitter.push(bytes.subarray(0, cut));
      splitter.push(bytes.subarray(cut));
      splitter.end();
      assert.deepEqual(lines, want, `cut at ${cut}`);
    }
  });
}

const fatal: readonly (readonly [name: string, stream: string, message: RegExp])[] = [
  ['a text that ends early', '#1 row 3:abcd\n', /0x64, want exactly one newline/],
  ['a CR after the text', '#1 row 3:abc\r\n', /0x0d, want exactly one newline/],
  ['a count of characters', '#1 row 9:{"k":"é"}\n', /want exactly one newline/],
  ['a separator missed after a text with LF', '#1 top map 1:\nx 0:\n', /0x78, want exactly one space/],
  ['a text wider than a line', '#1 row 16777216:', /exceeds maximum line size/],
];
for (const [name, stream, message] of fatal) {
  test(`${name} ends the stream`, () => {
    assert.throws(
      () => split(stream, false),
      (error) => error instanceof FrameError && message.test(error.message),
    );
  });
}

test('an answer line cut short by EOF is an error', () => {
  for (const stream of ['#1 row 5:ab', '#1 row ', '#1 end 1 0', '#1 row 2:ab']) {
    assert.throws(() => split(stream), /cut short/, stream);
  }
});

test('a line of 16 MiB passes and one byte more does not', () => {
  const head = '#1 a:b ';
  const whole = head + 'x'.repeat(MAX_LINE_BYTES - head.length);
  assert.equal(split(`${whole}\n`)[0]?.length, MAX_LINE_BYTES);
  assert.throws(() => split(`${whole}x\n`), /exceeds maximum size/);
  const splitter = new LineSplitter(() => undefined);
  splitter.push(Buffer.from(whole));
  assert.throws(() => splitter.push(Buffer.from('x')), /exceeds maximum size/);
});

test('an answer line of 16 MiB passes', () => {
  const head = '#1 row 16777200:';
  assert.equal(head.length, 16);
  const line = split(`${head}${'x'.repeat(16_777_200)}\n`)[0];
  assert.equal(line?.length, MAX_LINE_BYTES);
});

test('where a line was joined holds the next one only when the line was given back', () => {
  const lines: Buffer[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  const say = (letter: string): void => {
    for (const part of [letter.repeat(40_000), letter.repeat(40_000), '\n']) splitter.push(Buffer.from(part));
  };
  say('a');
  say('b');
  assert.equal(String(lines[0]), 'a'.repeat(80_000));
  splitter.release();
  say('c');
  assert.equal(String(lines[0]), 'a'.repeat(80_000));
  assert.deepEqual([lines[1]!.buffer === lines[2]!.buffer, lines[2]?.toString()], [true, 'c'.repeat(80_000)]);
});

test('a stopped splitter gives out nothing more', () => {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => {
    lines.push(line.toString());
    splitter.stop();
  });
  splitter.push(Buffer.from('#1 ok\n#2 ok\n'));
  splitter.push(Buffer.from('#3 ok\n'));
  splitter.end();
  assert.deepEqual(lines, ['#1 ok']);
});

const parsed: readonly (readonly [line: string, want: object])[] = [
  ['#1 ok', { kind: 'ok', id: '1', payload: '' }],
  ['#1 ok {}', { kind: 'ok', id: '1', payload: '{}' }],
  ['#007 error x', { kind: 'error', id: '007', payload: 'x' }],
  ['#1 okay', { kind: 'request', id: '1', method: 'okay', payload: '' }],
  ['#1 ok\r', { kind: 'request', id: '1', method: 'ok\r', payload: '' }],
  ['#1 a:b  {}', { kind: 'request', id: '1', method: 'a:b', payload: ' {}' }],
  ['#1 ', { kind: 'request', id: '1', method: '', payload: '' }],
  ['#18446744073709551615 ok', { kind: 'ok', id: '18446744073709551615', payload: '' }],
  ['#1 row 0:', { kind: 'answer', id: '1', word: 'row', tail: '0:' }],
  ['#1 nay 0: 0:', { kind: 'answer', id: '1', word: 'nay', tail: '0: 0:' }],
  ['#1 xyz 0:', { kind: 'request', id: '1', method: 'xyz', payload: '0:' }],
  ['', { kind: 'malformed', reason: 'empty' }],
  ['1 ok', { kind: 'malformed', reason: 'no # at the start' }],
  ['# ok', { kind: 'malformed', reason: 'no id' }],
  ['#1x ok', { kind: 'malformed', reason: 'id is not a number' }],
  ['#1', { kind: 'malformed', reason: 'no space after the id' }],
  ['#18446744073709551616 ok', { kind: 'malformed', reason: 'id exceeds 64 bits' }],
  ['#123456789012345678901 ok', { kind: 'malformed', reason: 'id too long' }],
];
for (const [line, want] of parsed) {
  test(`reads ${JSON.stringify(line)}`, () => {
    const got = parseLine(Buffer.from(line));
    const plain = Object.fromEntries(
      Object.entries(got).map(([k, v]: [string, unknown]) => [k, Buffer.isBuffer(v) ? v.toString() : v]),
    );
    assert.deepEqual(plain, want);
  });
}
