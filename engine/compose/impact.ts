// What a candidate would do to the running daemon, before anybody commits it: sessions, routes, plugins, and what waits for a restart.
import { isDeepStrictEqual } from 'node:util';
import type { PeerSettings } from '../bgp/port.ts';
import { changeOf } from '../bgp/session/settings-change.ts';
import type { ChangeClass } from '../config/schema/change-class.ts';
import { type ChangedLeaf, type ChangedStatement, type ConfigDiff, statementChanges } from '../config/diff.ts';
import type { RunningConfig } from '../config/running.ts';
import type { PluginOutcome } from '../config/transaction/outcomes.ts';
import type { RouteChanges } from './config-routes.ts';
import { restartLines } from './restart-needs.ts';
import type { CheckOutcome } from './transactions.ts';

export interface PeerImpact {
  readonly peer: string;
  readonly impact: 'added' | 'removed' | ChangeClass;
  /** Is there a session now that feels it? */
  readonly established: boolean;
  readonly leaves: readonly ChangedLeaf[];
}

export interface Impact {
  readonly changes: readonly ChangedStatement[];
  readonly peers: readonly PeerImpact[];
  readonly routes: readonly RouteChanges[];
  /** Those that were asked, and what they said. */
  readonly plugins: readonly PluginOutcome[];
  readonly pluginsStarted: readonly string[];
  readonly pluginsStopped: readonly string[];
  readonly pluginsReplaced: readonly string[];
  /** Statements that wait for the next start of the daemon. */
  readonly restart: readonly string[];
  /** Statements that an environment variable or an option takes the place of. */
  readonly overridden: ConfigDiff['overridden'];
  /** Why the commit would be refused; '' when nobody objects. */
  readonly refused: string;
}

export interface ImpactParts {
  readonly before: RunningConfig;
  readonly after: RunningConfig;
  readonly check: CheckOutcome;
  readonly routes: readonly RouteChanges[];
  /** Of the plugins that only the candidate names, or names otherwise. */
  readonly trial: readonly PluginOutcome[];
  /** Names of peers with a session. */
  readonly up: ReadonlySet<string>;
}

export function impactOf({ before, after, check, routes, trial, up }: ImpactParts): Impact {
  const { diff } = check;
  const plain = (impact: 'added' | 'removed') => (peer: string) => ({ peer, impact, established: up.has(peer), leaves: [] });
  const changed = diff.peers.changed.map(({ name, leaves }): PeerImpact => {
    const [old, now] = [before, after].map(({ reactor }) => reactor.peers.find((peer) => peer.name === name));
    const impact = old === undefined || now === undefined ? 'reset' : peerChange(old, now);
    return { peer: name, impact, established: up.has(name), leaves };
  });
  return {
    changes: statementChanges(before, after),
    peers: [...changed, ...diff.peers.added.map(plain('added')), ...diff.peers.removed.map(plain('removed'))],
    routes,
    plugins: [...check.plugins, ...trial],
    pluginsStarted: diff.plugins.added,
    pluginsStopped: diff.plugins.removed,
    pluginsReplaced: diff.plugins.changed,
    restart: diff.restart,
    overridden: diff.overridden,
    refused: check.ok ? refusalOf(trial) : check.error,
  };
}

function refusalOf(trial: readonly PluginOutcome[]): string {
  const one = trial.find(({ state }) => state === 'refused');
  return one === undefined ? '' : `plugin ${one.name}: ${one.error}`;
}

/** As the reactor will take it; other import filters have the peer asked for its routes again. */
export function peerChange(before: PeerSettings, after: PeerSettings): ChangeClass {
  const change = changeOf(before, after);
  if (change === 'reset' || change === 'refresh') return change;
  return isDeepStrictEqual(askedAgain(before), askedAgain(after)) ? 'live' : 'refresh';
}

/** What stands before a route on its way in. */
function askedAgain({ importFilters, loopDetection }: PeerSettings): unknown {
  return [importFilters, loopDetection];
}

