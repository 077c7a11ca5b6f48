// Whatever bytes a plugin sends the host, or an engine sends a plugin, cut as it may be: each ends in a state of its own, nobody throws past
// its boundary, nothing waits for ever.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { Plugin, StageError } from '../../sdk/plugin/plugin.ts';
import { Mux } from '../../sdk/rpc/mux.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import { pipePair } from '../../sdk/rpc/pipe.ts';
import { choppyPair } from '../support/duplex-pair.ts';
import { goodPlugin, makeWorld, NO_NEEDS, script, settings } from '../unit/host/support.ts';

const unhandled: unknown[] = [];
process.on('unhandledRejection', (error) => unhandled.push(error));
after(() => assert.deepEqual(unhandled, []));

const wild = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
const lines = (...texts: string[]): fc.Arbitrary<Buffer> => fc.constantFrom(...texts).map((text) => Buffer.from(`${text}\n`));
/** What a plugin may say, some of it in the right place by chance. */
const ofPlugin = fc.oneof(
  wild,
  lines(
    '#1 ze-plugin-engine:declare-registration {}',
    '#1 ze-plugin-engine:declare-registration {"commands":[{"name":"x y"}],"failure-policy":"ignore"}',
    '#1 ze-plugin-engine:declare-registration {"families":3}',
    '#1 ok',
    '#2 ze-plugin-engine:declare-capabilities {"capabilities":[]}',
    '#2 ok',
    '#3 ze-plugin-engine:ready {}',
    '#3 ze-plugin-engine:ready {"transport":"bridge"}',
    '#3 ok',
  ),
  lines(
    '#1 error {"message":"no"}',
    '#4 top doc 0: 0:',
    '#4 row 3:"é"',
    '#99 ok',
    '#5 nonsense {}',
    '#6 ze-plugin-engine:update-route {',
  ),
);
/** The right lines in the right order, the later of them left out or followed by something else. */
const STARTUP = [
  '#1 ze-plugin-engine:declare-registration {}',
  '#1 ok',
  '#2 ze-plugin-engine:declare-capabilities {"capabilities":[]}',
  '#2 ok',
  '#3 ze-plugin-engine:ready {}',
].map((text) => Buffer.from(`${text}\n`));
const says = fc.oneof(
  fc.array(ofPlugin, { maxLength: 15 }),
  fc
    .tuple(fc.nat({ max: STARTUP.length }), fc.array(ofPlugin, { maxLength: 8 }))
    .map(([good, rest]) => [...STARTUP.slice(0, good), ...rest]),
);
const cuts = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 });

function pieces(chunks: readonly Buffer[], sizes: readonly number[]): Buffer[] {
  const whole = Buffer.concat(chunks);
  const out: Buffer[] = [];
  for (let at = 0, turn = 0; at < whole.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    out.push(whole.subarray(at, at + size));
    at += size;
  }
  return out;
}

