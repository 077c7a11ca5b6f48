// bgp-persist: what plugins and operators announced comes back with the next start of the daemon.
import { definePlugin } from '../../sdk/plugin/define.ts';
import { Keeper } from './keeper.ts';

export default definePlugin({
  name: 'bgp-persist',
  dependencies: ['bgp-rib'],
  failurePolicy: 'restart',
  setup(engine) {
    const keeper = new Keeper({
      log: engine.log,
      state: engine.state,
      announce: async (peer, command) => {
        await engine.updateRoute(peer, command);
      },
      ask: async (command) => {
        const { status, data, error } = await engine.dispatchCommand(command, engine.signal);
        if (status === 'error') throw new Error(error ?? `${command} was refused`);
        return data;
      },
      rows: async function* (command) {
        const answer = engine.dispatchCommandAnswer(command, engine.signal);
        yield* answer;
        // A part of the table must not pass for all of it.
        const { outcome, message } = await answer.verdict;
        if (outcome !== 'done') throw new Error(message === '' ? `${command}: ${outcome}` : message);
      },
    });
    engine.onAllPluginsReady(async () => {
      await keeper.restore();
      keeper.watch(engine.signal);
    });
    engine.onBye(() => keeper.save());
    engine.command('persist status', { 'short-help': 'Routes kept for the next start', shape: 'doc' }, () => keeper.status());
  },
});
