// Filter chains from text to the peers' settings, and what a changed chain costs (daemon-config §4, §7).
import assert from 'node:assert/strict';
import test from 'node:test';
import { diffConfigs } from '../../../engine/config/diff.ts';
import { loadConfig, type LoadOptions, type LoadResult } from '../../../engine/config/load.ts';
import type { RunningConfig } from '../../../engine/config/running.ts';

interface Chains {
  readonly bgp?: string;
  readonly group?: string;
  readonly peer?: string;
}

const read = ({ bgp = '', group = '', peer = '' }: Chains, more: Partial<LoadOptions> = {}): LoadResult =>
  loadConfig(
    `plugin { external ext { run ./ext; } external other { run ./other; } }
bgp {
    router-id 10.0.0.1;
    session { asn { local 64500; } }
    ${bgp}
    policy { prefix-list SANE { entry 10.0.0.0/8 { ge 8; } } }
    group edges {
        ${group}
        peer one {
            connection { local { ip 127.0.0.1; } remote { ip 127.0.0.2; } }
            session { asn { remote 64512; } }
            ${peer}
        }
    }
}
`,
    { path: 'test.conf', ...more },
  );
const running = (chains: Chains): RunningConfig => {
  const loaded = read(chains);
  assert.ok(loaded.ok, JSON.stringify(loaded));
  return loaded.config;
};
const faults = (chains: Chains): readonly string[] => {
  const loaded = read(chains);
  return loaded.ok ? [] : loaded.faults.map(({ message, hint }) => [message, hint].filter(Boolean).join(' | '));
};

/** A policy's key without its digest. */
const plain = (chain: readonly string[] | undefined): readonly string[] | undefined =>
  chain?.map((reference) => reference.replace(/\t[0-9a-f]{16}$/, ''));
const SANE = 'prefix-list:SANE';

const CHAINS: readonly (readonly [name: string, chains: Chains, imports: readonly string[], exports: readonly string[]])[] = [
  ['none', {}, [], []],
  [
    'bgp, then group, then peer',
    {
      bgp: 'filter { import [ ext:a ]; export ext:x; }',
      group: 'filter { import [ ext:b other:c ]; }',
      peer: 'filter { import ext:d; export [ other:y ]; }',
    },
    ['ext:a', 'ext:b', 'other:c', 'ext:d'],
    ['ext:x', 'other:y'],
  ],
  ['a member that is switched off', { peer: 'filter { import [ ext:a inactive:ext:b ext:c ]; }' }, ['ext:a', 'ext:c'], []],
  [
    'a chain that is switched off',
    { group: 'inactive: filter { import [ ext:a ]; }', peer: 'filter { import [ ext:b ]; }' },
    ['ext:b'],
    [],
  ],
  ['a name with more colons is the filter’s', { peer: 'filter { import [ ext:a:b ]; }' }, ['ext:a:b'], []],
  [
    'named filters: by kind, by plugin and bare',
    { peer: 'filter { import [ prefix-list:SANE ext:a SANE bgp-filter-prefix:SANE ]; }' },
    [SANE, 'ext:a', SANE, SANE],
    [],
  ],
  [
    'roles and tagging stand in front of the chain',
    {
      bgp: 'community { standard OURS { value 64500:1; } large MINE { value 1:2:3; } } filter { egress { community { strip OURS; } } }',
      group: 'filter { ingress { community { tag OURS; } } import ext:a; }',
      peer: 'role { import customer; } filter { ingress { community { tag MINE; } } egress { community { strip MINE; } } }',
    },
    ['role:customer', 'community:ingress', 'ext:a'],
    ['role:customer', 'community:egress'],
  ],
  [
    'loop detection is no step of a chain',
    { bgp: 'policy { loop-detection TWICE { allow-own-as 2; } }', peer: 'filter { import [ TWICE ext:a ]; }' },
    ['ext:a'],
    [],
  ],
];

for (const [name, chains, imports, exports] of CHAINS) {
  test(`chains: ${name}`, () => {
    const [peer] = running(chains).reactor.peers;
    assert.deepEqual([plain(peer?.importFilters), plain(peer?.exportFilters)], [imports, exports]);
  });
}

const definitionsOf = (chains: Chains): readonly (readonly [string, unknown])[] =>
  Object.entries(running(chains).reactor.policies ?? {}).map(([key, { definition }]) => [key.split('\t')[0] ?? '', definition]);

