/** What a changed peer setting asks for: nothing but to be known, everything sent anew, or a new session. */
import type { PeerSettings } from '../port.ts';

export type Change = 'none' | 'live' | 'refresh' | 'reset';

const LIVE: readonly (keyof PeerSettings)[] = [
  'group',
  'description',
  'localPort',
  'accept',
  'remotePort',
  'connect',
  'ignoreFamilyMismatch',
  'sendHoldTimeSeconds',
  'connectRetrySeconds',
  'groupUpdates',
  'manualEor',
  'updates',
  'processes',
  'importFilters',
  'loopDetection',
];

/** The export side: the peer moves to another update group. */
const REFRESH: readonly (keyof PeerSettings)[] = [
  'localAsOptions',
  'asOverride',
  'communitySend',
  'routeReflectorClient',
  'clusterId',
  'nextHop',
  'linkLocal',
  'routeServerTransparent',
  'exportFilters',
];

export function changeOf(before: PeerSettings, after: PeerSettings): Change {
  let change: Change = 'none';
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof PeerSettings>) {
    if (key === 'families') {
      change = worse(change, familiesChange(before, after));
      continue;
    }
    if (JSON.stringify(before[key]) === JSON.stringify(after[key])) continue;
    change = worse(change, LIVE.includes(key) ? 'live' : REFRESH.includes(key) ? 'refresh' : 'reset');
  }
  return change;
}

/** Limits are live; what is negotiated is not. */
function familiesChange(before: PeerSettings, after: PeerSettings): Change {
  if (JSON.stringify(before.families) === JSON.stringify(after.families)) return 'none';
  const offered = (settings: PeerSettings): string =>
    JSON.stringify(settings.families.map(({ family, mode, addPath }) => [family, mode, addPath]).sort());
  return offered(before) === offered(after) ? 'live' : 'reset';
}

function worse(a: Change, b: Change): Change {
  const order: readonly Change[] = ['none', 'live', 'refresh', 'reset'];
  return order.indexOf(a) >= order.indexOf(b) ? a : b;
}
