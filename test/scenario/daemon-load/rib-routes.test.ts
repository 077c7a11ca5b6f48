// Long answers while routes churn: every route once, to the end, whoever reads fast, slowly or not at all; and memory stays what it was.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { startFlood } from '../../support/flood.ts';
import { writeScript } from '../../support/write-script.ts';
import { eventually, freePort, PROGRAM, ZestProcess } from '../../support/zest-process.ts';

const ROUTES = 100_000;
/** UPDATEs a second, of 200 prefixes each. */
const CHURN = 100;
const FLOOD = '127.0.0.2';
const QUIET = '127.0.0.3';

describe('long answers under load', { timeout: 600_000 }, () => {
  let folder: string;
  let zest: ZestProcess;
  let quiet: RawSpeaker;
  let flood: ReturnType<typeof startFlood>;
  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-load-')));
    writeScript(folder, 'flood-speaker');
    const port = await freePort();
    const peer = (name: string, address: string, as: number): string => `
    peer ${name} {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip ${address}; connect false; } }
        session { asn { remote ${as}; } family { ipv4/unicast { prefix { maximum 1000000; } } } }
        timer { receive-hold-time 9; }
    }`;
    zest = await ZestProcess.start(
      `bgp { router-id 10.0.0.1; session { asn { local 64500; } } ${peer('flood', FLOOD, 64512)}${peer('quiet', QUIET, 64513)}\n}\n`,
      {},
      folder,
    );
    quiet = await RawSpeaker.establish({ port, local: QUIET, as: 64513, holdSeconds: 9 });
    flood = startFlood(folder, port, FLOOD, ROUTES, CHURN);
    await eventually('the table is full', () => (flood.announced > ROUTES ? true : undefined), 30_000);
  });
  after(async () => {
    flood.child.kill('SIGKILL');
    await quiet.close();
    assert.equal(await zest.stop(), 0);
    rmSync(folder, { recursive: true, force: true });
  });

  const residentMb = (): number => {
    const [, kb = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${zest.child.pid ?? 0}/status`, 'utf8')) ?? [];
    return Number(kb) / 1024;
  };

  function client(...words: readonly string[]): ChildProcess {
    return spawn(process.execPath, [PROGRAM, ...words], { env: zest.environment, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Reads a client's answer to its end; `pauseMs` is waited after the first bytes. */
  async function answerOf(child: ChildProcess, pauseMs: number): Promise<string> {
    const pieces: Buffer[] = [];
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
    let first = true;
    child.stdout?.on('data', (chunk: Buffer) => {
      pieces.push(chunk);
      if (!first || pauseMs === 0) return;
      first = false;
      child.stdout?.pause();
      setTimeout(() => child.stdout?.resume(), pauseMs);
    });
    assert.equal(await closed, 0);
    return Buffer.concat(pieces).toString('utf8');
  }

  function isWhole(text: string): void {
    const rows = (JSON.parse(text) as { 'adj-rib-in': readonly { prefix: string }[] })['adj-rib-in'];
    assert.equal(rows.length, ROUTES);
    assert.equal(new Set(rows.map(({ prefix }) => prefix)).size, ROUTES);
  }

  test('rib routes: every route once', async () => {
    const announced = flood.announced;
    isWhole(await answerOf(client('rib', 'routes', 'received', '--json'), 0));
    // The speaker says now and then how far it is.
    await eventually('routes churned meanwhile', () => (flood.announced > announced ? true : undefined));
  });

  test('rib routes | count', async () => {
    assert.deepEqual(await zest.json('rib', 'routes', 'received', '|', 'count'), { count: ROUTES });
  });

  test('rib routes as lines of text', async () => {
    const lines = (await answerOf(client('rib', 'routes', 'received', '--format', 'text'), 0)).trim().split('\n');
    assert.ok(lines.length >= ROUTES && lines.length <= ROUTES + 2, `${lines.length} lines`);
  });

  test('a reader that rests in the middle gets the rest, and costs no memory meanwhile', async (t) => {
    const before = residentMb();
    const resting = Array.from({ length: 4 }, () => client('rib', 'routes', 'received', '--json'));
    const answers = resting.map((child) => answerOf(child, 4000));
    let highest = 0;
    for (let i = 0; i < 8; i++) {
      await wait(500);
      highest = Math.max(highest, residentMb());
    }
    t.diagnostic(`${Math.round(before)} MB before, ${Math.round(highest)} MB at most while four readers rest`);
    assert.ok(highest < before + 120, `${before} MB, then ${highest} MB`);
    for (const text of await Promise.all(answers)) isWhole(text);
  });

  test('a client that goes away in the middle leaves nothing running', async () => {
    const children = Array.from({ length: 8 }, () => client('rib', 'routes', 'received', '--json'));
    await Promise.all(children.map((child) => new Promise((resolve) => child.stdout?.once('data', resolve))));
    for (const child of children) child.kill('SIGKILL');
    await eventually('another command is answered', async () => ((await zest.cli('summary')).code === 0 ? true : undefined));
  });

  test('the sessions are up', () => {
    // How late a KEEPALIVE may be is daemon-unblockable's; here both ends compete for the processors, and the hold time decides.
    assert.ok(quiet.established);
    assert.equal(flood.error, undefined);
    assert.ok(quiet.largestGap > 0);
  });
});
