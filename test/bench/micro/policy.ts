// Filters of the reactor: one UPDATE of five prefixes after the other through a chain of one.
import { compile as asPathList } from '../../../plugins/bgp-filter-aspath/index.ts';
import { compile as community } from '../../../plugins/bgp-filter-community/index.ts';
import { compile as modify } from '../../../plugins/bgp-filter-modify/index.ts';
import { compile as prefixList } from '../../../plugins/bgp-filter-prefix/index.ts';
import { Draft } from '../../../sdk/policy/draft.ts';
import type { RouteFilter } from '../../../sdk/policy/route-filter.ts';
import { type Bench, type Case, sink } from './cases.ts';
import { context, SampleTable } from './sample-table.ts';

const UPDATES = 2000;
const ENTRIES = 1000;

const table = new SampleTable(UPDATES);

function through(filter: RouteFilter): Bench {
  const draft = new Draft();
  return {
    run: () => {
      for (let i = 0; i < UPDATES; i++) {
        if (!draft.begin(table.bytes, table.view, table.at[i]!, table.length[i]!, context, true)) continue;
        if (!filter.judge(draft)) continue;
        sink.value += draft.changed ? (draft.message()?.length ?? 0) : 1;
      }
    },
  };
}

/** Of eighteen lengths, none of which takes what the table announces; the last entry takes all of it. */
const prefixes = Array.from({ length: ENTRIES - 1 }, (_, i): readonly [string, object] => {
  const length = 8 + (i % 17);
  return [`${i % 224}.${(i * 7) % 256}.${(i * 13) % 256}.0/${length}`, { ge: 30, action: 'reject' }];
});
const lists: readonly (readonly [string, object])[] = [...prefixes, ['0.0.0.0/0', { le: 24 }]];

const route = { per: 'route', count: UPDATES * 5 };

export const policyCases: readonly Case[] = [
  { name: 'policy: prefix list of 1,000 entries', ...route, make: () => through(prefixList({ entry: lists })) },
  {
    name: 'policy: as-path list of four expressions',
    ...route,
    make: () =>
      through(
        asPathList({
          entry: [
            ['^1 ', { action: 'reject' }],
            ['(^| )666( |$)', { action: 'reject' }],
            ['^([0-9]+ ){40}', { action: 'reject' }],
            ['.*', {}],
          ],
        }),
      ),
  },
  { name: 'policy: communities tagged', ...route, make: () => through(community({ tag: { standard: ['65000:1', '65000:2'] } })) },
  {
    name: 'policy: local preference and prepend',
    ...route,
    make: () => through(modify({ set: { 'local-preference': 200, 'as-path-prepend': 2 } })),
  },
];
