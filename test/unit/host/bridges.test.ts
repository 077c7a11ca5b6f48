// The bridge in its two forms behind one link: calls both ways, pulled answers, cancels, deaths.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { BridgeCalls, BridgeEnd } from '../../../engine/host/bridge/bridge-end.ts';
import { PortBridgeEnd, threadBridge } from '../../../engine/host/bridge/bridge-port.ts';
import { silentLog } from '../../../engine/core/log.ts';
import { DirectBridge } from '../../../engine/host/bridge/direct-bridge.ts';
import { PortDuplex } from '../../../engine/host/bridge/port-duplex.ts';
import type { Bridge, BridgeHandlers } from '../../../sdk/plugin/bridge.ts';
import type { AnswerSource } from '../../../sdk/rpc/answer.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import { documentAnswer } from '../../../sdk/rpc/records.ts';
import { recordingLog, until } from './support.ts';

/** A producer of rows without end that counts what was asked of it. */
class Rows implements AnswerSource {
  readonly head = { itemType: 'map', envelope: 'rows', columns: [] } as const;
  asked = 0;
  cancelled = false;
  readonly last: number;

  constructor(last = Infinity) {
    this.last = last;
  }

  next(): ReturnType<AnswerSource['next']> {
    if (this.asked >= this.last) return Promise.resolve({ kind: 'end', produced: this.asked, rejected: 0, message: '' });
    this.asked++;
    return Promise.resolve({ kind: 'records', records: [{ rejected: false, json: String(this.asked) }] });
  }

  cancel(): void {
    this.cancelled = true;
  }
}

interface Pair {
  readonly bridge: Bridge;
  readonly end: BridgeEnd;
}

const kinds: readonly { kind: string; make: (calls: BridgeCalls) => Pair }[] = [
  {
    kind: 'direct',
    make: (calls) => {
      const bridge = new DirectBridge(calls);
      return { bridge, end: bridge };
    },
  },
  {
    kind: 'port',
    make: (calls) => {
      const { port1, port2 } = new MessageChannel();
      return { end: new PortBridgeEnd(port1, calls, silentLog), bridge: threadBridge(port2, undefined) };
    },
  },
];

const noCalls: BridgeCalls = {
  call: () => Promise.reject(new RpcError('unknown-method', 'unknown method: x')),
  dispatch: () => Promise.reject(new RpcError('unknown-command', 'unknown command: x')),
};

function handlers(more: Partial<BridgeHandlers> = {}): BridgeHandlers {
  return {
    callback: () => Promise.resolve({ accept: true } as never),
    execute: () => Promise.resolve(documentAnswer('pong')),
    events: () => Promise.resolve(),
    structured: undefined,
    ...more,
  };
}

