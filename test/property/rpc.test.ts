// What holds of the bus's lines for any bytes, any split and any mix.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import fc from 'fast-check';
import {
  type AnswerSource,
  decodeInput,
  errorFromPayload,
  foldRecords,
  FrameError,
  headLine,
  LineSplitter,
  Mux,
  parseJson,
  parseLine,
  records,
  rejected,
  RpcError,
  stringifyJson,
  writeAnswer,
} from '../../sdk/rpc/index.ts';
import { ENGINE_METHODS } from '../../yang/generated/methods.ts';
import { choppyPair, duplexPair } from '../support/duplex-pair.ts';

const awake = setInterval(() => undefined, 1000);
after(() => clearInterval(awake));

const text = fc.string({ unit: 'binary', maxLength: 30 });
const counted = (value: string): string => `${Buffer.byteLength(value)}:${value}`;
const id = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
const line = fc.oneof(
  fc.tuple(id, text).map(([n, t]) => `#${n} row ${counted(t)}`),
  fc.tuple(id, text, text).map(([n, a, b]) => `#${n} nay ${counted(a)} ${counted(b)}`),
  fc
    .tuple(id, fc.constantFrom('doc', 'map', 'tab'), text, text)
    .map(([n, k, a, b]) => `#${n} top ${k} ${counted(a)} ${counted(b)}`),
  fc.tuple(id, fc.nat(), fc.nat(), text).map(([n, p, r, m]) => `#${n} end ${p} ${r} ${counted(m)}`),
  fc.tuple(id, fc.json()).map(([n, j]) => `#${n} a:b ${j}`),
  fc.tuple(id, fc.json()).map(([n, j]) => `#${n} ok ${j}`),
);
/** Streams that look like lines but need not be. */
const wild = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  fc
    .array(
      fc.constantFrom(
        '#1 ',
        '#',
        'row ',
        'top ',
        'end ',
        'nay ',
        'bad ',
        'doc ',
        'map ',
        '3:',
        '0:',
        'abc',
        '12 ',
        ' ',
        '\n',
        'é',
        'ok',
        'ok {"a":1}',
        'a:b ',
        '9999999999:',
      ),
      { maxLength: 25 },
    )
    .map((parts) => Buffer.from(parts.join(''))),
);

/** The lines of a stream pushed in pieces, and the fault that ended it. */
function split(stream: Buffer, cuts: readonly number[]): { lines: string[]; fault: string } {
  const lines: string[] = [];
  const splitter = new LineSplitter((bytes) => lines.push(bytes.toString('latin1')));
  let at = 0;
  let turn = 0;
  try {
    while (at < stream.length) {
      const size = cuts.length === 0 ? stream.length : Math.max(1, cuts[turn++ % cuts.length] ?? 1);
      splitter.push(stream.subarray(at, at + size));
      at += size;
    }
    splitter.end();
    return { lines, fault: '' };
  } catch (error) {
    assert.ok(error instanceof FrameError);
    return { lines, fault: error.message };
  }
}

test('lines that were written are read back, in any split', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 6 }), (lines, cuts) => {
      const stream = Buffer.from(lines.map((l) => `${l}\n`).join(''));
      const got = split(stream, cuts);
      assert.equal(got.fault, '');
      assert.deepEqual(
        got.lines.map((l) => Buffer.from(l, 'latin1').toString()),
        lines.map((l) => Buffer.from(l).toString()),
      );
      for (const l of lines) assert.notEqual(parseLine(Buffer.from(l)).kind, 'malformed');
    }),
  );
});

test('any bytes give the same lines and the same fault in any split', () => {
  fc.assert(
    fc.property(wild, fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 6 }), (stream, cuts) => {
      const whole = split(stream, []);
      assert.deepEqual(split(stream, cuts), whole);
      assert.deepEqual(split(stream, [1]), whole);
      for (const l of whole.lines) parseLine(Buffer.from(l, 'latin1'));
    }),
    { numRuns: 2000 },
  );
});

test('an answer of any records is read back as it was produced', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.boolean(), fc.jsonValue()), { maxLength: 600 }),
      fc.constantFrom('', 'rows', 'é'),
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 4 }),
      async (values, envelope, sizes) => {
        const [left, right] = choppyPair(sizes);
        const producer = new Mux(left);
        const consumer = new Mux(right);
        producer.serveAnswer('ze-plugin-engine:dispatch-command', () =>
          records(
            values.map(([bad, value]) => (bad ? rejected(value) : value)),
            { envelope },
          ),
        );
        const produced = values.filter(([bad]) => !bad).map(([, value]) => JSON.stringify(value));
        const refused = values.filter(([bad]) => bad).map(([, value]) => JSON.stringify(value));
        const answer = consumer.dispatchAnswer('ze-plugin-engine:dispatch-command', { command: 'x' });
        const collapsed = await answer.collapse();
        const want = parseJson(foldRecords({ itemType: 'map', envelope, columns: [] }, produced, refused));
        assert.deepEqual(collapsed.data, want);
        const verdict = await answer.verdict;
        assert.deepEqual([verdict.produced, verdict.rejected], [produced.length, refused.length]);
        await Promise.all([producer.close(), consumer.close()]);
      },
    ),
    { numRuns: 40 },
  );
});

