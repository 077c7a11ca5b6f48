/**
 * injector: announces groups of prefixes as long as a health check of each says so, withdraws them when it fails.
 *
 *     plugin { external injector { run "node --import tsx ./examples/injector/plugin.ts ./examples/injector/groups.json" } }
 *
 * A group is announced after its check has succeeded once, and withdrawn after two failures in a row. When a session comes up,
 * every healthy group is announced to that peer again.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { definePlugin, type Engine, type RouteAttributes, RouteSender, runExternal } from 'zest-bgp/sdk';

interface Group {
  readonly name: string;
  /** A shell command: exit code 0 means healthy. */
  readonly check: string;
  readonly intervalSeconds: number;
  readonly attributes: RouteAttributes;
  readonly prefixes: readonly string[];
}

const CHECK_TIMEOUT_MS = 5000;
const FAILURES_TO_WITHDRAW = 2;

class GroupState {
  readonly group: Group;
  announced = false;
  failures = 0;
  checks = 0;
  lastResult = 'never checked';

  constructor(group: Group) {
    this.group = group;
  }

  /** Puts every prefix of the group into `routes`. */
  fill(routes: RouteSender, announce: boolean): void {
    for (const prefix of this.group.prefixes) {
      const family = prefix.includes(':') ? 'ipv6/unicast' : 'ipv4/unicast';
      if (announce) routes.announce(family, prefix, this.group.attributes);
      else routes.withdraw(family, prefix);
    }
  }
}

/** Resolves to '' when the command exits with 0, else to what went wrong. */
function run(command: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', command], {
      stdio: 'ignore',
      signal,
      timeout: CHECK_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    child.on('error', (error) => resolve(error.message));
    child.on('exit', (code, killed) => resolve(code === 0 ? '' : killed === null ? `exit code ${code}` : `killed by ${killed}`));
  });
}

async function check(engine: Engine, state: GroupState): Promise<void> {
  const fault = await run(state.group.check, engine.signal);
  if (engine.signal.aborted) return;
  state.checks++;
  state.failures = fault === '' ? 0 : state.failures + 1;
  state.lastResult = fault === '' ? 'healthy' : fault;
  const wanted = fault === '' || (state.announced && state.failures < FAILURES_TO_WITHDRAW);
  if (wanted === state.announced) return;
  const routes = new RouteSender(engine);
  state.fill(routes, wanted);
  const sent = await routes.finish();
  if (sent.failed > 0) {
    engine.log.error({ group: state.group.name, fault: String(sent.faults[0]) }, 'routes were refused');
    return; // tried again at the next check
  }
  state.announced = wanted;
  engine.log.info(
    { group: state.group.name, announced: sent.announced, withdrawn: sent.withdrawn, why: state.lastResult },
    'group changed',
  );
}

/** Checks again and again until the plugin ends. */
async function watch(engine: Engine, state: GroupState): Promise<void> {
  while (!engine.signal.aborted) {
    await check(engine, state).catch((error: unknown) =>
      engine.log.error({ group: state.group.name, fault: String(error) }, 'check failed'),
    );
    await setTimeout(state.group.intervalSeconds * 1000, undefined, { signal: engine.signal }).catch(() => undefined);
  }
}

const file = process.argv[2] ?? 'groups.json';

const plugin = definePlugin({
  name: 'injector',
  failurePolicy: 'restart',
  setup(engine) {
    const states: GroupState[] = [];

    // What takes effect happens here and not in setup: a declaration query runs setup too.
    engine.onStarted(() => {
      const { groups } = JSON.parse(readFileSync(file, 'utf8')) as { readonly groups: readonly Group[] };
      for (const group of groups) {
        const state = new GroupState(group);
        states.push(state);
        void watch(engine, state);
      }
    });

    // A session that comes up has heard nothing yet.
    engine.onState((peer, up) => {
      if (!up) return;
      const routes = new RouteSender(engine, { selector: engine.peers.name(peer) });
      for (const state of states) if (state.announced) state.fill(routes, true);
      routes.finish().catch((error: unknown) => engine.log.error({ fault: String(error) }, 'announcing again failed'));
    });

    engine.command('injector status', { 'short-help': 'Groups, their health and what is announced', shape: 'map' }, function* () {
      for (const { group, announced, checks, failures, lastResult } of states) {
        yield { group: group.name, announced, prefixes: group.prefixes.length, checks, failures, result: lastResult };
      }
    });

    engine.command('injector check', { 'short-help': 'Run every health check now', shape: 'doc' }, async () => {
      await Promise.all(states.map((state) => check(engine, state)));
      return Object.fromEntries(states.map((state) => [state.group.name, state.lastResult]));
    });
  },
});

await runExternal(plugin);
