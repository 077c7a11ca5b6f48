// What filters say they replace: the check for loops can be, nothing else, and whoever wants that is told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PeerSettings, Report } from '../../../engine/bgp/port.ts';
import { Questions } from '../../../engine/compose/questions.ts';
import { ManualClock } from '../../../engine/core/clock.ts';
import type { PluginHost } from '../../../engine/host/host.ts';
import type { FilterDecl } from '../../../yang/generated/methods.ts';
import { silentLog } from '../../../engine/core/log.ts';

const rows: readonly (readonly [name: string, filter: FilterDecl, chain: 'import' | 'export', loops: boolean, says: string])[] = [
  ['loop detection is replaced', { name: 'f', direction: 'import', overrides: ['loop-detection'] }, 'import', true, ''],
  ['both ways, in an export chain', { name: 'f', direction: 'both', overrides: ['loop-detection'] }, 'export', false, ''],
  ['nothing is asked for', { name: 'f', direction: 'import' }, 'import', false, ''],
  [
    'a default there is not',
    { name: 'f', direction: 'import', overrides: ['loop-detect'] },
    'import',
    false,
    'filter "p:f" overrides "loop-detect": there is no such default filter, loop-detection is the only one (did you mean "loop-detection"?)',
  ],
  [
    'one of two',
    { name: 'f', direction: 'import', overrides: ['loop-detection', 'community'] },
    'import',
    true,
    'filter "p:f" overrides "community": there is no such default filter, loop-detection is the only one',
  ],
  [
    'in a chain where nobody looks for loops',
    { name: 'f', direction: 'export', overrides: ['loop-detection'] },
    'export',
    false,
    'filter "p:f" overrides "loop-detection": loops are looked for in import chains, and this is an export chain',
  ],
];

for (const [name, filter, chain, loops, says] of rows) {
  test(name, () => {
    const reports: Report[] = [];
    let filters: readonly FilterDecl[] = [filter];
    const registry = { filtersOf: () => filters };
    const questions = new Questions({
      clock: new ManualClock(),
      log: () => silentLog,
      report: (report) => reports.push(report),
      host: () => ({ registry, link: () => undefined, openValidators: () => [] }) as unknown as PluginHost,
    });
    const peer = {
      importFilters: chain === 'import' ? ['p:f'] : [],
      exportFilters: chain === 'export' ? ['p:f'] : [],
      updates: [],
    };
    const peers = [peer] as unknown as readonly PeerSettings[];
    questions.check(peers);
    questions.check(peers);
    const told = reports
      .filter(({ code, message }) => code === 'filter-override' && message !== '')
      .map(({ message }) => message);
    assert.deepEqual(told, says === '' ? [] : [says], 'said once');
    assert.equal(questions.overridden({ peers }).peers[0]?.loopDetection === 'off', loops);
    filters = [{ name: 'f', direction: 'both' }];
    questions.check(peers);
    const taken = reports.filter(({ code, message }) => code === 'filter-override' && message === '');
    assert.equal(taken.length, says === '' ? 0 : 1, 'taken back when it holds no more');
  });
}
