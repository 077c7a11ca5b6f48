// A plugin in the daemon's main thread that reads the structured batches and counts the IPv4 prefixes in them, walking each NLRI.
//   bench_routes, bench_done in the environment: how many to wait for, and the file to write then
import { definePlugin } from 'zest-bgp/sdk';
import { monotonicSeconds, writeDone } from './done-file.ts';

const routes = Number(process.env['bench_routes'] ?? 0);
const doneFile = process.env['bench_done'] ?? '';

export default definePlugin({
  name: 'structured-count',
  setup(engine) {
    let first = 0;
    let seen = 0;
    engine.onUpdates((batch) => {
      if (first === 0) first = monotonicSeconds();
      const before = seen;
      const { bytes, view } = batch;
      for (let row = 0; row < batch.count; row++) {
        const start = batch.at(row);
        const end = start + batch.length(row);
        const withdrawn = view.getUint16(start);
        let at = start + 4 + withdrawn + view.getUint16(start + 2 + withdrawn);
        while (at < end) {
          at += 1 + ((bytes[at]! + 7) >> 3);
          seen++;
        }
      }
      if (before < routes && seen >= routes) writeDone(doneFile, first, monotonicSeconds());
    });
  },
});