test('answers of several commands at once do not mix, whatever the pace of their producers', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.nat({ max: 2 }), { maxLength: 300 }), { minLength: 1, maxLength: 5 }),
      async (paces) => {
        const [left, right] = duplexPair();
        const producer = new Mux(left);
        const consumer = new Mux(right);
        producer.serveAnswer('ze-plugin-engine:dispatch-command', (input): AnswerSource => {
          const which = Number(input.command);
          return records(
            (async function* () {
              for (const [n, pace] of (paces[which] ?? []).entries()) {
                if (pace === 1) await Promise.resolve();
                else if (pace === 2 && n % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
                yield `${which}.${n}\n`;
              }
            })(),
          );
        });
        await Promise.all(
          paces.map(async (pace, which) => {
            const seen: unknown[] = [];
            for await (const row of consumer.dispatchAnswer('ze-plugin-engine:dispatch-command', { command: String(which) }))
              seen.push(row);
            assert.deepEqual(
              seen,
              pace.map((_, n) => `${which}.${n}\n`),
            );
          }),
        );
        assert.deepEqual(consumer.pending, { calls: 0, answers: 0, requests: 0 });
        await Promise.all([producer.close(), consumer.close()]);
      },
    ),
    { numRuns: 40 },
  );
});

test('no bytes of a peer throw past the link or leave a waiter behind', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          wild,
          line.map((l) => Buffer.from(`${l}\n`)),
          fc
            .tuple(
              fc.integer({ min: 1, max: 3 }),
              fc.constantFrom('ok', 'ok {}', 'error', 'top doc 0: 0:', 'row 1:5', 'end 1 0 0:', 'nay 0: 0:', 'end 0 0 1:x'),
            )
            .map(([n, l]) => Buffer.from(`#${n} ${l}\n`)),
        ),
        { maxLength: 20 },
      ),
      async (chunks) => {
        const [left, right] = duplexPair();
        const mux = new Mux(left, { busyAfterMs: 5 });
        mux.serve('ze-plugin-engine:release-cached', () => undefined);
        const call = mux.call('ze-plugin-engine:emit-event', { namespace: '', 'event-type': '', event: '' });
        const collapsed = mux.dispatchAnswer('ze-plugin-engine:dispatch-command', { command: '' }).collapse();
        const rows = mux.dispatchAnswer('ze-plugin-engine:dispatch-command-args', { command: '' });
        const outcomes = Promise.allSettled([
          call,
          collapsed,
          (async () => {
            for await (const row of rows) assert.notEqual(row, undefined);
          })(),
          rows.verdict,
        ]);
        right.on('error', () => undefined);
        right.resume();
        for (const chunk of chunks) right.write(chunk);
        right.end();
        await mux.closed;
        for (const outcome of await outcomes) {
          if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof RpcError, String(outcome.reason));
        }
        assert.deepEqual(mux.pending, { calls: 0, answers: 0, requests: 0 });
      },
    ),
    { numRuns: 300 },
  );
});

test('no params throw anything but a refusal, and what is accepted has every required member', () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(
      fc.constantFrom('families', 'COMMANDS', 'ids', 'routes', 'command', 'Subscribe', 'events', 'decisions'),
      fc.jsonValue(),
    ),
  );
  fc.assert(
    fc.property(fc.constantFrom(...ENGINE_METHODS), value, (method, input) => {
      let decoded: unknown;
      try {
        decoded = decodeInput(method, input);
      } catch (error) {
        assert.ok(error instanceof RpcError && error.code === 'invalid-params', String(error));
        return;
      }
      if (method === 'ze-plugin-engine:forward-cached') {
        const { ids, destinations } = decoded as { ids: unknown; destinations: unknown };
        assert.ok(Array.isArray(ids) && Array.isArray(destinations));
      }
    }),
    { numRuns: 1000 },
  );
});

test('any error payload reads as an RpcError with a message', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 40 }),
        fc.json().map((j) => Buffer.from(j)),
        fc.tuple(text, text).map(([a, b]) => Buffer.from(`${counted(a)} ${counted(b)}`)),
      ),
      (bytes) => {
        const error = errorFromPayload(Buffer.from(bytes));
        assert.ok(error.message.length > 0 && error.code.length > 0);
      },
    ),
  );
});

