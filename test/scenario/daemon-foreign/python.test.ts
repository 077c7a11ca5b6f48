// A plugin in Python, written from the protocol's text, meets the daemon: five stages over TLS, events in batches, commands both ways, long
// answers of multi-byte text.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { toHex } from '../../../sdk/wire/bytes.ts';
import { workingIn } from '../../support/child-processes.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { writeScript } from '../../support/write-script.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';
import { MANDATORY, PREFIX, update } from '../../wire/build.ts';

const ROWS = 1000;
const { status } = spawnSync('python3', [
  '-c',
  'import ssl, sys; sys.exit(0 if ssl.HAS_TLSv1_3 and sys.version_info >= (3, 9) else 1)',
]);
const skip = status === 0 ? false : 'no python3 of 3.9 or later with TLS 1.3';

describe('a plugin in Python', { skip, timeout: 600_000 }, () => {
  let folder: string;
  let zest: ZestProcess;
  let speaker: RawSpeaker;
  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-foreign-')));
    copyFileSync(join(import.meta.dirname, 'plugin.py'), join(folder, 'plugin.py'));
    writeScript(folder, 'raw-plugin');
    const port = await freePort();
    zest = await ZestProcess.start(
      `
environment { log { level info; relay info; } }
plugin {
    external snake { run "exec python3 plugin.py"; timeout 20s; }
    external other { run "exec node raw-plugin.mjs"; timeout 20s; }
}
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
    peer one {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.2; connect false; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 1000; } } } }
        process snake { receive [ update state ]; }
    }
}
`,
      {},
      folder,
    );
    speaker = await RawSpeaker.establish({ port, local: '127.0.0.2' });
  });
  after(async () => {
    await speaker.close();
    assert.equal(await zest.stop(), 0);
    assert.match(zest.output, /msg=bye/, 'it heard the goodbye');
    await eventually('no process is left', () => (workingIn(folder).length === 0 ? true : undefined));
    rmSync(folder, { recursive: true, force: true });
  });

  test('it passes the five stages', async () => {
    const { plugins } = (await zest.json('plugin', 'list')) as {
      plugins: readonly { name: string; state: string; commands: number }[];
    };
    const row = plugins.find(({ name }) => name === 'snake');
    assert.deepEqual([row?.state, row?.commands], ['running', 3]);
    await zest.logs(/msg=ready roots=bgp router=1 commands=\d+/);
  });

  test('its capability is in our OPEN', () => {
    const open = speaker.messages[0]?.bytes ?? new Uint8Array();
    assert.ok(toHex(open).includes('4d020102'), toHex(open));
  });

  test('it gets events in batches', async () => {
    speaker.send(update({ attributes: MANDATORY, nlri: PREFIX }));
    speaker.send(update({ attributes: MANDATORY, nlri: '18cb0071' }));
    const seen = await eventually('both updates have arrived', async () => {
      const answer = (await zest.json('snake', 'status')) as {
        updates: number;
        batches: number;
        events: number;
        prefixes: string[];
      };
      return answer.updates >= 2 ? answer : undefined;
    });
    assert.deepEqual(seen.prefixes, ['198.51.100.0/24', '203.0.113.0/24']);
    assert.ok(seen.batches > 0 && seen.events >= 3, JSON.stringify(seen));
  });

  test('the command line runs its command', async () => {
    const table = await zest.cli('snake', 'status');
    assert.equal(table.code, 0, table.stderr);
    assert.match(table.stdout, /python/);
  });

  test(`the command line reads its ${ROWS} records`, async () => {
    const { rows } = (await zest.json('snake', 'rows', String(ROWS))) as { rows: readonly { number: number; text: string }[] };
    assert.equal(rows.length, ROWS);
    rows.forEach((row, i) => assert.deepEqual(row, { number: i, text: `żółw 東京 🐍 ${i}` }));
  });

  interface Asked {
    readonly kind: string;
    readonly lines: number;
    readonly produced: number;
    readonly rejected: number;
    readonly message: string;
    readonly texts: readonly string[];
    readonly distinct: number;
    readonly first: readonly unknown[];
  }
  const ask = async (...words: readonly string[]): Promise<Asked> =>
    (await zest.json('snake', 'ask', ...words)) as unknown as Asked;

  test('it has the engine run summary', async () => {
    const asked = await ask('summary');
    assert.deepEqual([asked.kind, asked.lines, asked.rejected, asked.message], ['doc', 1, 0, '']);
    assert.match(JSON.stringify(asked.first), /127\.0\.0\.2/);
  });

  test(`it reads ${ROWS} records of another plugin as they come`, async () => {
    const asked = await ask('other', 'rows', String(ROWS));
    assert.deepEqual([asked.kind, asked.lines, asked.produced, asked.rejected, asked.distinct], ['map', ROWS, ROWS, 0, ROWS]);
    assert.deepEqual(asked.texts, ['Zürich 東京 🚀 0\n', `Zürich 東京 🚀 ${ROWS - 1}\n`]);
  });

  test('a short answer of another plugin is one document', async () => {
    const asked = await ask('other', 'rows', '3');
    assert.deepEqual([asked.kind, asked.lines, asked.produced], ['doc', 1, 3]);
  });

  test('a command that there is not', async () => {
    const asked = await ask('no', 'such', 'thing');
    assert.deepEqual([asked.kind, asked.message.startsWith('unknown command')], ['nay', true]);
  });

  test('nothing of it has disturbed the session', () => {
    assert.ok(speaker.established);
  });
});
