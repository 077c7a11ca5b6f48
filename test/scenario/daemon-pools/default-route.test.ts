// default-originate-filter in a whole daemon: policies and a plugin decide on the default route, at the start, by a reload, with each session.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../../sdk/wire/family.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

const SDK = join(import.meta.dirname, '../../../dist/sdk/plugin/index.js');
const LOCAL = '127.0.0.2';
const AS = 64512;
const END_OF_RIB = '00000000';
/** ORIGIN, AS_PATH 64500, NEXT_HOP 127.0.0.1, and the default route. */
const PLAIN = '000000144001010040020602010000fbf44003047f00000100';
const WITHDRAWN = '0001000000';

/** Lets the default route out while the file is there. */
const GATE = (file: string): string => `
import { existsSync } from 'node:fs';
import { definePlugin } from ${JSON.stringify(SDK)};
export default definePlugin({
  name: 'gate',
  setup(engine) {
    engine.filter({ name: 'open', direction: 'export' }, () => ({ action: existsSync(${JSON.stringify(file)}) ? 'accept' : 'reject' }));
  },
});
`;

test('a filter decides on the default route', { timeout: 600_000 }, async (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-default-')));
  const file = join(folder, 'open');
  writeFileSync(join(folder, 'gate.mjs'), GATE(file));
  const port = await freePort();
  const config = (filter: string, list = 'entry 0.0.0.0/0 { action reject; }', ipv6 = ''): string => `
environment { log { level info; } }
plugin { external gate { use ./gate.mjs; } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    policy {
        prefix-list LIST { ${list} }
        modify MARK { set { med 50; as-path-prepend 1; } }
    }
    peer one {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip ${LOCAL}; connect false; } }
        session {
            asn { remote ${AS}; }
            family {
                ipv4/unicast { prefix { maximum 1000; } default-originate true; ${filter === '' ? '' : `default-originate-filter ${filter};`} }
                ipv6/unicast { prefix { maximum 1000; } ${ipv6} }
            }
        }
        update { attribute { next-hop 127.0.0.1; } nlri { ipv4/unicast add 10.9.0.0/16; } }
    }
}
`;
  const zest = await ZestProcess.start(config('modify:MARK'), {}, folder);
  let speaker: RawSpeaker | undefined;
  t.after(async () => {
    await speaker?.close();
    await zest.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const updates = (): readonly string[] => speaker?.updates() ?? [];
  const establish = async (): Promise<void> => {
    await speaker?.close();
    speaker = await RawSpeaker.establish({ port, local: LOCAL, as: AS, families: [IPV4_UNICAST, IPV6_UNICAST] });
    await speaker.until('End-of-RIB', () => updates().includes(END_OF_RIB));
  };
  /** The one UPDATE that a reload makes. */
  const reload = async (text: string): Promise<string> => {
    const from = updates().length;
    zest.reload(text);
    await speaker?.until('an update', () => updates().length > from);
    assert.equal(updates().length, from + 1);
    return updates()[from] ?? '';
  };
  await t.test('a policy that changes it, from the start', async () => {
    await establish();
    const all = updates().slice(0, updates().indexOf(END_OF_RIB));
    const body = all.find((one) => one.endsWith('00')) ?? '';
    assert.match(body, /4002..02020000fbf40000fbf4/);
    assert.match(body, /80040400000032.*00$/);
    assert.equal(
      all.some((one) => one.endsWith('100a09')),
      true,
    );
  });

  await t.test('a policy that rejects it', async () => {
    assert.equal(await reload(config('LIST')), WITHDRAWN);
  });

  await t.test('a policy that accepts it, by a change of its definition: one UPDATE', async () => {
    assert.equal(await reload(config('LIST', 'entry 0.0.0.0/0 { action accept; }')), PLAIN);
  });

  await t.test('without a filter it is plain', async () => {
    assert.match(await reload(config('MARK')), /80040400000032.*00$/);
    assert.equal(await reload(config('')), PLAIN);
    assert.equal(await reload(config('LIST')), WITHDRAWN);
  });

  await t.test('a plugin is asked by a reload, and with each session', async () => {
    writeFileSync(file, '');
    assert.equal(await reload(config('gate:open')), PLAIN);
    rmSync(file);
    await establish();
    await speaker?.until('withdrawn', () => updates().includes(WITHDRAWN));
    writeFileSync(file, '');
    await establish();
    await speaker?.until('announced', () => updates().includes(PLAIN));
  });

  await t.test('IPv6 has its own', async () => {
    const body = await reload(config('gate:open', undefined, 'default-originate true; default-originate-filter MARK;'));
    assert.match(body, /80040400000032/);
    assert.match(body, /800e..000201.*0000/);
  });

  await t.test('a filter that is not there is a fault', async () => {
    const from = zest.output.length;
    zest.reload(config('LISP'));
    await eventually('refused', () => (zest.output.slice(from).includes('unknown filter in export: LISP') ? true : undefined));
    assert.match(zest.output.slice(from), /did you mean \\?"LIST/);
  });
});
