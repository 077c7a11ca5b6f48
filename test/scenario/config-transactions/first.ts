// Runs inside the daemon: wants `bgp`, writes what it is asked to first.log and what happens in namespace `config` to events.log.
import { appendFileSync } from 'node:fs';
import { definePlugin } from 'zest-bgp/sdk';

const log = (text: string): void => appendFileSync('first.log', `${text}\n`);

export default definePlugin({
  name: 'first',
  roots: ['bgp'],
  setup(engine) {
    const { plugin } = engine;
    plugin.setStartupSubscriptionsIn('config', ['*']);
    plugin.setEnvelope(true);
    plugin.onEvent((text) => appendFileSync('events.log', `${text}\n`));
    engine.onConfigVerify(() => {
      log('config-verify');
      return undefined;
    });
    engine.onConfigApply(({ sections }) => {
      log(`config-apply ${sections[0]?.changed ?? ''}`);
      return undefined;
    });
    engine.onConfigRollback(() => log('config-rollback'));
    engine.onConfigCommitted(() => log('config-committed'));
  },
});
