// An external plugin that takes its first batch of events and then neither returns nor reads, ever.
import { Plugin } from 'zest-bgp/sdk';

const plugin = Plugin.fromEnv('deaf');
plugin.setStartupSubscriptions(['update direction received', 'state'], ['*'], 'parsed');
plugin.onEvent(() => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
await plugin.run({});
