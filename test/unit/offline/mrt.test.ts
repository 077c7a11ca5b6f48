// Every MRT file counted against what two independent decoders found in it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { countMrt, mrtCommand } from '../../../engine/offline/mrt/count.ts';
import { sharedData } from '../../support/shared-data.ts';

interface Decoded {
  readonly announced?: { ipv4?: number; ipv6?: number };
  readonly withdrawn?: { ipv4?: number; ipv6?: number };
  readonly distinct_announced?: { ipv4?: number; ipv6?: number };
  readonly peers: number;
}
interface Expected {
  readonly by_type: Readonly<Record<string, number>>;
  readonly bgpdump: Decoded;
  readonly mrtparse: Decoded;
  readonly truth: string;
}

const data = sharedData('data', 'mrt', 'counts.json');
const expected = data.skip === false ? (JSON.parse(readFileSync(data.path, 'utf8')) as Readonly<Record<string, Expected>>) : {};

test('the counts of real MRT files', { skip: data.skip }, async (t) => {
  for (const [file, counts] of Object.entries(expected)) {
    const { path } = sharedData('data', 'mrt', file);
    await t.test(file, { skip: existsSync(path) ? false : 'absent' }, () => {
      const found = countMrt(path);
      assert.deepEqual(found.records, counts.by_type);
      // Two files have no ground truth: they only must be read to the end.
      if (counts.truth.startsWith('none')) return;
      const truth = counts.truth.startsWith('mrtparse') ? counts.mrtparse : counts.bgpdump;
      assert.deepEqual(
        { announced: found.announced, withdrawn: found.withdrawn, distinct: found['distinct-announced'], peers: found.peers },
        {
          announced: { ipv4: truth.announced?.ipv4 ?? 0, ipv6: truth.announced?.ipv6 ?? 0 },
          withdrawn: { ipv4: truth.withdrawn?.ipv4 ?? 0, ipv6: truth.withdrawn?.ipv6 ?? 0 },
          distinct: { ipv4: truth.distinct_announced?.ipv4 ?? 0, ipv6: truth.distinct_announced?.ipv6 ?? 0 },
          peers: truth.peers,
        },
      );
    });
  }
});

/** One BGP4MP MESSAGE_AS4 record of an UPDATE that withdraws 203.0.113.0/24. */
const RECORD = Buffer.from(
  '5f5e1000001000040000002f0000fc000000fbf400000001c0000202c0000201ffffffffffffffffffffffffffffffff001b02000418cb0071' + '0000',
  'hex',
);

test('a file cut short keeps its whole records and says where it ends', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-mrt-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const two = Buffer.concat([RECORD, RECORD]);
  const cases: readonly (readonly [name: string, bytes: Buffer, withdrawn: number, damage: RegExp])[] = [
    ['whole', two, 2, /^$/],
    ['cut inside the second record', two.subarray(0, two.length - 5), 1, /bytes behind the last whole record/],
    ['gzip, whole', gzipSync(two), 2, /^$/],
    ['empty', Buffer.alloc(0), 0, /^$/],
    ['rubbish', Buffer.from('this is not an MRT file at all'), 0, /bytes behind/],
  ];
  for (const [name, bytes, withdrawn, damage] of cases) {
    const path = join(folder, 'file.mrt');
    writeFileSync(path, bytes);
    const counts = countMrt(path);
    assert.equal(counts.withdrawn.ipv4, withdrawn, name);
    assert.match(counts.damage, damage, name);
  }
});

const never = new AbortController().signal;

test('what is no MRT file is said by name and exit code, and does not keep the others', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-mrt-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, bytes, code, says] of [
    ['whole', RECORD, 0, /^$/],
    ['read\u001b[31mme', Buffer.from('# Read me\n\nthis is not an MRT file at all'), 1, /read\\x1b\[31mme: is no MRT file/],
    ['zeros', Buffer.alloc(4096), 1, /is no MRT file/],
    ['random', Buffer.from(Array.from({ length: 999 }, (_, i) => (i * 7919) & 0xff)), 1, /is no MRT file/],
    ['empty', Buffer.alloc(0), 1, /is empty/],
    ['first record cut', RECORD.subarray(0, RECORD.length - 1), 1, /no whole record/],
  ] as const) {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    const result = await mrtCommand([path, join(folder, 'whole')], false, never);
    assert.equal(result.code, code, name);
    assert.match(result.stderr, says);
    assert.match(result.stdout, /whole\n.*MESSAGE_AS4/);
    const all = JSON.parse((await mrtCommand([path], true, never)).stdout) as Record<string, { error?: string; peers?: number }>;
    assert.equal(all[path]?.error === undefined, code === 0);
  }
});

test('a file that is not there is exit code 2 with its name', async () => {
  const result = await mrtCommand(['/nowhere/x\u0007.mrt'], false, never);
  assert.equal(result.code, 2);
  assert.match(result.stderr, /nowhere\/x\\x07\.mrt/);
});

test('a pipe is read to its end; one that nobody writes to ends with the signal', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-mrt-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const stop = new AbortController();
  const idle = mrtCommand([path], false, stop.signal);
  setImmediate(() => stop.abort());
  assert.deepEqual(await idle, { stdout: '', stderr: '', code: 130 });
  const [read] = await Promise.all([mrtCommand([path], true, never), writeFile(path, Buffer.concat([RECORD, RECORD]))]);
  assert.equal(read.code, 0, read.stdout);
  assert.match(read.stdout, /"withdrawn":\{"ipv4":2,"ipv6":0\}/);
  assert.match((await mrtCommand(['/dev/null'], false, never)).stderr, /neither a file nor a pipe/);
});
