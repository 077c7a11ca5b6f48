// Sessions over loopback: how they come up, what ends them, and that nothing is left when they are gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEEPALIVE, OPEN, UPDATE, keepalive } from '../../../sdk/wire/message.ts';
import { Lab, peerSettings, toHex } from './lab.ts';

test('a peer that speaks properly comes to Established and gets End-of-RIB', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const peer = await lab.session(2);
  assert.equal(toHex(await peer.hears(UPDATE)), '00000000');
  assert.equal(await lab.state(2), 'established');
});

test('the OPEN holds families and capabilities in ascending order', async () => {
  await using lab = await Lab.of([peerSettings(2)]);
  const peer = await lab.connect(2);
  const open = toHex(await peer.hears(OPEN));
  assert.equal(
    open,
    '04' + 'fbf4' + '005a' + '0a000001' + '16' + '0214' + '010400010001' + '0200' + '40020000' + '41040000fbf4' + '4600',
  );
  peer.send(peer.open(), keepalive());
  await peer.hears(KEEPALIVE);
});
