// A plugin that asks for events of peers and is granted none of any: said while it lasts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProcessBinding } from '../../../engine/bgp/port.ts';
import type { ProcessHandle } from '../../../engine/bus/bus.ts';
import { bench, TextSink } from './fixture.ts';

type Bindings = ReadonlyMap<string, readonly ProcessBinding[]>;
const binding = (process: string, receive: readonly string[]): ProcessBinding => ({ process, receive, send: [] });
const NONE: Bindings = new Map([['p0', []]]);
const EMPTY: Bindings = new Map([['p0', [binding('watch', [])]]]);
const STATE: Bindings = new Map([['p0', [binding('watch', ['state'])]]]);

const rows: readonly (readonly [
  name: string,
  bindings: Bindings,
  builtin: boolean,
  events: readonly string[],
  namespace: string,
  warned: boolean,
])[] = [
  ['no process block names it', NONE, false, ['update'], 'bgp', true],
  ['a process block grants nothing', EMPTY, false, ['state'], 'bgp', true],
  ['a peer grants it something', STATE, false, ['update'], 'bgp', false],
  ['there is no peer', new Map(), false, ['update'], 'bgp', false],
  ['it sees all', NONE, true, ['update'], 'bgp', false],
  ['it asks for nothing', NONE, false, [], 'bgp', false],
  ['it asks for events of others', NONE, false, ['committed'], 'config', false],
];

function attach(bus: ReturnType<typeof bench>['bus'], builtin: boolean): ProcessHandle {
  return bus.attach({ name: 'watch', transport: new TextSink().transport, builtin, tier: 1, onFailure: () => undefined });
}

for (const [name, bindings, builtin, events, namespace, warned] of rows) {
  test(`${name}: ${warned ? 'a warning' : 'no warning'}`, () => {
    const { bus } = bench();
    bus.setBindings(bindings);
    attach(bus, builtin).subscribe({ events, namespace });
    assert.deepEqual(
      bus.reports.warnings().map(({ code, subject }) => [code, subject]),
      warned ? [['plugin-unbound', 'watch']] : [],
    );
  });
}

test('it goes with the grant, comes again without it, and goes with the subscription and the process', () => {
  const { bus } = bench();
  const warned = (): number => bus.reports.warnings().length;
  bus.setBindings(NONE);
  const process = attach(bus, false);
  process.subscribe({ events: ['update'] });
  assert.equal(warned(), 1);
  bus.setBindings(STATE);
  assert.equal(warned(), 0);
  bus.setBindings(NONE);
  assert.equal(warned(), 1);
  process.unsubscribe();
  assert.equal(warned(), 0);
  process.subscribe({ events: ['update'] });
  assert.equal(warned(), 1);
  process.detach();
  assert.equal(warned(), 0);
});
