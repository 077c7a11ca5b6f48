// What completion offers where a leaf names something that stands elsewhere in the candidate, and that nothing is offered without a word.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CandidateSession } from '../../../../engine/config/edit/session.ts';
import { configSchema, loadConfig } from '../../../../engine/config/load.ts';
import { FileTarget } from '../../../../engine/config/revisions/file-target.ts';
import { systemClock } from '../../../../engine/core/clock.ts';
import { extension, isParent, type ParentNode } from '../../../../yang/compile/schema.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'zest-references-'));
});
after(() => {
  rmSync(folder, { recursive: true, force: true });
});

const TEXT = `bgp {
    policy {
        prefix-list OURS { entry 10.0.0.0/8; }
        modify OURS { set { med 5; } }
        inactive: modify OFF { set { med 6; } }
    }
    community { standard CUST { value 64500:100; } large BIG { value 64500:1:2; } }
}
`;

async function offered(line: string): Promise<readonly string[]> {
  const path = join(folder, 'edge.conf');
  writeFileSync(path, TEXT);
  const target = new FileTarget({ path, read: (text) => Promise.resolve(loadConfig(text, { path })), clock: systemClock });
  const session = await CandidateSession.open({ target, author: 'ann', prepare: () => Promise.resolve({ path }) });
  return session.complete(line).candidates.map(({ word }) => word);
}

const OFFERS: readonly (readonly [string, readonly string[]])[] = [
  ['set bgp peer a filter import ', ['prefix-list:OURS', 'modify:OURS']],
  ['set bgp group g filter export mod', ['modify:OURS']],
  ['set bgp peer a filter import [ modify:OURS ', ['prefix-list:OURS']],
  ['set bgp peer a filter ingress community tag ', ['CUST', 'BIG']],
  ['set bgp filter egress community strip B', ['BIG']],
];

for (const [line, words] of OFFERS) test(`after "${line}"`, async () => assert.deepEqual(await offered(line), words));

test('every field below bgp says what it is', () => {
  const silent: string[] = [];
  const walk = (node: ParentNode, path: string): void => {
    for (const child of node.children) {
      const here = `${path}/${child.name}`;
      const told = child.description !== undefined || extension(child, 'hidden') !== undefined;
      if (!told && !(node.kind === 'list' && node.keys.includes(child.name))) silent.push(here);
      if (isParent(child) && extension(child, 'not-built') === undefined) walk(child, here);
    }
  };
  const bgp = configSchema().root.children.find((child) => child.name === 'bgp');
  assert.ok(bgp !== undefined && isParent(bgp));
  walk(bgp, 'bgp');
  assert.deepEqual(silent, []);
});
