// The exporter against a naive model: whatever changes, blocks, comes and goes, each peer ends with exactly the best routes of the others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ChunkPool } from '../../../../engine/bgp/send/chunk.ts';
import { exportSide } from '../../../../engine/bgp/send/export-rule.ts';
import { ExportTable } from '../../../../engine/bgp/send/export-table.ts';
import { Group } from '../../../../engine/bgp/send/groups.ts';
import type { Peer } from '../../../../engine/bgp/session/peer.ts';
import type { BestRoutes } from '../../../../sdk/plugin/route-path.ts';
import { plainContext } from '../../../../sdk/wire/context.ts';
import { viewOf } from '../../../../sdk/wire/bytes.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../../../sdk/wire/family.ts';
import { UpdateView } from '../../../../sdk/wire/update.ts';
import { hex, peerSettings, toHex } from '../lab.ts';

const ROWS = 10;

/** The table: per row the candidates by source; the lowest source is best. A handle is `1 + source * 8 + variant`. */
class Table implements BestRoutes {
  readonly family: number;
  rows = ROWS;
  readonly candidates = Array.from({ length: ROWS }, () => new Map<number, number>());
  readonly attributeBytes: Uint8Array;
  readonly #blocks: { at: number; length: number }[] = [];

  constructor(family: number) {
    this.family = family;
    const blocks = Array.from({ length: 64 }, (_, handle) => hex(blockOf(handle)));
    this.attributeBytes = new Uint8Array(blocks.reduce((sum, block) => sum + block.length, 0) + 16);
    let at = 16;
    this.attributeBytes.set(hex('20010db8000000000000000000000009'));
    for (const block of blocks) {
      this.attributeBytes.set(block, at);
      this.#blocks.push({ at, length: block.length });
      at += block.length;
    }
  }

  #winner(row: number): readonly [number, number] | undefined {
    return [...(this.candidates[row] ?? [])].sort((a, b) => a[0] - b[0])[0];
  }
  best(row: number): number {
    return this.#winner(row)?.[1] ?? 0;
  }
  source(row: number): number {
    return this.#winner(row)?.[0] ?? 0;
  }
  writePrefix(row: number, out: Uint8Array, at: number): number {
    const prefix = prefixOf(this.family, row);
    out.set(prefix, at);
    return prefix.length;
  }
  attributesAt(handle: number): number {
    return this.#blocks[handle]?.at ?? 0;
  }
  attributesLength(handle: number): number {
    return this.#blocks[handle]?.length ?? 0;
  }
  nextHopAt(): number {
    return 0;
  }
  nextHopLength(): number {
    return this.family === IPV4_UNICAST ? 0 : 16;
  }
}

/** ORIGIN, AS_PATH [65000 + handle], NEXT_HOP; handles with variant 7 carry NO_EXPORT. */
function blockOf(handle: number): string {
  const path = `40010100 40020602010000${(65_000 + handle).toString(16)} 400304c0000209`;
  return handle % 8 === 7 ? `${path} c00804ffffff01` : path;
}

function prefixOf(family: number, row: number): Uint8Array {
  return family === IPV4_UNICAST ? Uint8Array.of(24, 10, row, 0) : Uint8Array.of(48, 0x20, 1, 0x0d, 0xb8, 0, row);
}

/** A peer that decodes what it is sent; while blocked its queue looks long. */
class Receiver {
  readonly index: number;
  readonly routes = new Map<string, string>();
  blocked = false;
  settings = peerSettings(2);
  readonly view = new UpdateView();
  readonly strict: boolean;

  constructor(index: number, strict: boolean) {
    this.index = index;
    this.strict = strict;
  }

  get queuedBytes(): number {
    return this.blocked ? 2 << 20 : 0;
  }
  cork(): void {
    // Order is all that matters here.
  }
  uncork(): void {
    // See cork.
  }

  sendUpdates(bytes: Uint8Array, messages: number, _watched: boolean, done: () => void): void {
    let count = 0;
    const view = viewOf(bytes);
    for (let at = 0; at < bytes.length; count++) {
      const length = view.getUint16(at + 16);
      assert.equal(this.view.read(bytes, view, at, length, CONTEXT), 0, toHex(bytes.slice(at, at + length)));
      this.#apply();
      at += length;
    }
    assert.equal(count, messages, 'the number of messages is told right');
    done();
  }

