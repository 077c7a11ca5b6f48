// The shared ring: records come out as they went in, a full ring says so, and each side is told once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RingReader, RingWriter, ringMemory } from '../../../engine/core/ring.ts';

function write(ring: RingWriter, bytes: Uint8Array): boolean {
  const at = ring.reserve(bytes.length);
  if (at < 0) return false;
  ring.bytes.set(bytes, at);
  ring.publish();
  return true;
}

function read(ring: RingReader): Uint8Array | undefined {
  if (!ring.next()) return undefined;
  const bytes = ring.bytes.slice(ring.at, ring.at + ring.length);
  ring.release();
  return bytes;
}

test('any interleaving of writes and reads keeps every record, in order', () => {
  const operation = fc.oneof(fc.record({ size: fc.integer({ min: 0, max: 20_000 }) }), fc.constant('read' as const));
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 400, size: 'max' }), (operations) => {
      const memory = ringMemory(65_536);
      const writer = new RingWriter(memory);
      const reader = new RingReader(memory);
      const model: Uint8Array[] = [];
      let fill = 0;
      for (const step of operations) {
        if (step === 'read') assert.deepEqual(read(reader), model.shift());
        else {
          const bytes = new Uint8Array(step.size).fill(fill++ & 0xff);
          if (write(writer, bytes)) model.push(bytes);
          else assert(writer.usedBytes + step.size * 2 + 16 > 65_536 || model.length > 0);
        }
      }
      while (model.length > 0) assert.deepEqual(read(reader), model.shift());
      assert.equal(reader.next(), false);
      assert.equal(writer.usedBytes, 0);
    }),
    { numRuns: 50 },
  );
});

test('a record of the largest size fits an empty ring wherever its head stands, one byte more never does', () => {
  const memory = ringMemory(65_536);
  const writer = new RingWriter(memory);
  const reader = new RingReader(memory);
  for (let i = 0; i < 50; i++) {
    assert(write(writer, new Uint8Array(i * 40)));
    read(reader);
    assert(write(writer, new Uint8Array(writer.largest)), `round ${i}`);
    read(reader);
  }
  assert.equal(writer.reserve(writer.largest + 1), -1);
});

test('a ring that is empty past an eighth of its memory begins again at the start', () => {
  const memory = ringMemory(65_536);
  const writer = new RingWriter(memory);
  const reader = new RingReader(memory);
  const seen = new Set<number>();
  for (let i = 0; i < 200; i++) {
    assert.ok(write(writer, new Uint8Array(1000).fill(i)));
    assert.deepEqual(read(reader), new Uint8Array(1000).fill(i));
    seen.add(reader.at);
  }
  assert.ok(Math.max(...seen) < 65_536 / 8 + 1008, String(Math.max(...seen)));
});

test('the reader is woken once until it begins to drain', () => {
  const memory = ringMemory(65_536);
  const writer = new RingWriter(memory);
  const reader = new RingReader(memory);
  const publish = (): boolean => {
    writer.reserve(8);
    return writer.publish();
  };
  assert.deepEqual([publish(), publish()], [true, false]);
  reader.awake();
  assert.equal(publish(), true);
});

test('a writer that wants room is told by the first release', () => {
  const memory = ringMemory(65_536);
  const writer = new RingWriter(memory);
  const reader = new RingReader(memory);
  for (let i = 0; i < 3; i++) write(writer, new Uint8Array(100));
  reader.next();
  assert.equal(reader.release(), false);
  writer.wantRoom();
  reader.next();
  assert.equal(reader.release(), true);
  reader.next();
  assert.equal(reader.release(), false);
});