test('definitions: lists in their order, also of keys that look like numbers; sets looked up; nothing that nobody names', () => {
  const bgp = `policy { as-path-list P { entry 9 { } entry 10 { action reject; } entry 1; } prefix-list UNUSED { entry 10.0.0.0/8; } }
    community { standard A { value [ 64500:1 no-export ]; } extended B { value target:1:2; } standard B { value 1:1; } }`;
  assert.deepEqual(definitionsOf({ bgp, peer: 'filter { import P; egress { community { strip [ A B ]; } } }' }), [
    [
      'as-path-list:P',
      {
        entry: [
          ['9', {}],
          ['10', { action: 'reject' }],
          ['1', {}],
        ],
      },
    ],
    ['community:egress', { tag: {}, strip: { standard: ['64500:1', 'no-export', '1:1'], extended: ['target:1:2'] } }],
  ]);
});

test('another definition is another key, the same one the same', () => {
  const keys = (ge: number): string | undefined =>
    running({ bgp: `policy { prefix-list X { entry 10.0.0.0/8 { ge ${ge}; } } }`, peer: 'filter { import X; }' }).reactor.peers[0]
      ?.importFilters[0];
  assert.equal(keys(9), keys(9));
  assert.notEqual(keys(9), keys(10));
});

const LOOPS: readonly (readonly [name: string, chains: Chains, says: unknown])[] = [
  ['by default', {}, undefined],
  ['switched off by its kind', { peer: 'filter { import [ inactive:loop-detection ]; }' }, 'off'],
  ['a block counts everywhere', { bgp: 'policy { loop-detection L { allow-own-as 3; } }' }, { allowOwnAs: 3, clusterId: 0 }],
  [
    'the chain names another',
    {
      bgp: 'policy { loop-detection L { allow-own-as 3; } loop-detection M { cluster-id 10.0.0.9; } }',
      peer: 'filter { import [ ext:a loop-detection:M ]; }',
    },
    { allowOwnAs: 0, clusterId: 0x0a000009 },
  ],
  ['the block is switched off', { bgp: 'policy { loop-detection L { } }', peer: 'filter { import [ inactive:L ]; }' }, 'off'],
  [
    'one that would not count is switched off',
    { bgp: 'policy { loop-detection L { } loop-detection M { } }', peer: 'filter { import [ inactive:M ]; }' },
    { allowOwnAs: 0, clusterId: 0 },
  ],
  [
    'a group switches it off',
    { group: 'filter { import [ inactive:loop-detection ]; }', peer: 'filter { import ext:a; }' },
    'off',
  ],
];

for (const [name, chains, says] of LOOPS) {
  test(`loop detection: ${name}`, () => assert.deepEqual(running(chains).reactor.peers[0]?.loopDetection, says));
}

for (const [chain, said] of [
  ['import [ ext:a ]', []],
  ['import [ other:x ]', []],
  ['import [ ext:nope ]', ['no import filter ext:nope: plugin ext offers a (import); routes of the chain would be rejected']],
  ['export [ ext:a ]', ['no export filter ext:a: plugin ext offers a (import); routes of the chain would be rejected']],
] as const) {
  test(`chains: a filter that its plugin was asked for and does not offer is a warning: ${chain}`, () => {
    const filters = new Map([['ext', [{ name: 'a', direction: 'import' }]]]);
    const loaded = read({ peer: `filter { ${chain}; }` }, { filters });
    assert(loaded.ok);
    assert.deepEqual(
      loaded.warnings.map(({ message }) => message).filter((message) => message.includes('filter')),
      said,
    );
  });
}

const REFUSED: readonly (readonly [reference: string, fault: string])[] = [
  ['exta:a', 'undefined plugin in import filter: exta:a | did you mean "ext:a"?'],
  ['nothing-like-it:a', 'undefined plugin in import filter: nothing-like-it:a'],
  ['ext:', 'import filter ext:: expected PLUGIN:FILTER'],
  [':a', 'import filter :a: expected PLUGIN:FILTER'],
  ['prefix-list:SAME', 'unknown filter in import: prefix-list:SAME | did you mean "prefix-list:SANE"?'],
  ['SAME', 'unknown filter in import: SAME | did you mean "SANE"?'],
];

for (const [reference, fault] of REFUSED) {
  test(`refused: ${reference}`, () => assert.deepEqual(faults({ peer: `filter { import [ ${reference} ]; }` }), [fault]));
}

