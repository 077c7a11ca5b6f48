// A process of its own over TLS: takes its change of `bgp` apart into one operation, which is ready when an event says so.
import { appendFileSync } from 'node:fs';
import { definePlugin, journal, runExternal } from 'zest-bgp/sdk';

const log = (text: string): void => appendFileSync('second.log', `${text}\n`);

await runExternal(
  definePlugin({
    name: 'second',
    roots: ['bgp'],
    declaration: { 'config-operations': [{ root: 'bgp', decompose: true, operations: ['note'] }] },
    setup({ plugin }) {
      const changes = journal();
      plugin.onConfigOperationDecompose(({ root, candidate }) => {
        log('decompose');
        const target = { kind: 'sysctl', name: 'note' } as const;
        const params = { config: JSON.parse(candidate.data) as unknown };
        return { status: 'ok', operations: [{ id: 'note-1', root, owner: '', type: 'note', verb: 'create', target, params }] };
      });
      plugin.onConfigOperationVerify(({ operation }) => {
        log(`operation-verify ${operation.id}`);
        return undefined;
      });
      plugin.onConfigOperationApply(async ({ operation }) => {
        await changes.record(
          () => log(`operation-apply ${operation.id}`),
          () => log('undone'),
        );
        setTimeout(() => {
          log('ready');
          void plugin.emitEvent({ namespace: 'system', 'event-type': 'clock-synced', event: '{"resource":"note"}' });
        }, 50);
        return { status: 'ok', readiness: [{ namespace: 'system', 'event-type': 'clock-synced', resource: 'note' }] };
      });
      plugin.onConfigOperationRollback(async ({ operations = [] }) => {
        log(`operation-rollback ${operations.map(({ id }) => id).join(' ')}`);
        await changes.rollback();
        return undefined;
      });
      plugin.onConfigOperationCommit(() => {
        log('operation-commit');
        changes.discard();
        return undefined;
      });
      plugin.onConfigCommitted(() => log('config-committed'));
    },
  }),
);
