// Capabilities in the OPEN after a reload: they are the configuration's of the moment, for peers that came with it as for those that were there.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { CAP_ENHANCED_REFRESH, CAP_ROUTE_REFRESH } from '../../../sdk/wire/capability/capability.ts';
import { OPEN } from '../../../sdk/wire/message.ts';
import { decodeOpen } from '../../../sdk/wire/open.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

const peer = (port: number, n: number, refresh: boolean): string => `
    peer p${n} {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.${n}; connect false; } }
        session {
            asn { remote 64512; }
            family { ipv4/unicast { prefix { maximum 1000; } } }
            capability { ${refresh ? 'route-refresh;' : ''} }
        }
        process bgp-rib { send [ update ]; }
    }`;
const config = (...peers: readonly string[]): string =>
  `bgp { router-id 10.0.0.1; session { asn { local 64500; } } ${peers.join('')} }\n`;

/** Codes 2 and 70 in the OPEN that the daemon sends to 127.0.0.N; its port takes a moment to listen for a new peer. */
async function offered(port: number, n: number): Promise<readonly number[]> {
  return await eventually(`an OPEN for p${n}`, async () => {
    const speaker = await RawSpeaker.establish({ port, local: `127.0.0.${n}` });
    const { bytes } = await speaker.arrives(OPEN);
    await speaker.close();
    const open = decodeOpen(bytes, 0, bytes.length);
    assert.ok(open.ok);
    return open.value.capabilities
      .map(({ code }) => code)
      .filter((code) => [CAP_ROUTE_REFRESH, CAP_ENHANCED_REFRESH].includes(code));
  });
}

test('RFC 2918, RFC 7313: a reload gives and takes route refresh, to a peer it adds and to one it changes', {
  timeout: 600_000,
}, async (t) => {
  const port = await freePort();
  const zest = await ZestProcess.start(config(peer(port, 2, true), peer(port, 3, false)));
  t.after(() => zest.stop());
  assert.deepEqual(await offered(port, 2), [CAP_ROUTE_REFRESH, CAP_ENHANCED_REFRESH]);
  assert.deepEqual(await offered(port, 3), []);
  writeFileSync(zest.configPath, config(peer(port, 2, false), peer(port, 3, true), peer(port, 4, true), peer(port, 5, false)));
  await zest.json('daemon', 'reload');
  assert.deepEqual(await offered(port, 2), []);
  assert.deepEqual(await offered(port, 3), [CAP_ROUTE_REFRESH, CAP_ENHANCED_REFRESH]);
  assert.deepEqual(await offered(port, 4), [CAP_ROUTE_REFRESH, CAP_ENHANCED_REFRESH]);
  assert.deepEqual(await offered(port, 5), []);
});
