// Commits that wait for their confirmation, over transactions that are played: what the time of day and a transaction that breaks do to them.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Commits, type CommitParts } from '../../../engine/compose/commits.ts';
import { ConfigInForce } from '../../../engine/compose/config-in-force.ts';
import { loadConfig } from '../../../engine/config/load.ts';
import type { RunningConfig } from '../../../engine/config/running.ts';
import { ManualClock } from '../../../engine/core/clock.ts';
import { eventually } from '../../support/zest-process.ts';

/** Somebody sets the machine's time. */
class SetClock extends ManualClock {
  skew = 0;

  override wall(): number {
    return super.wall() + this.skew;
  }
}

const text = (id: string): string => `bgp { router-id ${id}; session { asn { local 64500; } } }\n`;
const loaded = (source: string): RunningConfig => {
  const result = loadConfig(source, { path: 't', env: {} });
  assert.ok(result.ok);
  return result.config;
};
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

describe('a commit that waits', () => {
  let folder: string;
  let clock: SetClock;
  let configs: ConfigInForce;
  let breaks: boolean;
  let commits: Commits;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'zest-commits-'));
    const configPath = join(folder, 'zest.conf');
    writeFileSync(configPath, text('10.0.0.1'));
    clock = new SetClock();
    configs = new ConfigInForce(loaded(text('10.0.0.1')), text('10.0.0.1'));
    breaks = false;
    const parts = {
      configs,
      configPath,
      limit: () => 10,
      clock,
      log: quiet,
      report: () => undefined,
      read: (source: string) => Promise.resolve(loadConfig(source, { path: 't', env: {} })),
      established: () => Promise.resolve(new Set<string>()),
      preview: () => Promise.resolve([]),
      inTurn: <T>(work: () => Promise<T>) => work(),
      transactions: {
        run: (candidate: RunningConfig) => {
          if (breaks) return Promise.reject(new Error('broken'));
          configs.active = candidate;
          return Promise.resolve({ ok: true, report: {} });
        },
      },
    };
    commits = new Commits(parts as unknown as CommitParts);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const request = { text: text('10.0.0.2'), base: undefined, author: 'ann', comment: '', confirmSeconds: 60 };
  const pending = async (): Promise<number | undefined> => (await commits.status()).pending?.secondsLeft;
  const mark = (): boolean => existsSync(join(folder, 'zest.conf.zest', 'pending'));

  test('has the time it was given, whatever becomes of the time of day', async () => {
    assert.ok((await commits.commit(request)).ok);
    assert.ok(mark());
    for (const hours of [-1, 1]) {
      clock.skew = hours * 3_600_000;
      assert.equal(await pending(), 60);
    }
    clock.advance(20_000);
    assert.equal(await pending(), 40);
    clock.advance(40_000);
    await eventually('the mark is gone', () => (mark() ? undefined : true));
    assert.equal(await pending(), undefined);
    assert.equal(configs.text, text('10.0.0.1'));
    assert.equal(readFileSync(join(folder, 'zest.conf'), 'utf8'), text('10.0.0.1'));
  });

  test('does not wait, and leaves no mark, when its transaction breaks', async () => {
    breaks = true;
    await assert.rejects(commits.commit(request), /broken/);
    assert.equal(mark(), false);
    assert.equal(commits.busy, '');
  });
});