for (const { kind, make } of kinds) {
  test(`${kind}: callbacks, commands and events reach the plugin`, async () => {
    const { bridge, end } = make(noCalls);
    const seen: unknown[] = [];
    bridge.attach(
      handlers({
        callback: (method, input) => {
          seen.push(method, input);
          return Promise.resolve({ json: { a: 1 } } as never);
        },
        events: (texts) => {
          seen.push(texts);
          return Promise.resolve();
        },
      }),
    );
    const link = await end.attached;
    const input = { family: 'ipv4/flow', hex: '00' };
    assert.deepEqual(await link.call('ze-plugin-callback:decode-nlri', input), { json: { a: 1 } });
    assert.deepEqual(await link.execute({ command: 'x' }).collapse(), { status: 'done', data: 'pong' });
    assert(link.transport.form === 'texts');
    await link.transport.send(['one', 'two']);
    assert.deepEqual(seen, ['ze-plugin-callback:decode-nlri', input, ['one', 'two']]);
    end.close();
  });

  test(`${kind}: the plugin's calls reach the engine, faults keep their code`, async () => {
    const { bridge, end } = make({
      call: (method, input) =>
        method === 'ze-plugin-engine:emit-event'
          ? Promise.resolve({ delivered: (input as { event: string }).event.length })
          : Promise.reject(new RpcError('busy', 'busy: later')),
      dispatch: () => Promise.resolve(new Rows(3)),
    });
    bridge.attach(handlers());
    await end.attached;
    const event = { namespace: 'n', 'event-type': 't', event: 'abc' };
    assert.deepEqual(await bridge.call('ze-plugin-engine:emit-event', event), { delivered: 3 });
    await assert.rejects(
      bridge.call('ze-plugin-engine:unsubscribe-events', undefined),
      (error) => error instanceof RpcError && error.code === 'busy',
    );
    const reader = bridge.dispatch('ze-plugin-engine:dispatch-command', { command: 'rows' });
    assert.deepEqual(await reader.collapse(), { status: 'done', data: { rows: [1, 2, 3] } });
    end.close();
  });

  test(`${kind}: a command unknown to the engine is told as such`, async () => {
    const { bridge, end } = make(noCalls);
    bridge.attach(handlers());
    await end.attached;
    const reader = bridge.dispatch('ze-plugin-engine:dispatch-command', { command: 'x' });
    await assert.rejects(reader.head, (error) => error instanceof RpcError && error.code === 'unknown-command');
    end.close();
  });

  test(`${kind}: rows are pulled; a reader that leaves stops the producer`, async () => {
    const rows = new Rows();
    const { bridge, end } = make(noCalls);
    bridge.attach(handlers({ execute: () => Promise.resolve(rows) }));
    const link = await end.attached;
    const reader = link.execute({ command: 'x' });
    let taken = 0;
    for await (const row of reader) {
      assert.equal(row, ++taken);
      if (taken === 10) break;
    }
    await until('the producer is told', () => rows.cancelled);
    assert(rows.asked <= taken + 3, `${rows.asked} chunks for ${taken} rows`);
    end.close();
  });

  test(`${kind}: a cancelled call returns at once, its handler is told`, async () => {
    let told = false;
    const { bridge, end } = make(noCalls);
    bridge.attach(
      handlers({
        callback: (_method, _input, signal) =>
          new Promise(() => signal.addEventListener('abort', () => (told = true), { once: true })),
      }),
    );
    const link = await end.attached;
    const stop = new AbortController();
    const call = link.call('ze-plugin-callback:post-startup', undefined, stop.signal);
    setImmediate(() => stop.abort());
    await assert.rejects(call, (error) => error instanceof RpcError && error.code === 'aborted');
    await until('the handler is told', () => told);
    end.close();
  });

  test(`${kind}: closing fails what waits on both sides, and later calls`, async () => {
    const { bridge, end } = make({ call: () => new Promise(() => undefined), dispatch: () => Promise.resolve(new Rows()) });
    bridge.attach(handlers({ callback: () => new Promise(() => undefined), events: () => new Promise(() => undefined) }));
    const link = await end.attached;
    assert(link.transport.form === 'texts');
    const waiting = [
      link.call('ze-plugin-callback:post-startup', undefined),
      link.transport.send(['x']),
      bridge.call('ze-plugin-engine:unsubscribe-events', undefined),
    ];
    setImmediate(() => end.close());
    for (const one of waiting) await assert.rejects(one, (error) => error instanceof RpcError && error.code === 'closed');
    assert.equal(await link.closed, undefined);
    await assert.rejects(link.call('ze-plugin-callback:post-startup', undefined), /closed/);
    await assert.rejects(link.execute({ command: 'x' }).collapse(), /closed/);
    await assert.rejects(bridge.call('ze-plugin-engine:unsubscribe-events', undefined), /closed/);
  });

  test(`${kind}: a plugin that closes before it has attached is no link`, async () => {
    const { bridge, end } = make(noCalls);
    bridge.close();
    await assert.rejects(end.attached, /closed/);
  });
}

test('port: what the plugin died of is the reason of the end', async () => {
  const { port1, port2 } = new MessageChannel();
  const end = new PortBridgeEnd(port1, noCalls, silentLog);
  const bridge = threadBridge(port2, undefined);
  bridge.attach(handlers());
  const link = await end.attached;
  bridge.fail('out of paper');
  assert.equal((await link.closed)?.message, 'out of paper');
  assert.deepEqual(await end.ended, { fault: 'out of paper' });
});

test("port: log lines of the plugin go to the engine's log", async () => {
  const { port1, port2 } = new MessageChannel();
  const lines: { level: string; message: string; fields: object }[] = [];
  const end = new PortBridgeEnd(port1, noCalls, recordingLog(lines));
  const bridge = threadBridge(port2, undefined);
  bridge.log.warn({ a: 1 }, 'odd');
  bridge.log.info({ a: 1, f: () => 1 }, 'odder');
  await until('both lines', () => lines.length === 2);
  assert.deepEqual(lines, [
    { level: 'warn', message: 'odd', fields: { a: 1 } },
    { level: 'info', message: 'odder', fields: { fields: '{"a":1}' } },
  ]);
  end.close();
});

test('port: a value that cannot cross is refused, not lost', async () => {
  const { port1, port2 } = new MessageChannel();
  const end = new PortBridgeEnd(port1, noCalls, silentLog);
  threadBridge(port2, undefined).attach(handlers({ callback: () => Promise.resolve({ json: () => undefined } as never) }));
  const link = await end.attached;
  await assert.rejects(link.call('ze-plugin-callback:decode-nlri', { family: 'f', hex: '' }), /could not be cloned/);
  end.close();
});

test('a port as a byte stream keeps order, holds its writer, and ends', async () => {
  const { port1, port2 } = new MessageChannel();
  const [left, right] = [new PortDuplex(port1), new PortDuplex(port2)];
  left.resume();
  const block = Buffer.alloc(64 * 1024, 'x');
  let written = 0;
  const write = (): void => {
    while (written < 32 && left.write(block)) written++;
    if (written++ < 32) left.once('drain', write);
    else left.end('the end');
  };
  write();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert(written < 32, 'the writer is held while nobody reads');
  let text = 0;
  let tail = '';
  right.on('data', (bytes: Buffer) => {
    text += bytes.length;
    tail = bytes.toString('latin1', bytes.length - 7);
  });
  await new Promise<void>((resolve) => right.once('close', () => resolve()));
  assert.equal(tail, 'the end');
  assert(text >= 32 * block.length);
  await new Promise<void>((resolve) => (left.closed ? resolve() : left.once('close', () => resolve())));
});