/** Prefixes of one kind and peer that are named; the count says how many there are. */
const NAMED = 20;

/** A line each, the dearest first. */
export function impactLines(impact: Impact): readonly string[] {
  const { peers, routes, plugins } = impact;
  const of = (kind: PeerImpact['impact'], says: string): string[] =>
    peers
      .filter((peer) => peer.impact === kind)
      .map(({ peer, established, leaves }) => {
        const why = reasons(kind, leaves);
        return `peer ${peer}: ${says}${established ? '' : ' (not established now)'}${why}`;
      });
  const told = ({ peer, announced, changed, withdrawn }: RouteChanges): string[] => [
    ...routeLine(peer, 'announced', announced),
    ...routeLine(peer, 'changed', changed),
    ...routeLine(peer, 'withdrawn', withdrawn),
  ];
  const said = plugins.map(({ name, state, error }) =>
    state === 'not-asked' ? `plugin ${name}: ${error}` : `plugin ${name}: ${state}${error === '' ? '' : ` (${error})`}`,
  );
  return [
    ...(impact.refused === '' ? [] : [`refused: ${impact.refused}`]),
    ...of('removed', 'removed, its session ends'),
    ...of('reset', 'its session is reset'),
    ...of('refresh', 'its routes are sent or asked for again, the session stays'),
    ...of('added', 'added'),
    ...of('live', 'changed, the session stays'),
    ...routes.flatMap(told),
    ...impact.pluginsStarted.map((name) => `plugin ${name}: is started`),
    ...impact.pluginsReplaced.map((name) => `plugin ${name}: is started anew`),
    ...impact.pluginsStopped.map((name) => `plugin ${name}: is stopped`),
    ...said,
    ...restartLines(impact),
  ];
}

/** What costs a session is not hidden among what costs nothing. */
function reasons(kind: PeerImpact['impact'], leaves: readonly ChangedLeaf[]): string {
  const dear = leaves.filter(({ change }) => change === kind);
  const named = dear.length === 0 ? leaves : dear;
  return named.length === 0 ? '' : `: ${named.map(({ path }) => path).join(', ')}`;
}

function routeLine(peer: string, what: string, routes: readonly string[]): string[] {
  if (routes.length === 0) return [];
  const named = routes.slice(0, NAMED).join(' ');
  const more = routes.length > NAMED ? ` and ${routes.length - NAMED} more` : '';
  return [`routes to ${peer}: ${routes.length} ${what}: ${named}${more}`];
}

/** The fields of an answer. */
export function impactFields(impact: Impact): Readonly<Record<string, unknown>> {
  return {
    changes: impact.changes.map(({ path, change, before, after }) => ({
      path,
      class: change,
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
    })),
    peers: impact.peers.map(({ peer, impact: kind, established, leaves }) => ({
      peer,
      impact: kind,
      established,
      leaves: leaves.map(({ path, change }) => ({ path, class: change })),
    })),
    routes: impact.routes.map(({ peer, announced, changed, withdrawn }) => ({
      peer,
      'announced-count': announced.length,
      'changed-count': changed.length,
      'withdrawn-count': withdrawn.length,
      announced: announced.slice(0, NAMED),
      changed: changed.slice(0, NAMED),
      withdrawn: withdrawn.slice(0, NAMED),
    })),
    plugins: impact.plugins.map(({ name, state, code, error }) => ({ name, state, code, ...(error === '' ? {} : { error }) })),
    'plugins-started': impact.pluginsStarted,
    'plugins-replaced': impact.pluginsReplaced,
    'plugins-stopped': impact.pluginsStopped,
    restart: impact.restart,
    ...(impact.overridden.length === 0 ? {} : { overridden: impact.overridden }),
    ...(impact.refused === '' ? {} : { refused: impact.refused }),
    impact: impactLines(impact),
  };
}
