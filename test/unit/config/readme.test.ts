// The configurations that the first page shows hold.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../../engine/config/load.ts';

const text = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8');
const FRAME = 'bgp {\n router-id 192.0.2.1\n session { asn { local 64500; } }\n';

/** Blocks between fences that begin with a statement of the language. */
function shown(): readonly string[] {
  const blocks: string[] = [];
  const parts = text.split(/^```.*$/m);
  for (let at = 1; at < parts.length; at += 2)
    if (/^\s*(?:environment|plugin|bgp) \{/.test(parts[at]!)) blocks.push(parts[at]!.trim());
  return blocks;
}

test('every configuration of the first page is valid', () => {
  const blocks = shown();
  assert.ok(blocks.length >= 3, String(blocks.length));
  for (const block of blocks) {
    const whole = /router-id/.test(block)
      ? block
      : block.startsWith('bgp {')
        ? block.replace('bgp {\n', FRAME)
        : `${block}\n${FRAME}}`;
    const result = loadConfig(whole, { path: 'README.md' });
    assert.deepEqual(result.ok ? [] : result.faults.map((fault) => fault.message), [], block);
  }
});
