// What a file holds, in numbers: records by type, announcements and withdrawals, how many of them differ, how many peers spoke.
import { readFileSync } from 'node:fs';
import { openMrt } from './open.ts';
import { recordName } from './records.ts';
import { walkMrt, type MrtPeer } from './walk.ts';

export interface MrtCounts {
  readonly bytes: number;
  readonly records: Readonly<Record<string, number>>;
  readonly announced: Readonly<Record<'ipv4' | 'ipv6', number>>;
  readonly 'distinct-announced': Readonly<Record<'ipv4' | 'ipv6', number>>;
  readonly withdrawn: Readonly<Record<'ipv4' | 'ipv6', number>>;
  /** Peers with a route announced or withdrawn or a change of state, by address and AS. */
  readonly peers: number;
  readonly 'cut-messages': number;
  readonly 'bad-markers': number;
  readonly damaged: number;
  /** Why the file ends early, '' when it is whole. */
  readonly damage: string;
}

export function countMrt(path: string): MrtCounts {
  const file = openMrt(path);
  const announced = { ipv4: 0, ipv6: 0 };
  const withdrawn = { ipv4: 0, ipv6: 0 };
  const distinct = { ipv4: new Set<string>(), ipv6: new Set<string>() };
  const peers = new Set<MrtPeer>();
  const summary = walkMrt(file.bytes, {
    announce(peer, family, prefix) {
      const name = family >>> 8 === 2 ? 'ipv6' : 'ipv4';
      announced[name]++;
      peers.add(peer);
      distinct[name].add(
        name === 'ipv4'
          ? `${prefix.ipv4()}/${prefix.lengthBits}`
          : `${prefix.ipv6Word(0)}.${prefix.ipv6Word(1)}.${prefix.ipv6Word(2)}.${prefix.ipv6Word(3)}/${prefix.lengthBits}`,
      );
    },
    withdraw(peer, family) {
      withdrawn[family >>> 8 === 2 ? 'ipv6' : 'ipv4']++;
      peers.add(peer);
    },
    state(peer) {
      peers.add(peer);
    },
  });
  const records: Record<string, number> = {};
  for (const [key, count] of summary.records) {
    const [type, subtype] = key.split(' ').map(Number);
    records[recordName(type ?? 0, subtype ?? 0)] = count;
  }
  return {
    bytes: file.bytes.length,
    records,
    announced,
    'distinct-announced': { ipv4: distinct.ipv4.size, ipv6: distinct.ipv6.size },
    withdrawn,
    peers: peers.size,
    'cut-messages': summary.cutMessages,
    'bad-markers': summary.badMarkers,
    damaged: summary.damaged,
    damage: file.damage === '' && summary.leftOver > 0 ? `${summary.leftOver} bytes behind the last whole record` : file.damage,
  };
}

/** `zest mrt FILE…`: prints the counts of each file. */
export function mrtCommand(paths: readonly string[], json: boolean): { stdout: string; stderr: string; code: number } {
  const results: Record<string, MrtCounts> = {};
  for (const path of paths) {
    try {
      readFileSync(path, { flag: 'r' });
      results[path] = countMrt(path);
    } catch (error) {
      return { stdout: '', stderr: `zest mrt: ${path}: ${error instanceof Error ? error.message : String(error)}\n`, code: 2 };
    }
  }
  if (json) return { stdout: `${JSON.stringify(results)}\n`, stderr: '', code: 0 };
  const lines = Object.entries(results).flatMap(([path, counts]) => [
    path,
    ...Object.entries(counts.records).map(([name, count]) => `  ${name.padEnd(40)} ${count}`),
    `  announced  ipv4 ${counts.announced.ipv4} (${counts['distinct-announced'].ipv4} different)  ipv6 ${counts.announced.ipv6} (${counts['distinct-announced'].ipv6} different)`,
    `  withdrawn  ipv4 ${counts.withdrawn.ipv4}  ipv6 ${counts.withdrawn.ipv6}`,
    `  peers      ${counts.peers}`,
    ...(counts.damage === '' ? [] : [`  ends early: ${counts.damage}`]),
    ...(counts.damaged + counts['cut-messages'] + counts['bad-markers'] === 0
      ? []
      : [`  damaged ${counts.damaged}, cut messages ${counts['cut-messages']}, bad markers ${counts['bad-markers']}`]),
  ]);
  return { stdout: `${lines.join('\n')}\n`, stderr: '', code: 0 };
}
