// Which built-in plugins ship, and which of them a configuration may name without a block of their own.
import assert from 'node:assert/strict';
import test from 'node:test';
import { autoloadedNames, loadBuiltins } from '../../../engine/compose/builtins.ts';
import { loadConfig } from '../../../engine/config/load.ts';

const config = (process: string): string => `bgp {
  router-id 192.0.2.1
  session { asn { local 65000; } }
  peer a {
    connection { local { ip 127.0.0.1; } remote { ip 127.0.0.2; } }
    session { asn { remote 65001; } family { ipv4/unicast { prefix { maximum 10; } } } }
    process ${process} { receive [ update ]; }
  }
}`;

test('a process may name a built-in that starts by itself, and no other without its block', async (t) => {
  const names = autoloadedNames(await loadBuiltins());
  const cases: readonly (readonly [process: string, accepted: boolean])[] = [
    ['bgp-rib', true],
    ['bgp-route-refresh', true],
    ['bgp-rs', false],
    ['nowhere', false],
  ];
  for (const [process, accepted] of cases) {
    await t.test(process, () => {
      const loaded = loadConfig(config(process), { path: 'test.conf', builtins: names });
      assert.equal(loaded.ok, accepted);
      if (!loaded.ok) assert.match(loaded.faults[0]?.message ?? '', new RegExp(`undefined plugin in process: ${process}`));
    });
  }
});
