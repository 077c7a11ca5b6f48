// Printing keeps what was written: comments, empty lines, inactive marks, order; secrets can be masked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Findings } from '../../../engine/config/fault.ts';
import { configSchema } from '../../../engine/config/load.ts';
import { parseConfig } from '../../../engine/config/text/parser.ts';
import { printConfig } from '../../../engine/config/text/print.ts';
import { shapeOf } from '../../../engine/config/text/syntax-tree.ts';
import { makeValidators } from '../../../engine/config/rules/validators.ts';

const read = (text: string): ReturnType<typeof parseConfig> =>
  parseConfig(text, 't', configSchema().root, makeValidators(), new Findings());

const CANONICAL = `# Edge router of the lab
# second line
bgp {
    # who we are
    router-id 10.0.0.1; # loopback

    session {
        asn {
            local 65000;
        }
        family {
            ipv4/unicast {
                prefix {
                    maximum 1000;
                }
            }
            ipv6/unicast require;
        }
        capability {
            route-refresh;
        }
    }
    inactive: peer old {
        description "gone \\"since\\" March";
        # nothing else
    } # keep

    peer edge {
        filter {
            import [ a inactive:b c ];
        }
        update {
            attribute {
                community [ 65000:1 no-export ];
            }
            nlri {
                # two prefixes
                ipv4/unicast add 10.0.0.0/8 11.0.0.0/8;
                ipv4/unicast eor; # and the marker
            }
        }
    }
    # end of bgp
}
# end of file
`;

test('a canonical text prints as it was', () => {
  assert.equal(printConfig(read(CANONICAL)), CANONICAL);
});

test('comments inside a statement move before it, none is lost', () => {
  const text = 'bgp { # one\n session # two\n { # three\n community send [ # four\n all # five\n large ] # six\n } # seven\n}\n';
  const printed = printConfig(read(text));
  for (const word of ['one', 'two', 'three', 'four', 'five', 'six', 'seven']) assert.ok(printed.includes(`# ${word}`), printed);
  assert.deepEqual(shapeOf(read(printed)), shapeOf(read(text)));
});

test('secrets are masked when asked', () => {
  const tree = read('plugin { hub { server a { secret very-secret; } } }');
  assert.match(printConfig(tree), /secret \$9\$\S+;/);
  assert.ok(printConfig(tree, { secrets: true }).includes('very-secret'));
  assert.ok(!printConfig(tree, { secrets: false }).includes('very-secret'));
});

test('values that would read as something else are quoted', () => {
  for (const value of ['', 'a b', 'a;b', '# x', '{', '(x', "it's", 'say "x"', 'inactive:x', 'a\\b', 'a\nb\tc', '\u00e9']) {
    const tree = read(`bgp { description "${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"; }`);
    assert.deepEqual(shapeOf(read(printConfig(tree))), shapeOf(tree), value);
  }
});
