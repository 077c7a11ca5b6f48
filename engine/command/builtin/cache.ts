/** The update cache in the operator's hands (daemon-cli §7.3, plugin-lifecycle §10): both orders of words, `cache 5 retain` and `cache retain 5`. */
import { pluginOf } from '../access.ts';
import type { Call, Handler } from '../dispatch.ts';
import { CommandError } from '../fault.ts';
import { selectPeers } from '../selection.ts';

type Deed = 'retain' | 'release' | 'expire' | 'forward';

const MAX_IDS = 1000;

export const cacheCommands: Readonly<Record<string, Handler>> = {
  cache: (call) => manage(call, call.args.text('action').toLowerCase() as Deed),
  'cache-list': list,
  'cache-retain': (call) => manage(call, 'retain'),
  'cache-release': (call) => manage(call, 'release'),
  'cache-expire': (call) => manage(call, 'expire'),
  'cache-forward': (call) => manage(call, 'forward'),
};

async function list(call: Call): Promise<unknown> {
  const { reactor, peers } = call.context;
  const names = new Map(peers.list().map((peer) => [peer.index, peer.remoteAddress]));
  const entries = await reactor.cached();
  return entries.map((entry) => ({
    id: entry.id,
    peer: names.get(entry.peer) ?? '',
    bytes: entry.length,
    'age-seconds': Math.floor(entry.ageMs / 1000),
    retained: entry.retained,
    'waiting-for': entry.consumers,
  }));
}

/** Ids that are not there are named; the others are done. When none was there, the command has failed. */
async function manage(call: Call, deed: Deed): Promise<unknown> {
  const ids = readIds(call);
  const to = call.args.text('to');
  if (deed === 'forward' && to === '') throw new CommandError('argument', 'cache forward requires peers: cache IDS forward SEL');
  if (deed !== 'forward' && to !== '') throw new CommandError('argument', `cache ${deed} takes no peers`, call.args.column('to'));
  const destinations = deed === 'forward' ? takers(call, to) : [];
  const missing = await call.context.reactor.manageCached(ids, deed, destinations);
  if (missing.length === ids.length)
    throw new CommandError(
      'failed',
      `update-id expired or not found: ${missing.slice(0, 16).join(', ')}`,
      call.args.column('ids'),
    );
  return {
    action: deed,
    ids: ids.filter((id) => !missing.includes(id)),
    ...(deed === 'forward' ? { peers: destinations.length } : {}),
    ...(missing.length > 0 ? { 'not-found': missing } : {}),
  };
}

function readIds(call: Call): readonly number[] {
  const column = call.args.column('ids');
  const words = call.args
    .text('ids')
    .split(',')
    .filter((word) => word !== '');
  if (words.length > MAX_IDS) throw new CommandError('argument', `at most ${MAX_IDS} ids at once`, column);
  const ids = words.map((word) => {
    const id = /^\d{1,16}$/.test(word) ? Number(word) : 0;
    if (id < 1 || !Number.isSafeInteger(id)) throw new CommandError('argument', `bad id "${word.slice(0, 64)}"`, column);
    return id;
  });
  if (ids.length === 0) throw new CommandError('argument', 'no id is given', column);
  return [...new Set(ids)];
}

/** Peers by index; a plugin reaches those it may send updates to. */
function takers(call: Call, selector: string): readonly number[] {
  const chosen = selectPeers(call.context.peers, selector, call.args.column('to'));
  const plugin = pluginOf(call.caller);
  const allowed =
    plugin === undefined ? chosen : chosen.filter((peer) => call.context.plugins.granted(plugin, 'update', peer.index));
  if (allowed.length === 0)
    throw new CommandError('denied', `${call.caller.user} may not send updates to ${selector}`, call.args.column('to'));
  return allowed.map((peer) => peer.index);
}
