// One daemon for many rows: a peer for each row, a well-behaved session and a plugin beside them that nothing may touch.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { writeScript } from '../../support/write-script.ts';
import { assertCodesListed, type ReportEntry, reports } from '../../support/report-codes.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';
import { MANDATORY, update } from '../../wire/build.ts';

export interface Neighbour {
  readonly as: number;
  /** Words inside `session { }`. */
  readonly session: string;
}

export interface RibRoute {
  readonly peer: string;
  readonly family: string;
  readonly prefix: string;
  readonly [attribute: string]: unknown;
}

const GOOD = '127.0.0.2';
const GOOD_PREFIX = '192.0.2.0/24';

/** Address of the n-th neighbour. */
export function addressOf(index: number): string {
  return `127.0.${1 + Math.floor(index / 200)}.${2 + (index % 200)}`;
}

export class HostileStage {
  readonly zest: ZestProcess;
  readonly port: number;
  readonly good: RawSpeaker;
  /** Reports by subject, gathered as they come: the daemon keeps the last 256. */
  readonly seen = new Map<string, Map<string, ReportEntry>>();

  private constructor(zest: ZestProcess, port: number, good: RawSpeaker) {
    this.zest = zest;
    this.port = port;
    this.good = good;
  }

  static async start(neighbours: readonly Neighbour[], environment = ''): Promise<HostileStage> {
    const port = await freePort();
    const peer = (name: string, address: string, as: number, session: string): string => `
    peer ${name} {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip ${address}; connect false; } }
        session { asn { remote ${as}; } ${session} }
        process watcher { receive [ update state open ]; send [ update ]; }
    }`;
    const config = `
environment { log { level info; } ${environment} }
plugin { external watcher { run "exec node raw-plugin.mjs"; } }
bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
${peer('good', GOOD, 64512, 'family { ipv4/unicast { prefix { maximum 100; } } }')}
${neighbours.map(({ as, session }, index) => peer(`h${index}`, addressOf(index), as, session)).join('')}
}
`;
    const folder = mkdtempSync(join(tmpdir(), 'zest-hostile-'));
    writeScript(folder, 'raw-plugin');
    const zest = await ZestProcess.start(config, {}, folder);
    const good = await RawSpeaker.establish({ port, local: GOOD, holdSeconds: 9 });
    good.send(update({ attributes: MANDATORY, nlri: '18c00002' }));
    return new HostileStage(zest, port, good);
  }

  async routes(): Promise<readonly RibRoute[]> {
    const answer = await this.zest.json('rib', 'routes', 'received');
    return (answer['adj-rib-in'] ?? []) as readonly RibRoute[];
  }

  /** Codes reported of this subject so far. */
  codes(subject: string): readonly string[] {
    return [...(this.seen.get(subject)?.keys() ?? [])];
  }

  async gatherReports(): Promise<void> {
    for (const entry of await reports(this.zest)) {
      let codes = this.seen.get(entry.subject);
      if (codes === undefined) this.seen.set(entry.subject, (codes = new Map<string, ReportEntry>()));
      codes.set(entry.code, entry);
    }
  }

  /** The daemon, the other session and the plugin live, and every code is one that operators can look up. */
  async isUnharmed(): Promise<void> {
    assert.equal(this.zest.exitCode, undefined, this.zest.output.slice(-2000));
    assert.equal(this.good.notification, undefined);
    assert.equal(this.good.ended, undefined);
    await eventually('the plugin answers, and the other session keeps its route', async () => {
      const { count } = (await this.zest.json('watcher', 'count')) as { count: number };
      assert.ok(count > 0, 'the plugin saw updates');
      return (await this.routes()).some((route) => route.peer === GOOD && route.prefix === GOOD_PREFIX) || undefined;
    });
    await this.gatherReports();
    assertCodesListed([...this.seen.values()].flatMap((codes) => [...codes.keys()]));
  }

  /** Lines of the daemon's log about this peer or address. */
  logged(...words: readonly string[]): boolean {
    return this.zest.output.split('\n').some((line) => words.some((word) => line.includes(word)));
  }

  async stop(): Promise<void> {
    await this.good.close();
    assert.equal(await this.zest.stop(), 0);
    rmSync(this.zest.folder, { recursive: true, force: true });
  }
}
