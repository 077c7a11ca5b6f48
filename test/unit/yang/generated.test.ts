// What is committed below yang/generated is what the modules say, and every method of the protocol is there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generatedFiles } from '../../../yang/compile/outputs.ts';
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