test('JSON keeps every integer', () => {
  // Texts like those that stand for a long integer between two passes.
  const lookalike = fc
    .array(fc.constantFrom('\u0000', '\u0000', 'bigint:', '5', 's', '"', '\\', 'u0000'), { maxLength: 6 })
    .map((parts) => parts.join(''));
  const word = fc.oneof(text, lookalike);
  const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.jsonValue(),
      fc.bigInt(),
      word,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(word, tie('value'), { maxKeys: 4 }),
    ),
  })).value;
  const plain = (v: unknown): unknown => {
    if (typeof v === 'number' && /^-?\d+$/.test(JSON.stringify(v))) return BigInt(JSON.stringify(v)); // the digits on the wire
    if (Array.isArray(v)) return v.map(plain);
    if (typeof v === 'object' && v !== null)
      return Object.fromEntries(Object.entries(v).map(([k, m]: [string, unknown]) => [k, plain(m)]));
    return v;
  };
  fc.assert(
    fc.property(value, (v) => {
      const written = stringifyJson(v);
      assert.ok(written !== undefined && !written.includes('\n'));
      assert.deepEqual(plain(parseJson(written)), plain(v));
    }),
    { numRuns: 500 },
  );
});

test('what the writer writes for any source is one head, records, one end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.jsonValue(), fc.jsonValue().map(rejected), fc.constant(undefined)), { maxLength: 300 }),
      fc.boolean(),
      async (values, immediate) => {
        let out = '';
        await writeAnswer('7', records(values, { immediate }), {
          write: (lines) => {
            out += lines;
          },
          ready: () => Promise.resolve(),
        });
        const kinds: string[] = [];
        const splitter = new LineSplitter((bytes) => {
          const parsed = parseLine(bytes);
          kinds.push(parsed.kind === 'answer' ? parsed.word : parsed.kind);
        });
        splitter.push(Buffer.from(out));
        const shape = kinds.join(' ');
        if (values.includes(undefined)) assert.match(shape, /^(?:top (?:(?:row|bad) )*)?error$/);
        else assert.match(shape, /^top (?:(?:row|bad) )*end$/);
        if (immediate) assert.ok(out.startsWith(headLine('7', { itemType: 'map', envelope: '', columns: [] })));
      },
    ),
    { numRuns: 100 },
  );
});

/** What a link with five calls under way makes of a stream, sorted: who was answered what, which bulk requests came, and their answers. */
async function heard(stream: Buffer, size: number): Promise<string[]> {
  const [left, right] = duplexPair();
  const mux = new Mux(left);
  const log: string[] = [];
  mux.serveBulk('ze-plugin-engine:update-route', (bytes, from, to, id, replies) => {
    const params = bytes.toString('latin1', from, to);
    log.push(`${id} ${params}`);
    if (params.length % 2 === 0) throw new RpcError('error', params);
    replies.ok(id, to - from, '{}');
  });
  const calls = Array.from({ length: 5 }, (_, n) =>
    mux.callRaw('a:b', '').then(
      (result) => void log.push(`call ${n + 1}: ${result.toString('latin1')}`),
      (error: unknown) => void log.push(`call ${n + 1} failed: ${String(error)}`),
    ),
  );
  for (let at = 0; at < stream.length; at += size) {
    left.emit('data', stream.subarray(at, at + size));
    await Promise.resolve();
  }
  await new Promise((resolve) => setImmediate(resolve));
  const replies: Buffer[] = [];
  right.on('data', (chunk: Buffer) => replies.push(chunk));
  await mux.close();
  await Promise.all(calls);
  return [...log, ...Buffer.concat(replies).toString('latin1').split('\n')].sort();
}

test('lines that are taken where they lie mean what they mean when they come in pieces', async () => {
  const words = fc.constantFrom(
    'ok',
    'ok ',
    'ok {}',
    'okay',
    'o',
    'ok  x',
    'ze-plugin-engine:update-route',
    'error',
    'error "no"',
    '',
  );
  const frequent = fc.oneof(
    fc
      .tuple(fc.constantFrom('1', '2', '3', '4', '5', '6', '01', '0', '9007199254740993', ''), words)
      .map(([n, w]) => `#${n} ${w}`),
    fc
      .tuple(fc.nat(99), fc.string({ maxLength: 8 }))
      .map(([n, p]) => `#${n} ze-plugin-engine:update-route ${p.replaceAll('\n', '')}`),
    fc.constantFrom('', '#', '#1', '#2ok', '# ok'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(frequent, { maxLength: 12 }), fc.integer({ min: 2, max: 30 }), async (lines, size) => {
      const stream = Buffer.from(lines.map((one) => `${one}\n`).join(''), 'latin1');
      const want = await heard(stream, 1);
      assert.deepEqual(await heard(stream, stream.length + 1), want);
      assert.deepEqual(await heard(stream, size), want);
    }),
    { numRuns: 150 },
  );
});
