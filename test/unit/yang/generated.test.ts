// What is committed below yang/generated is what the modules say, and every method of the protocol is there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generatedFiles } from '../../../yang/compile/outputs.ts';
import { makeValidators } from '../../../engine/config/rules/validators.ts';
import { linkSchema } from '../../../yang/compile/link.ts';
import { extension, isParent, type SchemaNode, type TypeSpec } from '../../../yang/compile/schema.ts';
import { SCHEMA_ROWS } from '../../../yang/generated/config.ts';
import { INPUT_SHAPES, OUTPUT_SHAPES } from '../../../yang/generated/shapes.ts';
import { CALLBACK_METHODS, ENGINE_METHODS, RECORD_METHODS } from '../../../yang/generated/methods.ts';

const folder = join(import.meta.dirname, '../../../yang/generated');

for (const [name, text] of Object.entries(generatedFiles())) {
  test(`yang/generated/${name} is fresh (npm run generate)`, () => {
    assert.equal(readFileSync(join(folder, name), 'utf8'), text);
  });
}

const ENGINE =
  'declare-registration declare-capabilities ready update-route forward-cached release-cached relay-stored-route route-install ' +
  'route-remove inject-wire-route batch-validate dispatch-command dispatch-command-args emit-event subscribe-events ' +
  'unsubscribe-events decode-nlri encode-nlri decode-mp-reach decode-mp-unreach decode-update resolve-dns state-get state-put ' +
  'state-remove state-list state-increment';
const CALLBACK =
  'configure share-registry deliver-event deliver-batch execute-command encode-nlri decode-nlri decode-capability config-verify ' +
  'config-apply config-rollback config-committed config-operation-decompose config-operation-verify config-operation-apply ' +
  'config-operation-rollback config-operation-commit validate-open filter-update doctor-check enrich-show post-startup bye';

test('every method of the protocol has an rpc statement', () => {
  assert.deepEqual(
    [...ENGINE_METHODS].sort(),
    ENGINE.split(' ')
      .map((name) => `ze-plugin-engine:${name}`)
      .sort(),
  );
  assert.deepEqual(
    [...CALLBACK_METHODS].sort(),
    CALLBACK.split(' ')
      .map((name) => `ze-plugin-callback:${name}`)
      .sort(),
  );
  assert.deepEqual([...RECORD_METHODS].sort(), [
    'ze-plugin-callback:execute-command',
    'ze-plugin-engine:dispatch-command',
    'ze-plugin-engine:dispatch-command-args',
  ]);
});

test('shapes name every method and keep the wire names', () => {
  const methods = [...ENGINE_METHODS, ...CALLBACK_METHODS].sort();
  assert.deepEqual(Object.keys(INPUT_SHAPES).sort(), methods);
  assert.deepEqual(Object.keys(OUTPUT_SHAPES).sort(), methods);
  assert.deepEqual(INPUT_SHAPES['ze-plugin-engine:batch-validate'], {
    decisions: [{ Accept: 'flag', PeerAddr: 'text', Family: 'text', Prefix: 'text', PathID: 'number', ValState: 'number' }],
  });
  assert.deepEqual(INPUT_SHAPES['ze-plugin-engine:ready'].transport, 'text?');
});

test('every validator the configuration names exists', () => {
  const wanted = new Set<string>();
  const ofType = (type: TypeSpec): void => {
    for (const name of type.validate?.split('|') ?? []) wanted.add(name);
    if (type.base === 'union') type.members.forEach(ofType);
  };
  const walk = (node: SchemaNode): void => {
    const own = extension(node, 'validate');
    if (typeof own === 'string') for (const name of own.split('|')) wanted.add(name);
    if ('type' in node) ofType(node.type);
    if (isParent(node)) node.children.forEach(walk);
  };
  walk(linkSchema(SCHEMA_ROWS));
  assert.deepEqual(
    [...wanted].filter((name) => !makeValidators().has(name)),
    [],
  );
  assert.ok(wanted.size > 10);
});
