// Signals linked for the time of some work: the first one decides, and nothing is left on the others.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { deadlineSignal, linkSignals } from '../../../engine/core/linked-signal.ts';

test('the first to abort gives its reason', () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const { signal } = linkSignals(one.signal, undefined, two.signal);
  two.abort('two');
  one.abort('one');
  assert.deepEqual([signal.aborted, signal.reason], [true, 'two']);
});

test('a signal that has aborted already decides at once', () => {
  assert.equal(linkSignals(AbortSignal.abort('before'), new AbortController().signal).signal.reason, 'before');
});

test('a signal that lives long keeps nothing of work that is over', () => {
  const long = new AbortController();
  for (let i = 0; i < 100; i++) {
    using linked = linkSignals(long.signal, new AbortController().signal);
    assert.equal(linked.signal.aborted, false);
  }
  assert.equal(getEventListeners(long.signal, 'abort').length, 0);
});

test('released work is not aborted any more', () => {
  const one = new AbortController();
  const linked = linkSignals(one.signal);
  linked.release();
  linked.release();
  one.abort();
  assert.equal(linked.signal.aborted, false);
});

test('a deadline aborts, also when nobody holds its timer', async () => {
  const { signal } = deadlineSignal(5, new AbortController().signal);
  const keepAlive = setInterval(() => undefined, 1000);
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  clearInterval(keepAlive);
  assert.equal((signal.reason as DOMException).name, 'TimeoutError');
  assert.equal(deadlineSignal(0, signal).signal.aborted, true);
});
