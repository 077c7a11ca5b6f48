// The codec and the table of malformed framing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewOf } from '../../sdk/wire/bytes.ts';
import { plainContext } from '../../sdk/wire/context.ts';
import { outcomeName } from '../../sdk/wire/fault.ts';
import { UpdateView } from '../../sdk/wire/update.ts';
import { hex, MANDATORY, toHex, update } from './build.ts';
import { check, FACTS, with1 } from './hostile.ts';
import { FRAMING_ROWS } from './hostile-framing-rows.ts';

check(FRAMING_ROWS);

test('RFC 4271 the same view is clean after a bad message', () => {
  const context = plainContext(FACTS);
  const view = new UpdateView();
  const bad = update(with1('40c80100'));
  const good = update(with1(''));
  assert.equal(outcomeName(view.read(bad, viewOf(bad), 0, bad.length, context)), 'reset');
  assert.equal(outcomeName(view.read(good, viewOf(good), 0, good.length, context)), 'ok');
  assert.deepEqual([view.code, view.subcode, view.faults.total, view.nlriCount], [0, 0, 0, 1]);
});

test('a message in the middle of a larger buffer is not read past its end', () => {
  const inner = update({ attributes: MANDATORY, nlri: '18c633' });
  const bytes = hex(`${'aa'.repeat(7)}${toHex(inner)}640a0a0a`);
  const view = new UpdateView();
  assert.equal(outcomeName(view.read(bytes, viewOf(bytes), 7, inner.length, plainContext(FACTS))), 'reset');
});
