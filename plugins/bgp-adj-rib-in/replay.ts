// Sends one peer what the others announced, in slices.
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import { RelayRun } from '../../sdk/rib/relay-run.ts';
import type { Store } from './store.ts';

const SLICE = 2048;

export interface Replayed {
  /** Routes sent. */
  readonly replayed: number;
  /** Number of the last arrival when the replay began: a later replay from there sends what came since. */
  readonly 'last-index': number;
}

/**
 * Routes with a number above `from`, of one family or all (0), to `peer`. `done` is called at the end, also when the peer goes down meanwhile. What
 * arrives during the replay is the live path's business.
 */
export function replay(
  routes: RoutePath,
  store: Store,
  peer: number,
  family: number,
  from: number,
  done: (result: Replayed) => void,
): void {
  const run = new RelayRun(routes, store.attributes);
  const last = store.sequence;
  const wanted = store.inboxes().filter((inbox) => inbox.peer !== peer && (family === 0 || inbox.family === family));
  let at = 0;
  let row = 0;
  routes.slice(() => {
    const inbox = wanted[at];
    if (inbox === undefined || !routes.established(peer)) {
      done({ replayed: run.sent, 'last-index': last });
      return false;
    }
    // A source that went down meanwhile has given its handles back.
    const end = store.inboxes().includes(inbox) ? Math.min(row + SLICE, inbox.table.used) : 0;
    for (; row < end; row++) {
      if (!inbox.table.has(row) || inbox.sequences[row]! <= from) continue;
      run.add(peer, inbox.peer, inbox.family, inbox.handles[row]!, inbox, row);
    }
    run.flush();
    if (end > 0 && row < inbox.table.used) return true;
    at++;
    row = 0;
    return true;
  });
}