const BAD: readonly (readonly [name: string, chains: Chains, fault: string])[] = [
  [
    'a bare name of two kinds',
    { bgp: 'policy { modify SANE { set { med 1; } } }', peer: 'filter { import SANE; }' },
    'ambiguous filter in import: SANE | write prefix-list:SANE or modify:SANE',
  ],
  [
    'loops on the way out',
    { bgp: 'policy { loop-detection L { } }', peer: 'filter { export L; }' },
    'L: loops are looked for in import chains',
  ],
  [
    'ge below the prefix',
    { bgp: 'policy { prefix-list X { entry 10.0.0.0/8 { ge 7; } } }' },
    'prefix-list X: entry 10.0.0.0/8: ge 7 must be from 8 to 32',
  ],
  [
    'le below ge',
    { bgp: 'policy { prefix-list X { entry 10.0.0.0/8 { ge 20; le 19; } } }' },
    'prefix-list X: entry 10.0.0.0/8: le 19 must be from 20 to 32',
  ],
  [
    'le beyond an address',
    { bgp: 'policy { prefix-list X { entry 10.0.0.0/8 { le 33; } } }' },
    'prefix-list X: entry 10.0.0.0/8: le 33 must be from 8 to 32',
  ],
  [
    'a large community said to be standard',
    { bgp: 'policy { community-match X { entry 1:2:3 { action accept; } } }' },
    'community-match X: 1:2:3 is no standard community',
  ],
  [
    'an extended community that is none',
    { bgp: 'community { extended X { value target:1; } }' },
    'community set X: target:1 is no extended community',
  ],
  [
    'a set that nobody knows',
    { bgp: 'community { standard OURS { value 1:1; } }', peer: 'filter { ingress { community { tag OUR; } } }' },
    'unknown community set: OUR | did you mean "OURS"?',
  ],
];

for (const [name, chains, fault] of BAD) {
  test(`refused: ${name}`, () => assert.deepEqual(faults(chains), [fault]));
}

for (const regex of ['(?=1)', '(1)\\\\1', '[', '1**', '(((1{1000}){1000}){1000})', '('] as const) {
  test(`refused: an expression that cannot be matched in one pass: ${regex}`, () => {
    const [fault] = faults({ bgp: `policy { as-path-list X { entry "${regex}" { } } }` });
    assert.match(fault ?? '', /regular expression/);
  });
}

const DIFFS: readonly (readonly [name: string, before: Chains, after: Chains, leaves: readonly string[]])[] = [
  ['a chain that came', {}, { peer: 'filter { import ext:a; }' }, ['filter/import']],
  ['a chain that went', { group: 'filter { export ext:a; }' }, {}, ['filter/export']],
  [
    'another order',
    { bgp: 'filter { import [ ext:a ext:b ]; }' },
    { bgp: 'filter { import [ ext:b ext:a ]; }' },
    ['filter/import'],
  ],
  [
    'a member switched off',
    { peer: 'filter { import [ ext:a ext:b ]; }' },
    { peer: 'filter { import [ ext:a inactive:ext:b ]; }' },
    ['filter/import'],
  ],
];

test('a change of a definition refreshes the peers whose chains name it, and no others', () => {
  const chains = (ge: number): Chains => ({
    bgp: `policy { prefix-list X { entry 10.0.0.0/8 { ge ${ge}; } } prefix-list Y { entry 10.0.0.0/8 { ge ${ge}; } } }
      peer two { connection { local ip 127.0.0.1; remote ip 127.0.0.3; } session { asn remote 64513; } filter { export X; } }
      peer three { connection { local ip 127.0.0.1; remote ip 127.0.0.4; } session { asn remote 64514; } }`,
  });
  const { changed } = diffConfigs(running(chains(9)), running(chains(10))).peers;
  assert.deepEqual(changed, [{ name: 'two', change: 'refresh', leaves: [{ path: 'export-filters', change: 'refresh' }] }]);
});

for (const [name, before, after, leaves] of DIFFS) {
  test(`a change of filters is a refresh: ${name}`, () => {
    const [changed] = diffConfigs(running(before), running(after)).peers.changed;
    assert.equal(changed?.change, 'refresh');
    assert.deepEqual(
      changed.leaves.map(({ path, change }) => [path, change]),
      leaves.map((path) => [path, 'refresh']),
    );
  });
}