  #apply(): void {
    const { view } = this;
    for (const [at, length, announced] of [
      [view.withdrawnAt, view.withdrawnLength, false],
      [view.unreachAt, view.unreachLength, false],
      [view.nlriAt, view.nlriLength, true],
      [view.reachAt, view.reachLength, true],
    ] as const) {
      for (let i = at; i < at + length; ) {
        const size = 1 + Math.ceil((view.bytes[i] ?? 0) / 8);
        const prefix = toHex(view.bytes.slice(i, i + size));
        if (announced) {
          const hop =
            view.reachLength > 0
              ? toHex(view.bytes.slice(view.reachNextHopAt, view.reachNextHopAt + view.reachNextHopLength))
              : '';
          this.routes.set(prefix, toHex(view.block.bytes.slice(view.block.at, view.block.at + view.block.length)) + hop);
        } else {
          const had = this.routes.delete(prefix);
          assert(had || !this.strict, `peer ${this.index} is told to withdraw ${prefix}, which it does not have`);
        }
        i += size;
      }
    }
  }
}

const CONTEXT = plainContext({ families: [IPV4_UNICAST, IPV6_UNICAST] });

/** Path prepended with 64500, next hop ours (198.51.100.1 or its mapped form). */
function expected(family: number, handle: number): string {
  const path = `40010100 40020a02020000fbf40000${(65_000 + handle).toString(16)}`.replace(/ /g, '');
  return family === IPV4_UNICAST ? `${path}400304c6336401` : `${path}00000000000000000000ffffc6336401`;
}

class World {
  readonly table: Table;
  readonly exporter: ExportTable;
  readonly chunks = new ChunkPool();
  readonly group: Group;
  readonly up = new Map<number, Receiver>();
  readonly everUp: Receiver[] = [];
  readonly walked: number[] = [];
  steps: (() => boolean)[] = [];
  strict = true;

  constructor(family: number) {
    this.table = new Table(family);
    this.group = new Group(exportSide(peerSettings(2), CONTEXT, '198.51.100.1', false));
    this.exporter = new ExportTable(
      this.table,
      false,
      {
        chunks: this.chunks,
        watchesSent: false,
        sources: { external: () => true, reflectorClient: () => false, routerId: () => 0, withheld: () => undefined },
        slice: (step) => this.steps.push(step),
        flushLater: () => undefined,
        walked: (peer) => this.walked.push(peer.index),
      },
      () => undefined,
    );
  }

  join(index: number): void {
    if (this.up.has(index)) return;
    const receiver = new Receiver(index, this.strict);
    this.up.set(index, receiver);
    this.everUp.push(receiver);
    this.exporter.join(receiver as unknown as Peer, this.group, true);
  }

  leave(index: number): void {
    const receiver = this.up.get(index);
    if (receiver === undefined) return;
    this.up.delete(index);
    this.exporter.leave(receiver as unknown as Peer, this.group);
    for (let row = 0; row < ROWS; row++) this.set(row, index, 0);
  }

  set(row: number, source: number, handle: number): void {
    const candidates = this.table.candidates[row]!;
    if (handle === 0) candidates.delete(source);
    else candidates.set(source, handle);
    this.exporter.changed(Int32Array.of(row), 1);
  }

  slice(): void {
    const steps = this.steps;
    this.steps = [];
    for (const step of steps) if (step()) this.steps.push(step);
  }

  unblock(receiver: Receiver): void {
    receiver.blocked = false;
    this.exporter.drained(receiver as unknown as Peer, this.group);
  }

  settle(): void {
    for (const receiver of this.up.values()) this.unblock(receiver);
    for (let i = 0; i < 10; i++) {
      this.exporter.flush();
      this.slice();
    }
  }

  check(): void {
    for (const [index, receiver] of this.up) {
      const wanted = new Map<string, string>();
      for (let row = 0; row < ROWS; row++) {
        const handle = this.table.best(row);
        const announced = handle !== 0 && handle % 8 !== 7 && this.table.source(row) !== index;
        if (announced) wanted.set(toHex(prefixOf(this.table.family, row)), expected(this.table.family, handle));
        assert.equal(this.exporter.announced(index, row), announced, `announced(${index}, ${row})`);
      }
      assert.deepEqual([...receiver.routes].sort(), [...wanted].sort(), `peer ${index}`);
    }
    assert.equal(this.chunks.lent, 0, 'every chunk came back');
  }
}

