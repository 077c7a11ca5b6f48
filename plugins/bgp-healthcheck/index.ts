// bgp-healthcheck: probes that move pools of routes, `bgp { healthcheck { probe NAME { … } } }`.
import { isDeepStrictEqual } from 'node:util';
import { definePlugin } from '../../sdk/plugin/define.ts';
import { records } from '../../sdk/rpc/records.ts';
import { Probe, type ProbeHost } from './probe.ts';
import { type ProbeSettings, probesOf } from './settings.ts';

const ROOT = 'bgp/healthcheck';
const COLUMNS = ['probe', 'group', 'state', 'count', 'last-result', 'last-check', 'said', 'error'];

export default definePlugin({
  name: 'bgp-healthcheck',
  autoload: ['bgp'],
  roots: [ROOT],
  dependencies: ['bgp-watchdog'],
  failurePolicy: 'restart',
  setup(engine) {
    const host: ProbeHost = {
      log: engine.log,
      dispatch: async (command) => {
        const { status, error } = await engine.dispatchCommand(command, engine.signal);
        if (status === 'error') throw new Error(error ?? `${command} was refused`);
      },
    };
    const probes = new Map<string, Probe>();
    let wanted: ReadonlyMap<string, ProbeSettings> = new Map();
    let before = wanted;
    let candidate = wanted;
    const read = (sections: readonly { readonly data: string }[]): ReadonlyMap<string, ProbeSettings> =>
      sections[0] === undefined ? new Map<string, ProbeSettings>() : probesOf(JSON.parse(sections[0].data));
    /** Probes that stay as they are keep what they know. */
    const follow = async (): Promise<void> => {
      for (const [name, probe] of probes) {
        const now = wanted.get(name);
        if (isDeepStrictEqual(now, probe.settings)) continue;
        probes.delete(name);
        await probe.stop(now?.group !== probe.settings.group);
      }
      for (const [name, settings] of wanted) {
        if (probes.has(name)) continue;
        const probe = new Probe(settings, host);
        probes.set(name, probe);
        probe.start();
      }
    };
    engine.onConfigure(({ sections }) => {
      wanted = read(sections);
    });
    engine.onConfigVerify(({ sections }) => {
      candidate = read(sections);
      return undefined;
    });
    engine.onConfigApply(() => {
      before = wanted;
      wanted = candidate;
      return undefined;
    });
    engine.onConfigRollback(() => {
      wanted = before;
    });
    engine.onConfigCommitted(follow);
    engine.onAllPluginsReady(follow);
    engine.signal.addEventListener('abort', () => {
      for (const probe of probes.values()) void probe.stop(false);
    });
    const named = (name: string | undefined): Probe => {
      const probe = name === undefined ? undefined : probes.get(name);
      if (probe !== undefined) return probe;
      const known = [...probes.keys()].join(', ');
      throw new Error(
        name === undefined ? 'which probe?' : `no probe ${JSON.stringify(name)}${known === '' ? '' : ` (there are ${known})`}`,
      );
    };
    engine.command(
      'healthcheck show',
      { 'short-help': 'Probes: state, last result, what their pools were told', args: ['probe'], shape: 'map', columns: COLUMNS },
      ({ args = [] }) => {
        const shown = args[0] === undefined ? [...probes.values()] : [named(args[0])];
        return records(
          shown.map((probe) => probe.row()),
          { envelope: 'probes' },
        );
      },
    );
    engine.command('healthcheck reset', { 'short-help': 'Let a probe begin anew', args: ['probe'] }, ({ args = [] }) => {
      const probe = named(args[0]);
      probe.reset();
      return { probe: probe.settings.name, state: 'init' };
    });
    for (const verb of ['show', 'reset'])
      engine.completion(`healthcheck ${verb}`, (words) => (words.length <= 1 ? [...probes.keys()] : []));
  },
});
