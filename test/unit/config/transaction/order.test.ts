// The order of a plan (plugin-lifecycle §12, §17): makers before users, users before takers, and what decides where nothing binds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inOrder, type Ordered } from '../../../../engine/config/transaction/order.ts';
import { isBlank, isSame } from '../../../../engine/config/transaction/resources.ts';
import type { ResourceRef } from '../../../../yang/generated/methods.ts';

const address = (value: string, name?: string): ResourceRef =>
  name === undefined ? { kind: 'address', address: value } : { kind: 'address', address: value, interface: name };
const peer = (name: string): ResourceRef => ({ kind: 'peer', name });
const link = (name: string): ResourceRef => ({ kind: 'interface', name });

function node(id: string, verb: Ordered['verb'], target?: ResourceRef, more: Partial<Ordered> = {}): Ordered {
  return { id, verb, target, produces: [], consumes: [], allowDual: false, last: false, ...more };
}

const rows: readonly [name: string, nodes: readonly Ordered[], order: readonly string[]][] = [
  [
    'who makes comes before who uses',
    [node('user', 'create', peer('p'), { consumes: [address('1')] }), node('maker', 'create', address('1', 'eth0'))],
    ['maker', 'user'],
  ],
  [
    'who uses and goes comes before who takes away',
    [
      node('taker', 'destroy', address('1')),
      node('user', 'destroy', peer('p'), { consumes: [address('1')] }),
      node('link', 'destroy', link('eth0')),
    ],
    ['user', 'taker', 'link'],
  ],
  [
    'free nodes: creations from below, changes, destructions from above',
    [
      node('d-link', 'destroy', link('a')),
      node('d-peer', 'destroy', peer('a')),
      node('m', 'modify', peer('m')),
      node('section', 'modify'),
      node('c-peer', 'create', peer('b')),
      node('c-link', 'create', link('b')),
    ],
    ['c-link', 'c-peer', 'section', 'm', 'd-peer', 'd-link'],
  ],
  [
    'an address that moves is taken away before it is made again',
    [node('make', 'create', address('1', 'eth1')), node('take', 'destroy', address('1', 'eth0'))],
    ['take', 'make'],
  ],
  [
    'unless it may live twice: then its user moves between',
    [
      node('take', 'destroy', address('1', 'eth0')),
      node('use', 'modify', peer('p'), { consumes: [address('1')] }),
      node('make', 'create', address('1', 'eth1'), { allowDual: true }),
    ],
    ['make', 'use', 'take'],
  ],
  [
    'a user of what moves goes on with the new one',
    [
      node('use', 'modify', peer('p'), { consumes: [address('1')] }),
      node('make', 'create', address('1', 'eth1')),
      node('take', 'destroy', address('1', 'eth0')),
    ],
    ['take', 'make', 'use'],
  ],
  [
    'what is made again in its place goes first',
    [node('make', 'create', link('a')), node('take', 'destroy', link('a'))],
    ['take', 'make'],
  ],
  [
    'a change comes behind the creation of its target',
    [node('change', 'modify', link('a')), node('make', 'create', link('a'))],
    ['make', 'change'],
  ],
  [
    'the engine’s steps come last, in their order, unless a resource says otherwise',
    [
      node('peers-remove', 'destroy', undefined, { last: true, produces: [peer('x')], consumes: [address('1')] }),
      node('peers-apply', 'modify', undefined, { last: true }),
      node('take', 'destroy', address('1')),
      node('other', 'destroy', address('2')),
    ],
    ['other', 'peers-remove', 'take', 'peers-apply'],
  ],
];
for (const [name, nodes, order] of rows) {
  test(name, () => {
    const result = inOrder(nodes);
    assert.ok(result.ok);
    assert.deepEqual(
      result.nodes.map(({ id }) => id),
      order,
    );
  });
}

test('so many that name one resource that nobody could wait for their order are refused, many that name their own are not', () => {
  const consumes = [peer('one')];
  const crowd = (count: number): Ordered[] =>
    Array.from({ length: count }, (_, i) =>
      node(`n${i}`, i % 2 === 0 ? 'create' : 'modify', undefined, {
        produces: i % 2 === 0 ? consumes : [],
        consumes: i % 2 === 0 ? [] : consumes,
      }),
    );
  assert.equal(inOrder(crowd(500)).ok, true);
  assert.deepEqual(inOrder(crowd(10_000)), { ok: false, cycle: [] });
  const names = Array.from({ length: 5000 }, (_, i) => peer(`p${i}`));
  assert.deepEqual(inOrder(Array.from({ length: 1000 }, (_, i) => node(`n${i}`, 'create', undefined, { consumes: names }))), {
    ok: false,
    cycle: [],
  });
  const own = names.flatMap((ref, i) => [node(`c${i}`, 'create', ref), node(`m${i}`, 'modify', ref, { consumes: [ref] })]);
  assert.equal(inOrder(own).ok, true);
});

test('a cycle names who is in it or behind it', () => {
  const result = inOrder([
    node('a', 'create', peer('a'), { consumes: [peer('b')] }),
    node('b', 'create', peer('b'), { consumes: [peer('a')] }),
    node('behind', 'create', link('c'), { consumes: [peer('a')] }),
    node('free', 'create', link('d')),
  ]);
  assert.deepEqual(result, { ok: false, cycle: ['a', 'b', 'behind'] });
});

test('ten thousand operations are put in order', () => {
  const nodes = Array.from({ length: 10_000 }, (_, i) =>
    node(`n${i}`, 'create', peer(`p${i}`), i === 0 ? {} : { consumes: [peer(`p${(i - 1) % 5000}`)] }),
  );
  const result = inOrder(nodes);
  assert.ok(result.ok && result.nodes.length === 10_000);
});

const same: readonly [ResourceRef, ResourceRef, boolean][] = [
  [address('1'), address('1', 'eth0'), true],
  [address('1', 'eth1'), address('1', 'eth0'), false],
  [address('1'), { kind: 'listener', address: '1' }, false],
  [peer('a'), { kind: 'peer', peer: '10.0.0.1' }, false],
  [{ kind: 'listener', address: '1', port: 179 }, { kind: 'listener', port: 179 }, true],
];
test('two references are the same resource when what both say agrees', () => {
  for (const [one, other, expected] of same) assert.equal(isSame(one, other), expected, JSON.stringify([one, other]));
});

test('a kind alone names nothing', () => {
  assert.ok(isBlank({ kind: 'peer' }) && isBlank({ kind: '' as never, name: 'x' }) && isBlank({ kind: 'peer', name: '' }));
  assert.ok(!isBlank({ kind: 'listener', port: 179 }));
});
