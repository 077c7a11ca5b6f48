/**
 * update-count: how many UPDATEs each peer has sent. An in-process plugin; the engine loads this file:
 *
 *     plugin { external update-count { use "./examples/update-count/index.ts" } }
 *
 * Updates arrive as batches of rows over bytes the engine already holds: no JSON, no object per update. One counter per
 * peer lives in a typed array indexed by the peer's number.
 */
import { definePlugin } from 'zest-bgp/sdk';

export default definePlugin({
  name: 'update-count',
  declaration: {
    commands: [
      {
        name: 'update-count show',
        'short-help': 'UPDATEs received, by peer',
        shape: 'map',
        columns: ['peer', 'address', 'updates', 'bytes'],
        'address-fields': ['address'],
      },
      { name: 'update-count reset', 'short-help': 'Set every counter to zero', shape: 'doc' },
    ],
  },
  setup(engine) {
    let updates = new Float64Array(64);
    let bytes = new Float64Array(64);

    engine.onUpdates((batch) => {
      if (batch.peers.capacity > updates.length) {
        updates = grown(updates, batch.peers.capacity);
        bytes = grown(bytes, batch.peers.capacity);
      }
      for (let row = 0; row < batch.count; row++) {
        const peer = batch.peer(row);
        updates[peer]! += 1;
        bytes[peer]! += batch.length(row) + 19; // the header counts too
      }
    });

    // A generator answers row by row: the reader's pace is the walk's pace.
    engine.command('update-count show', function* (_input, signal) {
      for (let peer = 0; peer < engine.peers.capacity && !signal.aborted; peer++) {
        if (updates[peer] === 0) continue;
        yield { peer: engine.peers.name(peer), address: engine.peers.address(peer), updates: updates[peer], bytes: bytes[peer] };
      }
    });

    engine.command('update-count reset', () => {
      updates.fill(0);
      bytes.fill(0);
      return { reset: true };
    });
  },
});

function grown(counters: Float64Array<ArrayBuffer>, size: number): Float64Array<ArrayBuffer> {
  const next = new Float64Array(size * 2);
  next.set(counters);
  return next;
}
