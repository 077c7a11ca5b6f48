// Right configurations with bytes taken out, doubled and put in: what is said of them always points into the text, in both formats.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Findings } from '../../engine/config/fault.ts';
import { configSchema, loadConfig } from '../../engine/config/load.ts';
import { readSyntax, writeSyntax } from '../../engine/config/set-format/index.ts';
import { makeValidators } from '../../engine/config/rules/validators.ts';

const BLOCKS = `plugin { external inject { run "true"; encoder json; } external rib { use bgp-rib; } }
bgp {
  router-id 10.0.0.1
  session { asn { local 65000; } }
  policy {
    prefix-list A { entry 0.0.0.0/0 { ge 8; le 24; } }
    as-path-list P { entry "(^| )64510( |$)" { action reject; } }
    modify M { set { local-preference 180; as-path-prepend 3; } }
  }
  community { standard tag { value [ 64500:1 no-export ]; } }
  group g {
    connection { local { ip 10.0.0.1; } }
    session { family { ipv4/unicast { prefix { maximum 1000; warning 900; } } ipv4/flow { prefix { maximum 10; } } } }
    filter { import [ A P inactive:M ]; egress { community { tag [ tag ]; } } }
    update {
      attribute { origin igp; next-hop self; community [ 64500:10 no-export ]; extended-community [ mark 10 target:1:1 ]; }
      nlri { ipv4/unicast add 198.51.100.0/24 203.0.113.0/24; ipv4/flow add destination 10.0.0.0/8 port [ =80 >1024&<2048 ]; }
    }
    peer edge {
      connection { remote { ip 10.0.0.2; } }
      session { asn { remote 65001; } capability { route-refresh; } }
      process inject { receive [ update state ]; send [ update ]; }
    }
    inactive: peer off { connection { remote { ip 10.0.0.3; } } }
  }
}
environment { log { level INFO; bgp.session debug; } bgp { openwait 60; } }
`;

function asSet(text: string): string {
  const findings = new Findings();
  const tree = readSyntax(text, 't', configSchema().root, makeValidators(), findings);
  assert.deepEqual(findings.faults, []);
  return writeSyntax(tree, 'set');
}

const texts = [BLOCKS, asSet(BLOCKS)];
const splinters = fc.oneof(
  fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ';',
    '"',
    "'",
    '#',
    '\\',
    '\n',
    '\r',
    '\0',
    '\ufeff',
    '(',
    ')',
    ':',
    '/',
    '99999999999',
    'inactive:',
    'set ',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const edit = fc.record({
  kind: fc.constantFrom('delete', 'double', 'insert', 'swap'),
  at: fc.nat(),
  length: fc.integer({ min: 1, max: 40 }),
  text: splinters,
});

function edited(text: string, edits: readonly { kind: string; at: number; length: number; text: string }[]): string {
  let now = text;
  for (const { kind, at: where, length, text: piece } of edits) {
    const at = where % (now.length + 1);
    const cut = now.slice(at, at + length);
    if (kind === 'delete') now = now.slice(0, at) + now.slice(at + length);
    else if (kind === 'double') now = now.slice(0, at) + cut + cut + now.slice(at + length);
    else if (kind === 'swap') now = now.slice(0, at) + Array.from(cut).reverse().join('') + now.slice(at + length);
    else now = now.slice(0, at) + piece + now.slice(at);
  }
  return now;
}

test('both texts are right', () => {
  for (const text of texts) assert.equal(loadConfig(text, { path: 't' }).ok, true);
});

test('whatever is done to a right text, every fault and warning points into it', () => {
  fc.assert(
    fc.property(fc.constantFrom(...texts), fc.array(edit, { minLength: 1, maxLength: 6 }), (text, edits) => {
      const broken = edited(text, edits);
      const lines = broken.split('\n');
      const result = loadConfig(broken, { path: 't' });
      const inside = ({ line, column, message }: { line: number; column: number; message: string }): void => {
        assert.ok(line >= 1 && line <= lines.length, `line ${line} of ${lines.length}: ${message}`);
        assert.ok(column >= 1 && column <= lines[line - 1]!.length + 1, `column ${column} of line ${line}: ${message}`);
      };
      if (!result.ok) for (const fault of result.faults) inside(fault);
      for (const warning of result.warnings) if (warning.line !== 0) inside(warning);
    }),
    { numRuns: 600 },
  );
});
