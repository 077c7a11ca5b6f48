// An external plugin: every event is parsed, whole, and its routes are counted.
//   event-count.js ROUTES DONE-FILE
import { Plugin } from 'zest-bgp/sdk';
import { monotonicSeconds, writeDone } from './done-file.ts';

interface UpdateEvent {
  readonly bgp?: {
    readonly update?: { readonly nlri?: Readonly<Record<string, readonly { readonly nlri: readonly unknown[] }[]>> };
  };
}

const [wanted = '0', doneFile = ''] = process.argv.slice(2);
const routes = Number(wanted);
let first = 0;
let seen = 0;
const plugin = Plugin.fromEnv('event-count');
plugin.setStartupSubscriptions(['update direction received'], ['*'], 'parsed');
plugin.onEvent((text) => {
  const { bgp } = JSON.parse(text) as UpdateEvent;
  if (seen === 0) first = monotonicSeconds();
  const before = seen;
  for (const operations of Object.values(bgp?.update?.nlri ?? {})) for (const { nlri } of operations) seen += nlri.length;
  if (before < routes && seen >= routes) writeDone(doneFile, first, monotonicSeconds());
});
await plugin.run({});
