// Whole configurations: each is right and warns of nothing but what is named; it means the same in the usual form and as set lines;
// with one mistake made in it, the report names the mistake, its place and what would be right.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toJson } from '../../../../engine/config/tree/effective.ts';
import { Findings } from '../../../../engine/config/fault.ts';
import { configSchema, loadConfig } from '../../../../engine/config/load.ts';
import { readSyntax, type WrittenFormat, writeSyntax } from '../../../../engine/config/set-format/index.ts';
import { faultText } from '../../../../engine/config/validate-report.ts';
import { makeValidators } from '../../../../engine/config/rules/validators.ts';
import { EXAMPLES, MISTAKES } from '../../../support/config-corpus.ts';
import { shipped } from '../../../support/config-language.ts';

const options = { ...(await shipped()), path: 't.conf', env: { ZONE: 'example.net' } };

function written(text: string, format: WrittenFormat): string {
  const findings = new Findings();
  const tree = readSyntax(text, 't.conf', configSchema().root, makeValidators(), findings);
  assert.deepEqual(findings.faults, []);
  return writeSyntax(tree, format);
}

for (const { name, text, peers, warnings = [] } of EXAMPLES) {
  test(name, () => {
    const result = loadConfig(text, options);
    assert.ok(result.ok, result.ok ? '' : result.faults.map(faultText).join('\n'));
    assert.equal(result.config.reactor.peers.length, peers);
    const said = result.warnings
      .map((warning) => warning.message)
      .filter((message) => !/^no (router-id|global local AS)/.test(message));
    assert.equal(said.length, warnings.length, said.join('\n'));
    for (const fragment of warnings)
      assert.ok(
        said.some((message) => message.includes(fragment)),
        `${fragment}\nnot in\n${said.join('\n')}`,
      );
    const means = toJson(result.config.tree);
    for (const format of ['hierarchical', 'set'] as const) {
      const other = written(text, format);
      const again = loadConfig(other, options);
      assert.ok(again.ok, other);
      assert.deepEqual(toJson(again.config.tree), means, other);
      assert.equal(written(other, format), other);
    }
  });
}

for (const { name, of, replace, by, at, says } of MISTAKES) {
  test(`a mistake: ${name}`, () => {
    const right = EXAMPLES.find((one) => one.name === of)?.text ?? '';
    assert.ok(right.includes(replace), 'the text to spoil is there');
    const text = right.replace(replace, () => by);
    const result = loadConfig(text, options);
    const first = result.ok ? undefined : result.faults[0];
    assert.ok(first !== undefined, 'the mistake is found');
    assert.ok(faultText(first).includes(says), faultText(first));
    const from = text.indexOf(at, right.indexOf(replace));
    const before = text.slice(0, from).split('\n');
    if (at !== '')
      assert.deepEqual([first.line, first.column], [before.length, (before.at(-1)?.length ?? 0) + 1], faultText(first));
  });
}