test('no bytes of a plugin keep the host from starting its neighbour, from a verdict on it, or from stopping', async () => {
  goodPlugin('good');
  await fc.assert(
    fc.asyncProperty(says, cuts, fc.constantFrom('end', 'destroy', 'stay'), async (chunks, sizes, last) => {
      const world = makeWorld({ deliveryTimeoutMs: 50 });
      script('odd', async (plugin) => {
        for (const piece of pieces(chunks, sizes)) {
          if (plugin.conn.destroyed) return;
          plugin.conn.write(piece);
          if (piece.length % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        if (last === 'end') plugin.conn.end();
        if (last === 'destroy') plugin.conn.destroy();
        await plugin.closed;
      });
      const plugins = [settings('good'), settings('odd', { timeoutMs: 40 })];
      assert.deepEqual(await world.host.start(plugins, [], NO_NEEDS), { ok: true });
      assert.equal(world.state('good'), 'running');
      assert.match(world.state('odd') ?? '', /^(?:running|failed)$/);
      if (world.state('odd') === 'failed') assert.equal(world.commands.active.has('odd'), false);
      const answer = world.host.execute('odd', { command: 'x y' }, AbortSignal.timeout(20)).collapse();
      await answer.catch((error: unknown) => assert(error instanceof RpcError, String(error)));
      await world.stop();
      assert.deepEqual(world.bus.processes(), []);
      assert.deepEqual([...world.commands.active.keys()], []);
    }),
    { numRuns: 100 },
  );
});

const ofEngine = fc.oneof(
  wild,
  lines(
    '#1 ok',
    '#2 ok',
    '#3 ok',
    '#1 error {"message":"refused"}',
    '#1 ze-plugin-callback:configure {"sections":[]}',
    '#1 ze-plugin-callback:configure {"sections":7}',
    '#2 ze-plugin-callback:share-registry {"commands":[]}',
    '#4 ze-plugin-callback:deliver-batch {"events":["{}","x"]}',
    '#5 ze-plugin-callback:execute-command {"command":"x","args":[]}',
    '#6 ze-plugin-callback:bye {"reason":"x"}',
    '#7 ze-plugin-callback:nothing {}',
  ),
);
const GREETING = [
  '#1 ok',
  '#1 ze-plugin-callback:configure {"sections":[]}',
  '#2 ok',
  '#2 ze-plugin-callback:share-registry {"commands":[]}',
  '#3 ok',
].map((text) => Buffer.from(`${text}\n`));

test('no bytes of an engine make a plugin end in anything but a clean end or the stage that failed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(fc.nat({ max: GREETING.length }), fc.array(ofEngine, { maxLength: 12 })),
      cuts,
      fc.boolean(),
      async ([good, rest], sizes, throws) => {
        const [ours, theirs] = pipePair();
        const plugin = Plugin.withConn('p', ours);
        let handled = 0;
        plugin.onEvent(() => {
          handled++;
          if (throws) throw new Error('handler');
        });
        plugin.onExecuteCommand(() => ({ handled }));
        const run = plugin.run({}).catch((error: unknown) => assert(error instanceof StageError, String(error)));
        run.catch(() => undefined);
        theirs.on('error', () => undefined);
        theirs.resume();
        for (const piece of pieces([...GREETING.slice(0, good), ...rest], sizes)) {
          if (!theirs.writableEnded && !theirs.destroyed) theirs.write(piece);
          if (piece.length % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        theirs.end();
        await run;
        await plugin.close();
        await assert.rejects(plugin.dispatchCommand('x'), RpcError);
      },
    ),
    { numRuns: 300 },
  );
});

test('calls answered in any order, by any pieces: each gets its own answer', async () => {
  const order = fc.integer({ min: 1, max: 30 }).chain((n) =>
    fc.tuple(
      fc.constant(n),
      fc.shuffledSubarray(
        Array.from({ length: n }, (_, i) => i),
        { minLength: n, maxLength: n },
      ),
    ),
  );
  await fc.assert(
    fc.asyncProperty(order, cuts, fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }), async ([n, turns], sizes, refusals) => {
      const [left, right] = choppyPair(sizes);
      const [caller, server] = [new Mux(left), new Mux(right)];
      const open: ((refuse: boolean) => void)[] = [];
      server.serve(
        'ze-plugin-callback:decode-nlri',
        (input) =>
          new Promise((resolve, reject) => {
            open[Number(input.hex)] = (refuse) => {
              if (refuse) reject(new RpcError('error', `no ${input.hex}`));
              else resolve({ json: { was: input.hex, 'é\n': '\u0000' } });
            };
          }),
      );
      const answers = Array.from({ length: n }, (_, i) =>
        caller.call('ze-plugin-callback:decode-nlri', { family: 'f', hex: String(i) }).then(
          (output) => output.json,
          (error: unknown) => (error as Error).message,
        ),
      );
      while (open.filter(Boolean).length < n) await new Promise((resolve) => setImmediate(resolve));
      const refused = (i: number): boolean => refusals[i % refusals.length] === true;
      for (const i of turns) {
        open[i]?.(refused(i));
        if (i % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      assert.deepEqual(
        await Promise.all(answers),
        answers.map((_, i) => (refused(i) ? `no ${i}` : { was: String(i), 'é\n': '\u0000' })),
      );
      assert.deepEqual([caller.pending, server.pending], Array(2).fill({ calls: 0, answers: 0, requests: 0 }));
      await Promise.all([caller.close(), server.close()]);
    }),
    { numRuns: 60 },
  );
});
