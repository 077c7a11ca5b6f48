// A plugin in the daemon's main thread that blocks it for two seconds out of three and a half, as long as updates come.
import { definePlugin } from 'zest-bgp/sdk';

const BLOCKED_MS = 2000;
const FREE_MS = 1500;

export default definePlugin({
  name: 'blocker',
  setup(engine) {
    let freeUntil = 0;
    engine.onUpdates(() => {
      const now = performance.now();
      if (now < freeUntil) return;
      while (performance.now() < now + BLOCKED_MS);
      freeUntil = performance.now() + FREE_MS;
    });
  },
});
