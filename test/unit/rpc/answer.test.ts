import assert from 'node:assert/strict';
import test from 'node:test';
import {
  type AnswerHead,
  AnswerReader,
  type AnswerRecord,
  type AnswerSource,
  documentText,
  failedAnswer,
  MAX_LINE_BYTES,
  Mux,
  type Outcome,
  records,
  rejected,
  type RecordsOptions,
  verdictOf,
  writeAnswer,
} from '../../../sdk/rpc/index.ts';
import { duplexPair, ScriptedPeer, until } from '../../support/duplex-pair.ts';

const verdicts: readonly (readonly [produced: number, rejected: number, message: string, outcome: Outcome])[] = [
  [0, 0, '', 'done'],
  [5, 0, '', 'done'],
  [5, 1, '', 'partial'],
  [0, 1, '', 'error'],
  [0, 0, 'no', 'error'],
  [1, 0, 'no', 'aborted'],
  [0, 1, 'no', 'aborted'],
  [3, 2, 'no', 'aborted'],
];
for (const [produced, bad, message, outcome] of verdicts) {
  test(`${produced} produced, ${bad} rejected, "${message}" is ${outcome}`, () => {
    assert.deepEqual(verdictOf({ kind: 'end', produced, rejected: bad, message }), { outcome, produced, rejected: bad, message });
  });
}
test('an answer without its end is truncated', () => {
  assert.equal(verdictOf({ kind: 'end', produced: 3, rejected: 0, message: '', truncated: true }).outcome, 'truncated');
});

/** What the writer puts on the link for id 9. */
async function written(source: AnswerSource): Promise<string[]> {
  let text = '';
  await writeAnswer('9', source, {
    write: (lines) => {
      text += lines;
    },
    ready: () => Promise.resolve(),
  });
  assert.ok(text.endsWith('\n'));
  return text.slice(0, -1).split('\n');
}

function rows(values: readonly unknown[], options: RecordsOptions = {}, end = ''): AnswerSource {
  return records(
    (function* () {
      yield* values;
      if (end !== '') throw new Error(end);
    })(),
    options,
  );
}

const TAB = { columns: ['leaf', 'size'], envelope: 'leafs' };
const folded: readonly (readonly [name: string, source: () => AnswerSource, lines: readonly string[]])[] = [
  [
    'a built value, byte for byte',
    () => documentText('{"up":true,"sessions":3}'),
    ['#9 top doc 0: 0:', '#9 row 24:{"up":true,"sessions":3}', '#9 end 1 0 0:'],
  ],
  ['no data at all', () => documentText(undefined), ['#9 top doc 0: 0:', '#9 end 0 0 0:']],
  ['an empty walk', () => rows([]), ['#9 top doc 0: 0:', '#9 row 2:[]', '#9 end 0 0 0:']],
  [
    'an empty walk with an envelope',
    () => rows([], { envelope: 'k' }),
    ['#9 top doc 0: 0:', '#9 row 8:{"k":[]}', '#9 end 0 0 0:'],
  ],
  ['rows', () => rows([{ k: 'é' }, 2]), ['#9 top doc 0: 0:', '#9 row 14:[{"k":"é"},2]', '#9 end 2 0 0:']],
  ['rows with an envelope', () => rows([1], { envelope: 'k' }), ['#9 top doc 0: 0:', '#9 row 9:{"k":[1]}', '#9 end 1 0 0:']],
  [
    'rows and rejected ones',
    () => rows([1, rejected('x'), 2], { envelope: 'k' }),
    ['#9 top doc 0: 0:', '#9 row 26:{"k":[1,2],"errors":["x"]}', '#9 end 2 1 0:'],
  ],
  [
    'rejected rows without an envelope',
    () => rows([rejected(5)]),
    ['#9 top doc 0: 0:', '#9 row 24:{"data":[],"errors":[5]}', '#9 end 0 1 0:'],
  ],
  [
    'tab rows become objects, keys in column order',
    () => rows([['mtu', 1500]], TAB),
    ['#9 top doc 0: 0:', '#9 row 38:{"leafs":[{"leaf":"mtu","size":1500}]}', '#9 end 1 0 0:'],
  ],
  [
    'a walk that breaks off',
    () => rows([1, 2], {}, 'table walk interrupted'),
    ['#9 top doc 0: 0:', '#9 row 5:[1,2]', '#9 end 2 0 22:table walk interrupted'],
  ],
  [
    'a failure before the first row',
    () => rows([], {}, 'plugin not loaded'),
    ['#9 top doc 0: 0:', '#9 end 0 0 17:plugin not loaded'],
  ],
  ['a failure without a reason', () => failedAnswer(''), ['#9 top doc 0: 0:', '#9 end 0 0 13:unknown error']],
  [
    'a big integer',
    () => rows([{ id: 18446744073709551615n }]),
    ['#9 top doc 0: 0:', '#9 row 29:[{"id":18446744073709551615}]', '#9 end 1 0 0:'],
  ],
];
for (const [name, source, lines] of folded) {
  test(`folds ${name}`, async () => assert.deepEqual(await written(source()), lines));
}