const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('set' as const),
      row: fc.nat(ROWS - 1),
      who: fc.nat(3),
      variant: fc.integer({ min: 0, max: 7 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('unset' as const), row: fc.nat(ROWS - 1), who: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('table' as const), who: fc.nat(3), variant: fc.integer({ min: 0, max: 6 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('flush' as const, 'slice' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('block' as const, 'block' as const, 'unblock' as const, 'leave' as const, 'join' as const),
      who: fc.nat(3),
    }),
  },
);

for (const [name, family] of [
  ['ipv4/unicast', IPV4_UNICAST],
  ['ipv6/unicast', IPV6_UNICAST],
] as const) {
  test(`${name}: any order of changes, flushes, blocked receivers and sessions ends in the model's state, without a needless withdrawal`, () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 120, size: 'max' }), (operations) => {
        const world = new World(family);
        for (const who of [0, 1, 2]) world.join(who);
        for (const op of operations) {
          switch (op.do) {
            case 'set':
              if (world.up.has(op.who)) world.set(op.row, op.who, 1 + op.who * 8 + (op.variant === 0 ? 6 : op.variant - 1));
              break;
            case 'unset':
              world.set(op.row, op.who, 0);
              break;
            case 'table':
              if (world.up.has(op.who)) for (let row = 0; row < ROWS; row++) world.set(row, op.who, 1 + op.who * 8 + op.variant);
              break;
            case 'flush':
              world.exporter.flush();
              break;
            case 'slice':
              world.slice();
              break;
            case 'block': {
              const receiver = world.up.get(op.who);
              if (receiver !== undefined) receiver.blocked = true;
              break;
            }
            case 'unblock': {
              const receiver = world.up.get(op.who);
              if (receiver !== undefined) world.unblock(receiver);
              break;
            }
            case 'leave':
              world.leave(op.who);
              break;
            case 'join':
              world.join(op.who);
              break;
          }
        }
        world.settle();
        world.check();
        for (let row = 0; row < ROWS; row++) {
          const handle = world.table.best(row);
          const holders = handle === 0 || handle % 8 === 7 ? [] : [...world.up.keys()];
          const others = holders.filter((index) => index !== world.table.source(row));
          // Of a row that only its source may have, who is alone, either may be said.
          if (holders.length === 0 || others.length > 0)
            assert.equal(world.exporter.idle(row), holders.length === 0, `row ${row}`);
        }
      }),
      { numRuns: 30 },
    );
  });
}

test('a table that was full before the first peer came is withdrawn from it row by row', () => {
  const world = new World(IPV4_UNICAST);
  for (let row = 0; row < ROWS; row++) world.set(row, 3, 1);
  world.join(1);
  world.settle();
  world.check();
  for (let row = 0; row < ROWS; row += 2) world.set(row, 3, 0);
  world.settle();
  world.check();
});

test('a refresh sends the whole table again, and says when it is done', () => {
  const world = new World(IPV4_UNICAST);
  for (const who of [0, 1]) world.join(who);
  for (let row = 0; row < ROWS; row++) world.set(row, 0, 1);
  world.settle();
  world.walked.length = 0;
  const receiver = world.up.get(1)!;
  receiver.routes.clear();
  world.exporter.refresh(1);
  world.settle();
  assert.equal(receiver.routes.size, ROWS);
  assert.deepEqual(world.walked, [1]);
});

test('a route that no message can hold is withheld and counted, and the earlier one withdrawn', () => {
  const world = new World(IPV4_UNICAST);
  for (const who of [0, 1]) world.join(who);
  world.set(0, 0, 1);
  world.settle();
  const long = new Uint8Array(5000);
  long.set(hex('40010100 5002 13880000'.replace('1388', '1380')));
  Object.assign(world.table, { attributeBytes: long, attributesAt: () => 0, attributesLength: () => 5000 });
  long.set(hex('40010100'));
  long.set(hex('50021380'), 4);
  for (let at = 8; at + 1022 <= 5000; at += 1022) long.set([2, 255], at);
  world.set(0, 0, 2);
  world.settle();
  assert.equal(world.up.get(1)?.routes.size, 0);
  assert.equal(world.exporter.tally().withheld, 1);
});

test('nothing is left of an exporter whose peers are gone', () => {
  const world = new World(IPV4_UNICAST);
  for (const who of [0, 1]) world.join(who);
  for (let row = 0; row < ROWS; row++) world.set(row, 0, 1);
  world.settle();
  for (const who of [0, 1]) world.leave(who);
  world.settle();
  assert.deepEqual(world.exporter.tally(), { groups: 0, members: 0, detached: 0, waiting: 0, withheld: 0 });
  assert.equal(world.chunks.lent, 0);
});
