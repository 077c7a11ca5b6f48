// What a file holds, in numbers: records by type, announcements and withdrawals, how many of them differ, how many peers spoke.
import { visible } from '../../core/visible.ts';
import { openMrt, readMrt, unpacked, type MrtFile } from './open.ts';
import { recordName } from './records.ts';
import { isMrt, walkMrt, type MrtPeer } from './walk.ts';

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
  return count(openMrt(path)).counts;
}

/** `mrt` is false when there is no whole record of MRT in it. */
function count(file: MrtFile): { readonly counts: MrtCounts; readonly mrt: boolean } {
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
  const counts = {
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
  return { counts, mrt: isMrt(summary) };
}

const UNREADABLE = 2;
const NO_MRT = 1;
const INTERRUPTED = 130;

/**
 * `zest mrt FILE…`: the counts of each file. One that cannot be read (code 2) or holds something else (code 1) does not keep the others.
 * A pipe that nobody writes to is waited for until the signal comes.
 */
export async function mrtCommand(
  paths: readonly string[],
  json: boolean,
  signal: AbortSignal,
): Promise<{ stdout: string; stderr: string; code: number }> {
  const results: Record<string, MrtCounts | { readonly error: string }> = {};
  const lines: string[] = [];
  let stderr = '';
  let code = 0;
  for (const path of paths) {
    const fault = (error: string, exit: number): void => {
      results[path] = { error };
      stderr += `zest mrt: ${visible(path)}: ${visible(error)}\n`;
      code = Math.max(code, exit);
    };
    try {
      const raw = await readMrt(path, signal);
      if (raw === undefined) return { stdout: '', stderr: '', code: INTERRUPTED };
      const { counts, mrt } = count(unpacked(raw));
      if (!mrt) {
        fault(raw.length === 0 ? 'is empty' : 'is no MRT file: no whole record in it', NO_MRT);
        continue;
      }
      results[path] = counts;
      lines.push(visible(path), ...report(counts));
    } catch (error) {
      fault(error instanceof Error ? error.message : String(error), UNREADABLE);
    }
  }
  if (json) return { stdout: `${JSON.stringify(results)}\n`, stderr: '', code };
  return { stdout: lines.map((line) => `${line}\n`).join(''), stderr, code };
}

function report(counts: MrtCounts): readonly string[] {
  return [
    ...Object.entries(counts.records).map(([name, records]) => `  ${name.padEnd(40)} ${records}`),
    `  announced  ipv4 ${counts.announced.ipv4} (${counts['distinct-announced'].ipv4} different)  ipv6 ${counts.announced.ipv6} (${counts['distinct-announced'].ipv6} different)`,
    `  withdrawn  ipv4 ${counts.withdrawn.ipv4}  ipv6 ${counts.withdrawn.ipv6}`,
    `  peers      ${counts.peers}`,
    ...(counts.damage === '' ? [] : [`  ends early: ${counts.damage}`]),
    ...(counts.damaged + counts['cut-messages'] + counts['bad-markers'] === 0
      ? []
      : [`  damaged ${counts.damaged}, cut messages ${counts['cut-messages']}, bad markers ${counts['bad-markers']}`]),
  ];
}