const refused: readonly (readonly [name: string, source: () => AnswerSource, message: RegExp])[] = [
  ['a record that says nothing', () => rows([1, undefined]), /empty answer record/],
  ['a tab row that is too short', () => rows([['mtu']], TAB), /answer row has 1 elements, want 2/],
  ['a tab row that is no array', () => rows([{}], TAB), /answer row has no elements, want 2/],
];
for (const [name, source, message] of refused) {
  test(`${name} ends the answer with an error line`, async () => {
    const lines = await written(source());
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /^#9 error /);
    assert.match(lines[0] ?? '', message);
  });
}

test('a relayed record that is no single JSON value cannot forge others', async () => {
  for (const json of ['1,2', '1],"errors":[', '', 'x']) {
    const next = [
      { kind: 'records', records: [{ rejected: false, json }] },
      { kind: 'end', produced: 1, rejected: 0, message: '' },
    ] as const;
    const source = (itemType: 'map' | 'tab'): AnswerSource => {
      let at = 0;
      return {
        head: { itemType, envelope: 'k', columns: itemType === 'tab' ? ['a'] : [] },
        next: () => Promise.resolve(next[at++]!),
        cancel: () => undefined,
      };
    };
    for (const itemType of ['map', 'tab'] as const) {
      const lines = await written(source(itemType));
      assert.match(lines.join(' '), /^#9 error .*(?:not JSON|empty answer record)/, json);
      await assert.rejects(new AnswerReader(source(itemType)).collapse(), { code: 'unreadable' });
      await assert.rejects(new AnswerReader(source(itemType))[Symbol.asyncIterator]().next(), { code: 'unreadable' });
    }
  }
});

test('the reserved envelope and odd columns are refused before a line is written', async () => {
  assert.throws(() => records([], { envelope: 'errors' }), /"errors" is reserved/);
  const bare = (head: AnswerHead): AnswerSource => ({ head, next: () => assert.fail('not pulled'), cancel: () => undefined });
  for (const head of [
    { itemType: 'tab', envelope: '', columns: [] },
    { itemType: 'map', envelope: '', columns: ['a'] },
    { itemType: 'map', envelope: 'errors', columns: [] },
  ] as const) {
    const lines = await written(bare(head));
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /^#9 error /);
  }
});

test('256 records fold, the 257th makes the answer stream', async () => {
  const many = (count: number): unknown[] => Array.from({ length: count }, (_, i) => (i === 3 ? rejected(i) : [i, 'é']));
  const small = await written(rows(many(256), { envelope: 'k' }));
  assert.equal(small.length, 3);
  assert.equal(small[2], '#9 end 255 1 0:');
  const map = await written(rows(many(257), { envelope: 'k' }));
  assert.equal(map.length, 259);
  assert.deepEqual(
    [map[0], map[1], map[4], map[258]],
    ['#9 top map 1:k 0:', '#9 row 8:[0,"é"]', '#9 bad 1:3', '#9 end 256 1 0:'],
  );
  const tab = await written(rows(many(257), { columns: ['n', 't'] }));
  assert.deepEqual([tab[0], tab[257], tab[258]], ['#9 top tab 0: 9:["n","t"]', '#9 row 10:[256,"é"]', '#9 end 256 1 0:']);
});

test('an immediate answer shows its head before the first record', async () => {
  let give: (value: IteratorResult<unknown>) => void = () => undefined;
  const slow = {
    [Symbol.asyncIterator]: () => ({ next: () => new Promise<IteratorResult<unknown>>((resolve) => (give = resolve)) }),
  };
  let text = '';
  const done = writeAnswer('9', records(slow, { immediate: true }), {
    write: (lines) => {
      text += lines;
    },
    ready: () => Promise.resolve(),
  });
  assert.equal(text, '#9 top map 0: 0:\n');
  await new Promise((resolve) => setImmediate(resolve));
  give({ done: false, value: 1 });
  await until(() => text.endsWith('#9 row 1:1\n'), 'the first row');
  give({ done: true, value: undefined });
  await done;
  assert.equal(text, '#9 top map 0: 0:\n#9 row 1:1\n#9 end 1 0 0:\n');
});

test('a record too wide for a line is rejected and the walk goes on', async () => {
  const wide = 'x'.repeat(MAX_LINE_BYTES);
  const values = [wide, ...Array.from({ length: 300 }, (_, i) => i)];
  const lines = await written(rows(values));
  assert.equal(lines[0], '#9 top map 0: 0:');
  const size = MAX_LINE_BYTES + 2;
  const fault = JSON.stringify({
    message: 'answer record does not fit one wire message',
    record: 1,
    'encoded-bytes': size + '#9 row 16777218:'.length,
    'limit-bytes': MAX_LINE_BYTES,
  });
  assert.equal(lines[1], `#9 bad ${fault.length}:${fault}`);
  assert.equal(lines.at(-1), '#9 end 300 1 0:');
});

test('a record too wide for a line is rejected also where the answer folds', async () => {
  const lines = await written(rows([1, 'x'.repeat(MAX_LINE_BYTES), 2], { envelope: 'k' }));
  const fault = JSON.stringify({
    message: 'answer record does not fit one wire message',
    record: 2,
    'encoded-bytes': MAX_LINE_BYTES + 2 + '#9 row 16777218:'.length,
    'limit-bytes': MAX_LINE_BYTES,
  });
  const document = `{"k":[1,2],"errors":[${fault}]}`;
  assert.deepEqual(lines, ['#9 top doc 0: 0:', `#9 row ${document.length}:${document}`, '#9 end 2 1 0:']);
});

test('the widest record that fits is written', async () => {
  const width = MAX_LINE_BYTES - '#9 row 16777200:'.length;
  const lines = await written(documentText(`"${'x'.repeat(width - 2)}"`));
  assert.equal(lines[1]?.length, MAX_LINE_BYTES);
});

test('a document too wide for a line is one rejected record', async () => {
  for (const source of [
    documentText(`"${'x'.repeat(MAX_LINE_BYTES)}"`),
    rows(['x'.repeat(MAX_LINE_BYTES / 2), 'x'.repeat(MAX_LINE_BYTES / 2)].map((x) => x.slice(8))),
  ]) {
    const lines = await written(source);
    assert.match(lines[0] ?? '', /^#9 top map 0: 0:$/);
    assert.match(
      lines[1] ?? '',
      /^#9 bad \d+:\{"message":"answer record does not fit one wire message","record":1,"encoded-bytes":\d+,"limit-bytes":16777216\}$/,
    );
    assert.equal(lines[2], '#9 end 0 1 0:');
  }
});

/** Opens one answer and lets a test send its lines. */
async function opened(
  options: ConstructorParameters<typeof Mux>[1] = {},
): Promise<{ mux: Mux; peer: ScriptedPeer; answer: AnswerReader }> {
  const [left, right] = duplexPair();
  const mux = new Mux(left, options);
  const peer = new ScriptedPeer(right);
  const answer = mux.dispatchAnswer('ze-plugin-engine:dispatch-command', { command: 'x' });
  await peer.line();
  return { mux, peer, answer };
}

const all = async (answer: AnswerReader): Promise<AnswerRecord[]> => {
  const list: AnswerRecord[] = [];
  for await (const chunk of answer.chunks()) list.push(...chunk);
  return list;
};

test('the sheet’s vectors are read', async () => {
  const { mux, peer, answer } = await opened();
  peer.send(
    '#1 top map 10:interfaces 0:',
    '#1 row 15:{"name":"eth0"}',
    '#1 bad 30:{"leaf":"mtu","why":"too big"}',
    '#1 end 300 1 0:',
  );
  assert.deepEqual(await all(answer), [
    { rejected: false, json: '{"name":"eth0"}' },
    { rejected: true, json: '{"leaf":"mtu","why":"too big"}' },
  ]);
  assert.deepEqual(await answer.head, { itemType: 'map', envelope: 'interfaces', columns: [] });
  assert.deepEqual(await answer.verdict, { outcome: 'partial', produced: 300, rejected: 1, message: '' });
  const tab = mux.dispatchAnswer('ze-plugin-engine:dispatch-command', { command: 'y' });
  await peer.line();
  peer.send('#2 top tab 5:leafs 15:["leaf","size"]', '#2 row 12:["mtu",1500]', '#2 end 400 0 22:table walk interrupted');
  assert.deepEqual(await tab.collapse(), {
    status: 'error',
    data: { leafs: [{ leaf: 'mtu', size: 1500 }] },
    error: 'table walk interrupted',
  });
  assert.equal((await tab.verdict).outcome, 'aborted');
  assert.deepEqual(mux.pending, { calls: 0, answers: 0, requests: 0 });
  await mux.close();
});

const rowsOf: readonly (readonly [document: string, rows: readonly unknown[]])[] = [
  ['[1,2]', [1, 2]],
  ['{"k":[{"a":1}],"errors":[5]}', [{ a: 1 }]],
  ['{"a":1,"b":[2]}', [{ a: 1, b: [2] }]],
  ['{"id":18446744073709551615}', [{ id: 18446744073709551615n }]],
  ['5', [5]],
];
for (const [document, want] of rowsOf) {
  test(`the document ${document} reads as ${want.length} rows`, async () => {
    const { mux, peer, answer } = await opened();
    peer.send('#1 top doc 0: 0:', `#1 row ${document.length}:${document}`, '#1 end 97 0 0:');
    const list: unknown[] = [];
    for await (const row of answer) list.push(row);
    assert.deepEqual(list, want);
    assert.equal((await answer.verdict).produced, 97);
    await mux.close();
  });
}

const unreadable: readonly (readonly [name: string, lines: readonly string[]])[] = [
  ['no head', ['#1 row 1:5']],
  ['an end without a head', ['#1 end 0 0 0:']],
  ['an ok', ['#1 ok {}']],
  ['a second head', ['#1 top doc 0: 0:', '#1 top doc 0: 0:']],
  ['an unknown item type', ['#1 top xyz 0: 0:']],
  ['a tab head without columns', ['#1 top tab 0: 0:']],
  ['a map head with columns', ['#1 top map 0: 5:["a"]']],
  ['columns that are no list of names', ['#1 top tab 0: 3:[1]']],
  ['a number beyond 64 bits', ['#1 top map 0: 0:', '#1 end 99999999999999999999 0 0:']],
  ['a number closed by a colon', ['#1 top map 0: 0:', '#1 end 1: 0 0:']],
];
for (const [name, lines] of unreadable) {
  test(`${name} ends that answer and the link goes on`, async () => {
    const { mux, peer, answer } = await opened();
    peer.send(...lines, '#1 row 1:6', '#1 end 1 0 0:');
    await assert.rejects(answer.collapse(), { code: 'unreadable' });
    await assert.rejects(answer.verdict);
    mux.serve('ze-plugin-callback:bye', () => undefined);
    peer.send('#1 ze-plugin-callback:bye');
    // Only a writer that may go on is told that nobody reads.
    const told = name === 'an ok' ? [] : ['#2 zest-link:cancel-answer {"id":"1"}'];
    assert.deepEqual((await peer.take(1 + told.length)).sort(), ['#1 ok', ...told]);
    assert.deepEqual(mux.pending, { calls: 0, answers: 0, requests: 0 });
    await mux.close();
  });
}

test('an error line, a nay, and a nay with a code are the whole answer', async () => {
  for (const [line, code, message] of [
    ['#1 error {"code":"error","message":"busy: x"}', 'busy', 'busy: x'],
    ['#1 nay 0: 28:unknown command: shwo routes', 'unknown-command', 'unknown command: shwo routes'],
    ['#1 nay 6:denied 0:', 'denied', '(no message)'],
  ] as const) {
    const { mux, peer, answer } = await opened();
    peer.send(line);
    await assert.rejects(answer.head, { code, message });
    await assert.rejects(answer.collapse(), { code, message });
    await assert.rejects(answer.verdict, { code, message });
    await mux.close();
  }
});

test('a link that dies delivers what came and reports truncation', async () => {
  const { mux, peer, answer } = await opened();
  peer.send('#1 top map 0: 0:', '#1 row 1:5', '#1 row 1:6');
  peer.stream.end();
  await mux.closed;
  assert.deepEqual(
    (await all(answer)).map((record) => record.json),
    ['5', '6'],
  );
  assert.deepEqual(await answer.verdict, { outcome: 'truncated', produced: 2, rejected: 0, message: 'connection closed' });
});

test('a document that holds more than itself is no document', async () => {
  for (const lines of [
    ['#1 row 1:1', '#1 row 1:2', '#1 end 2 0 0:'],
    ['#1 bad 1:1', '#1 end 0 1 0:'],
    ['#1 row 1:x', '#1 end 1 0 0:'],
  ]) {
    const { mux, peer, answer } = await opened();
    peer.send('#1 top doc 0: 0:', ...lines);
    await assert.rejects(answer.collapse(), { code: 'unreadable' });
    await mux.close();
  }
});

test('a reader that lags loses that answer alone', async () => {
  const { mux, peer, answer } = await opened({ answerQueueBytes: 1700 });
  const row = `"${'x'.repeat(98)}"`;
  peer.send('#1 top map 0: 0:', ...Array.from({ length: 10 }, () => `#1 row 100:${row}`));
  const chunks = answer.chunks();
  assert.equal((await chunks.next()).done, false);
  peer.send(...Array.from({ length: 11 }, () => `#1 row 100:${row}`), '#1 end 21 0 0:');
  await assert.rejects(
    chunks.next().then(() => chunks.next()),
    { code: 'queue-full', message: /consumer fell behind/ },
  );
  assert.equal(await peer.line(), '#2 zest-link:cancel-answer {"id":"1"}');
  const call = mux.call('ze-plugin-engine:unsubscribe-events', undefined);
  await peer.line();
  peer.send('#3 ok');
  await call;
  assert.deepEqual(mux.pending, { calls: 0, answers: 0, requests: 0 });
  await mux.close();
});

test('where the link serves one reader it is held instead', async () => {
  const { mux, peer, answer } = await opened({ answerQueueBytes: 1000, whenAnswerFull: 'pause' });
  const count = 5000;
  peer.send('#1 top map 0: 0:', ...Array.from({ length: count }, () => `#1 row 100:"${'x'.repeat(98)}"`), `#1 end ${count} 0 0:`);
  let seen = 0;
  for await (const row of answer) {
    assert.equal((row as string).length, 98);
    seen++;
    if (seen % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(seen, count);
  await mux.close();
});

test('who leaves an answer across a link releases its producer there, also before its first row', async () => {
  for (const early of [false, true]) {
    const [left, right] = duplexPair();
    const reader = new Mux(left);
    const heard: string[] = [];
    const writer = new Mux(right, { trace: (_direction, line) => void heard.push(line) });
    let released = 0;
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    let produce: () => void = () => undefined;
    writer.serveAnswer('ze-plugin-engine:dispatch-command', async () => {
      begin();
      if (early) await new Promise<void>((resolve) => (produce = resolve));
      return records(
        (async function* () {
          for (let n = 0; ; n++) {
            if (n % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
            yield n;
          }
        })(),
        { onCancel: () => released++ },
      );
    });
    const leave = new AbortController();
    const answer = reader.dispatchAnswer('ze-plugin-engine:dispatch-command', { command: 'x' }, leave.signal);
    await begun;
    if (early) {
      leave.abort();
      await assert.rejects(answer.head, { code: 'aborted' });
      await until(() => heard.some((line) => line.includes('cancel-answer')), 'the word of it');
      produce();
    } else {
      for await (const row of answer) if (row === 5000) break;
    }
    await until(() => released === 1, 'the release');
    await until(() => writer.pending.requests === 0, 'the end of the answer');
    await Promise.all([reader.close(), writer.close()]);
  }
});

test('a link that others use as well is held for a while, then that answer is lost alone', async () => {
  const { mux, peer, answer } = await opened({ answerQueueBytes: 1000, whenAnswerFull: 'pause', answerPauseMs: 20 });
  const row = `#1 row 100:"${'x'.repeat(98)}"`;
  peer.send('#1 top map 0: 0:', ...Array.from({ length: 20 }, () => row));
  mux.serve('ze-plugin-callback:bye', () => undefined);
  peer.send('#7 ze-plugin-callback:bye');
  // Nobody reads the answer; what stands behind it on the link is read when the time is up.
  assert.deepEqual((await peer.take(2)).sort(), ['#2 zest-link:cancel-answer {"id":"1"}', '#7 ok']);
  await assert.rejects(answer.collapse(), { code: 'queue-full' });
  peer.send(row, '#1 end 21 0 0:');
  const call = mux.call('ze-plugin-engine:unsubscribe-events', undefined);
  await peer.line();
  peer.send('#2 error {"code":"error","message":"unknown method: zest-link:cancel-answer"}', '#3 ok');
  await call;
  assert.deepEqual(mux.pending, { calls: 0, answers: 0, requests: 0 });
  await mux.close();
});

test('an answer that is here whole is not lost, however late it is read', async () => {
  const { mux, peer, answer } = await opened({ answerQueueBytes: 1000, whenAnswerFull: 'pause', answerPauseMs: 20 });
  const row = `#1 row 100:"${'x'.repeat(98)}"`;
  peer.send('#1 top map 0: 0:', ...Array.from({ length: 20 }, () => row), '#1 end 20 0 0:');
  mux.serve('ze-plugin-callback:bye', () => undefined);
  peer.send('#7 ze-plugin-callback:bye');
  assert.equal(await peer.line(), '#7 ok');
  assert.equal((await all(answer)).length, 20);
  assert.equal((await answer.verdict).outcome, 'done');
  await mux.close();
});

test('leaving the loop cancels a producer in the same process and runs its finally', async () => {
  let released = 0;
  const source = records(
    (async function* () {
      try {
        for (let n = 0; ; n++) yield n;
      } finally {
        released++;
        await Promise.resolve();
      }
    })(),
    { onCancel: () => released++ },
  );
  const answer = new AnswerReader(source);
  for await (const row of answer) if (row === 700) break;
  await until(() => released === 2, 'the release');
  assert.equal((await answer.verdict).outcome, 'aborted');
  assert.deepEqual((await source.next()).kind, 'end');
});

test('cancelling wakes a reader that waits for a producer that is stuck', async () => {
  const source = records(
    (async function* () {
      yield 1;
      await new Promise(() => undefined);
    })(),
  );
  const first = await source.next();
  assert.equal(first.kind, 'records');
  const waiting = source.next();
  source.cancel();
  assert.equal((await waiting).kind, 'end');
});

test('an async producer’s record is given out while it thinks about the next', async () => {
  let go: () => void = () => undefined;
  const source = records(
    (async function* () {
      yield 1;
      yield 2;
      await new Promise<void>((resolve) => (go = resolve));
      yield 3;
    })(),
  );
  const first = await source.next();
  assert.deepEqual(first.kind === 'records' ? first.records.map((r) => r.json) : first, ['1', '2']);
  go();
  const second = await source.next();
  assert.deepEqual(second.kind === 'records' ? second.records.map((r) => r.json) : second, ['3']);
  assert.deepEqual(await source.next(), { kind: 'end', produced: 3, rejected: 0, message: '' });
});
