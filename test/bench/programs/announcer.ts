// An external plugin that announces prefixes of its own to every peer once the go file is there.
//   announcer.js PREFIXES PER-COMMAND GO-FILE DONE-FILE
// Five neighbouring prefixes share a set of attributes, as in the load generator's table; with more than five a command, a command's prefixes do.
import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Plugin, type RouteAttributes, RouteSender } from 'zest-bgp/sdk';
import { monotonicSeconds, writeDone } from './done-file.ts';

const PER_SET = 5;
const [wanted = '0', perCommand = '1', goFile = '', doneFile = ''] = process.argv.slice(2);
const prefixes = Number(wanted);
const together = Number(perCommand);
const perSet = Math.max(PER_SET, together);

/** The set of attributes number `set`: a path of four, two communities. */
function attributesOf(set: number): RouteAttributes {
  return {
    nextHop: '192.0.2.1',
    origin: 'igp',
    asPath: [65000, 1 + (set % 23_000), 131_072 + (set % 100_003), 1 + ((set * 7) % 20_011)],
    communities: [`${1 + (set % 60_000)}:${set % 5000}`, `64500:${set % 1000}`],
  };
}

async function announce(plugin: Plugin): Promise<void> {
  while (!existsSync(goFile)) await wait(10);
  const first = monotonicSeconds();
  const routes = new RouteSender(plugin, { prefixesPerCommand: together });
  let attributes = attributesOf(0);
  for (let i = 0; i < prefixes; i++) {
    if (i % perSet === 0) attributes = attributesOf(i / perSet);
    // /24 from 16.0.0.0 on
    routes.announce('ipv4/unicast', `${16 + (i >>> 16)}.${(i >>> 8) & 0xff}.${i & 0xff}.0/24`, attributes);
    if (i % 1000 === 999) await routes.ready();
  }
  const sent = await routes.finish();
  if (sent.failed > 0) process.stderr.write(`${sent.failed} commands were refused: ${String(sent.faults[0])}\n`);
  writeDone(doneFile, first, monotonicSeconds());
}

const plugin = Plugin.fromEnv('announcer');
plugin.onAllPluginsReady(() => {
  announce(plugin).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  });
});
await plugin.run({});
