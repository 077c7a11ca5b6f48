// bgp-rib: the tables of the daemon (RFC 4271 §3.2) and the commands that show and change them.
import { randomInt } from 'node:crypto';
import { definePlugin } from '../../sdk/plugin/define.ts';
import type { Engine } from '../../sdk/plugin/engine.ts';
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { CommandDecl } from '../../yang/generated/methods.ts';
import * as commands from './commands.ts';
import { Rib } from './rib.ts';

const FILTERS = 'Filters: family F, prefix TEXT (how the prefix begins), path N | N,N | ^N, community C, match TEXT.';
const ADDRESSES = ['peer', 'prefix', 'next-hop', 'best-peer', 'winner-peer'];

const REHEARSAL_ROWS = 65_536;

type Help = Omit<CommandDecl, 'name' | 'deprecated-names'>;

export default definePlugin({
  name: 'bgp-rib',
  placement: 'reactor',
  autoload: ['bgp'],
  failurePolicy: 'fatal',
  setup(engine) {
    const rib = engine.routes === undefined ? undefined : new Rib(engine.routes, randomInt(2 ** 31));
    rib?.attach();
    declare(engine, rib);
  },
});

/** The real tables on a rehearsal's route path, kept small: the compiler knows them before the first session (engine/thread.ts). */
export function rehearse(routes: RoutePath): void {
  new Rib(routes, 1, REHEARSAL_ROWS).attach();
}

function declare(engine: Engine, rib: Rib | undefined): void {
  const add = (name: string, older: readonly string[], help: Help, handler: commands.Handler): void => {
    engine.command(name, { 'deprecated-names': older, ...help }, (input, signal) => {
      if (rib === undefined) throw new RpcError('error', 'bgp-rib runs in the reactor alone');
      return handler(rib, { args: input.args ?? [], peer: input.peer ?? '*' }, signal);
    });
  };
  add('rib status', ['bgp rib status'], { 'short-help': 'Counts of the RIB', shape: 'doc' }, commands.status);
  add(
    'rib routes',
    ['bgp rib show', 'bgp rib routes'],
    {
      'short-help': 'Routes received and sent',
      description: `rib routes [received|sent|sent-received] [FILTER…] [count|json|prefix-summary]\n${FILTERS}\nWhat was sent is shown with the attributes the route has in the RIB.`,
      args: ['scope', 'filter', 'terminal'],
      shape: 'map',
      columns: ['direction', 'peer', 'family', 'prefix', 'next-hop', 'origin', 'as-path', 'med', 'local-preference', 'community'],
      'address-fields': ADDRESSES,
    },
    commands.routes,
  );
  add(
    'rib best',
    ['bgp rib show best', 'bgp rib best'],
    {
      'short-help': 'Best route of each prefix',
      description: `rib best [FILTER…] [reason|status|count|json|prefix-summary]\n${FILTERS}\nreason: the comparisons that decided, by RFC 4271 §9.1.2.2.`,
      args: ['filter', 'terminal'],
      shape: 'map',
      columns: ['family', 'prefix', 'best-peer', 'multipath-peers', 'attributes'],
      'address-fields': ADDRESSES,
    },
    commands.best,
  );
  add(
    'rib best status',
    ['bgp rib show best status', 'bgp rib best status'],
    { 'short-help': 'Progress of the best path computation', shape: 'doc' },
    commands.bestStatus,
  );
  add(
    'rib lookup',
    ['bgp rib lookup'],
    {
      'short-help': 'Longest match for an address, its candidates and why the best is the best',
      args: ['address'],
      shape: 'doc',
    },
    commands.lookup,
  );
  add(
    'rib clear in',
    ['bgp rib clear in'],
    { 'short-help': 'Drop received routes and ask for them again', args: ['peer'], shape: 'doc' },
    commands.clearIn,
  );
  add(
    'rib clear out',
    ['bgp rib clear out'],
    { 'short-help': 'Send everything again', args: ['peer'], shape: 'doc' },
    commands.clearOut,
  );
  add(
    'rib inject',
    ['bgp rib inject'],
    {
      'short-help': 'Put a route in, as if the peer had announced it',
      description: 'rib inject PEER FAMILY PREFIX [origin O] [nhop IP] [aspath A,B] [localpref N] [med N]',
      args: ['peer', 'family', 'prefix', 'attributes'],
      shape: 'doc',
    },
    commands.inject,
  );
  add(
    'rib withdraw',
    ['bgp rib withdraw'],
    { 'short-help': 'Take a route of a peer away', args: ['peer', 'family', 'prefix'], shape: 'doc' },
    commands.withdraw,
  );
  declareRestart(add);
  const entries: Help = { hidden: true, shape: 'doc', args: ['owner', 'entries'] };
  add('rib install', [], entries, commands.install);
  add('rib remove', [], entries, commands.remove);
  add('rib originations', [], { hidden: true, shape: 'map', args: ['peer'] }, commands.originations);
  add('rib validate', [], { ...entries, args: ['owner', 'decisions'] }, commands.validate);
}

/** For the plugin that runs graceful restart. */
function declareRestart(add: (name: string, older: readonly string[], help: Help, handler: commands.Handler) => void): void {
  const hidden: Help = { hidden: true, shape: 'doc', args: ['peer'] };
  add('rib retain-routes', ['bgp rib retain-routes'], hidden, commands.retain(true));
  add('rib release-routes', ['bgp rib release-routes'], hidden, commands.retain(false));
  add('rib mark-stale', ['bgp rib mark-stale'], { ...hidden, args: ['peer', 'level'] }, commands.markStale);
  add('rib purge-stale', ['bgp rib purge-stale'], { ...hidden, args: ['peer', 'family'] }, commands.purgeStale);
}
