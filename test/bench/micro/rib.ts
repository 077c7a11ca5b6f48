// The tables: attributes interned, prefixes found, routes stored, replaced and withdrawn, the best one picked.
import { AttributeTable, BestPath, Ipv4Table, PeerFacts, BEST_CHANGED, RouteStore } from '../../../sdk/rib/index.ts';
import { UpdateView } from '../../../sdk/wire/update.ts';
import { type Bench, type Case, sink } from './cases.ts';
import { context, SampleTable } from './sample-table.ts';

const UPDATES = 2000;
const ROUTES = UPDATES * 5;
const CANDIDATES = 8;
const PICKS = 1000;

class Store {
  readonly store = new RouteStore({ interest: BEST_CHANGED, keeps: () => true, seed: 7 });
  readonly #view = new UpdateView();

  constructor(peers: number) {
    for (let peer = 0; peer < peers; peer++) this.store.peers.set(peer, true, peer + 1, Uint8Array.of(192, 0, 2, peer + 1));
  }

  /** Every message of the table, as that peer's. */
  receive(peer: number, table: SampleTable): void {
    const view = this.#view;
    for (let i = 0; i < table.updates; i++) {
      view.locate(table.bytes, table.view, table.at[i]!, table.length[i]!, context);
      view.trust(0);
      this.store.receive(peer, view, false);
    }
    for (const family of this.store.families) family.clearChanged();
  }
}

function attributes(keep: boolean): Bench {
  const table = new AttributeTable({ reserve: 1 << 16, byteReserve: 1 << 22 });
  const sample = new SampleTable(UPDATES);
  const { view, blockAt, blockLength } = sample;
  const handles = new Uint32Array(UPDATES);
  const intern = (): void => {
    for (let i = 0; i < UPDATES; i++) handles[i] = table.intern(view, blockAt[i]!, blockLength[i]!, view, 0, 0);
  };
  const release = (): void => {
    for (let i = 0; i < UPDATES; i++) if (handles[i] !== 0) table.release(handles[i]!);
    handles.fill(0);
  };
  if (!keep) return { before: release, run: intern };
  // One count that stays, so that no block is ever the last one's.
  intern();
  return {
    run: () => {
      intern();
      release();
    },
  };
}

const routes = { per: 'route', count: ROUTES };
const announced = new SampleTable(UPDATES);
const changed = new SampleTable(UPDATES, { variant: 1 });
const withdrawn = new SampleTable(UPDATES, { withdraw: true });

export const ribCases: readonly Case[] = [
  { name: 'rib: attributes interned, new', per: 'block', count: UPDATES, make: () => attributes(false) },
  { name: 'rib: attributes interned and given back, known', per: 'block', count: UPDATES, make: () => attributes(true) },
  {
    name: 'rib: prefixes inserted',
    ...routes,
    make: () => {
      const table = new Ipv4Table({ reserve: 1 << 16 });
      const rows = new Int32Array(ROUTES).fill(-1);
      return {
        before: () => {
          for (let i = ROUTES - 1; i >= 0; i--) if (rows[i]! >= 0) table.remove(rows[i]!);
        },
        run: () => {
          for (let i = 0; i < ROUTES; i++) rows[i] = table.insert(0x1000_0000 + i * 256, 24);
        },
      };
    },
  },
  {
    name: 'rib: prefixes found',
    ...routes,
    make: () => {
      const table = new Ipv4Table({ reserve: 1 << 16 });
      for (let i = 0; i < ROUTES; i++) table.insert(0x1000_0000 + i * 256, 24);
      return {
        run: () => {
          for (let i = 0; i < ROUTES; i++) sink.value += table.find(0x1000_0000 + i * 256, 24);
        },
      };
    },
  },
  {
    name: 'rib: routes inserted',
    ...routes,
    make: () => {
      const store = new Store(1);
      return { before: () => store.receive(0, withdrawn), run: () => store.receive(0, announced) };
    },
  },
  {
    name: 'rib: routes withdrawn',
    ...routes,
    make: () => {
      const store = new Store(1);
      return { before: () => store.receive(0, announced), run: () => store.receive(0, withdrawn) };
    },
  },
  {
    name: 'rib: routes replaced',
    ...routes,
    make: () => {
      const store = new Store(1);
      store.receive(0, announced);
      let other = false;
      return { run: () => store.receive(0, (other = !other) ? changed : announced) };
    },
  },
  {
    name: 'rib: best route changes among four peers',
    ...routes,
    make: () => {
      const store = new Store(4);
      for (let peer = 0; peer < 4; peer++) store.receive(peer, announced);
      let other = false;
      return { run: () => store.receive(1, (other = !other) ? changed : announced) };
    },
  },
  {
    name: 'rib: best of eight picked',
    per: 'pick',
    count: PICKS,
    make: () => {
      const table = new AttributeTable({ reserve: 1 << 10, byteReserve: 1 << 16 });
      const peers = new PeerFacts();
      const best = new BestPath(table, peers);
      best.reserve(CANDIDATES);
      for (let i = 0; i < CANDIDATES; i++) {
        peers.set(i, true, 1 + ((i * 5) % CANDIDATES), Uint8Array.of(192, 0, 2, 1 + i));
        // Sets that differ in their length of path by four; the rest is decided by identifiers.
        const set = (i % 2) * 4 + 1;
        best.handle[i] = table.intern(announced.view, announced.blockAt[set]!, announced.blockLength[set]!, announced.view, 0, 0);
        best.peer[i] = i;
      }
      return {
        run: () => {
          for (let i = 0; i < PICKS; i++) sink.value += best.pick(CANDIDATES);
        },
      };
    },
  },
  {
    name: 'rib: routes walked',
    ...routes,
    make: () => {
      const store = new Store(1);
      store.receive(0, announced);
      const [family] = store.store.families;
      const out = new Uint8Array(32);
      return {
        run: () => {
          if (family === undefined) return;
          for (let i = 0; i < family.rows; i++) if (family.best(i) !== 0) sink.value += family.writePrefix(i, out, 0);
        },
      };
    },
  },
];
