// Whatever way lines are gathered and sent, the peer reads them whole and in their order.
import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import test from 'node:test';
import fc from 'fast-check';
import { RpcError } from '../../sdk/rpc/errors.ts';
import { Outbound } from '../../sdk/rpc/outbound.ts';

type Op =
  | { readonly kind: 'text' | 'bytes' | 'ok' | 'block'; readonly text: string }
  | { readonly kind: 'parts'; readonly head: string; readonly text: string; readonly tail: string }
  | { readonly kind: 'flush' | 'turn' };

const ascii = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 90 }),
  fc.tuple(fc.constantFrom('x', 'ab'), fc.integer({ min: 1, max: 10_000 })).map(([unit, count]) => unit.repeat(count)),
);
const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('text' as const), text: fc.string({ unit: 'binary', maxLength: 60 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('bytes' as const, 'ok' as const), text: ascii }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('block' as const), text: ascii }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('parts' as const), head: ascii, text: ascii, tail: ascii }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('flush' as const, 'turn' as const) }) },
);

/** A socket that takes bytes only when it calls back, as the kernel may: who writes into them earlier spoils them. */
class LateSocket extends Socket {
  readonly taken: Buffer[] = [];
  override write(...args: unknown[]): boolean {
    const [bytes, done] = args as [Uint8Array, () => void];
    setImmediate(() => {
      this.taken.push(Buffer.from(bytes));
      done();
    });
    return true;
  }
}

/** Hands on the very bytes, which stay what they are. */
class Pipe extends Duplex {
  readonly taken: Buffer[] = [];
  override _read(): void {
    // Nothing comes back.
  }
  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.taken.push(bytes);
    setImmediate(done);
  }
}

async function run(stream: Duplex & { readonly taken: Buffer[] }, ops: readonly Op[]): Promise<void> {
  const want: Buffer[] = [];
  const out = new Outbound(stream, { writeTimeoutMs: 60_000, limitBytes: 1 << 30, onFailure: (error) => assert.ifError(error) });
  for (const [n, one] of ops.entries()) {
    // Of every length, up to the last there is.
    const id = n === 0 ? Number.MAX_SAFE_INTEGER : 3 ** (n % 33);
    switch (one.kind) {
      case 'text':
        out.write(`${one.text}\n`);
        want.push(Buffer.from(`${one.text}\n`));
        break;
      case 'bytes':
        out.writeBytes(`#${id} `, Buffer.from(one.text));
        want.push(Buffer.from(`#${id} ${one.text}\n`));
        break;
      case 'ok':
        out.writeOk(id, one.text);
        want.push(Buffer.from(`#${id} ok ${one.text}\n`));
        break;
      case 'parts':
        out.writeParts(id, Buffer.from(one.head), one.text, Buffer.from(one.tail));
        want.push(Buffer.from(`#${id}${one.head}${one.text}${one.tail}\n`));
        break;
      case 'block': {
        const block = await out.block();
        out.sendBlock(block, block.write(one.text, 'latin1'));
        want.push(Buffer.from(one.text));
        break;
      }
      case 'flush':
        out.flush();
        break;
      case 'turn':
        await new Promise((resolve) => setImmediate(resolve));
        break;
    }
  }
  out.flush();
  while (out.length > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(Buffer.concat(stream.taken).toString('latin1'), Buffer.concat(want).toString('latin1'));
  out.close(new RpcError('closed', 'the end'));
  out.writeParts(1, Buffer.from(' a'), 'b', Buffer.from('c'));
  assert.equal(out.length, 0);
}

for (const [name, make] of [
  ['a socket', () => new LateSocket()],
  ['a pipe in memory', () => new Pipe()],
] as const) {
  test(`lines reach ${name} in the order they were written`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(op, { maxLength: 40 }), (ops) => run(make(), ops)),
      { numRuns: 150 },
    );
  });
}
