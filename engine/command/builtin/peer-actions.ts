/** What can be done to peers: teardown, pause, refresh, routes, raw bytes (daemon-cli §7.1, §9, §10). */
import { rejected } from '../../../sdk/rpc/records.ts';
import { parseFamily } from '../../../sdk/wire/family.ts';
import type { PeerIdentity } from '../../bgp/port.ts';
import type { CommandFault } from '../../codec/fault.ts';
import { parseRaw } from '../../codec/raw-message.ts';
import { pluginOf } from '../access.ts';
import type { Call, Handler } from '../dispatch.ts';
import { CommandError } from '../fault.ts';
import { selectPeers } from '../selection.ts';
import { oneOrList, readFamily } from './peers.ts';

type Fields = Readonly<Record<string, unknown>>;
/** What was done to one peer, or why it was not. */
type Deed = (peer: PeerIdentity) => Promise<Fields | string>;

export const peerActions: Readonly<Record<string, Handler>> = {
  'peer-teardown': teardown,
  'peer-pause': (call) => setPaused(call, true),
  'peer-resume': (call) => setPaused(call, false),
  'peer-flush': flush,
  'peer-refresh': (call) => refresh(call, 0),
  'peer-borr': (call) => refresh(call, 1),
  'peer-eorr': (call) => refresh(call, 2),
  'peer-clear-soft': clearSoft,
  'peer-update-text': (call) => update(call, 'text'),
  'peer-update-hex': (call) => update(call, 'hex'),
  'peer-update-b64': (call) => update(call, 'b64'),
  'peer-raw': raw,
  'peer-plugin-session': sessionReady,
  'peer-plugin-session-ready': sessionReady,
};

/** Peers of the call. Acting on nobody is a mistake, looking at nobody is not. */
function chosen(call: Call): readonly PeerIdentity[] {
  const peers = selectPeers(call.context.peers, call.selector, call.selectorColumn);
  if (peers.length === 0) throw new CommandError('selector', 'no peer is configured', call.selectorColumn);
  return peers;
}

function nameOf(peer: PeerIdentity): string {
  return peer.remoteAddress === '' ? peer.name : peer.remoteAddress;
}

/** One peer: its result or its reason. Several: one row each, those that failed as rejected rows. */
async function each(peers: readonly PeerIdentity[], deed: Deed): Promise<unknown> {
  const results = await Promise.all(peers.map(async (peer) => ({ peer, result: await deed(peer) })));
  const [only] = results;
  if (only !== undefined && results.length === 1 && typeof only.result === 'string')
    throw new CommandError('failed', `${nameOf(only.peer)}: ${only.result}`);
  if (results.every(({ result }) => typeof result !== 'string')) return oneOrList(results.map(({ result }) => result as Fields));
  return results.map(({ peer, result }) =>
    typeof result === 'string' ? rejected({ peer: nameOf(peer), message: result }) : result,
  );
}

/** Of a peer that was down for good it says that the peer was started: no Cease went anywhere. */
async function teardown(call: Call): Promise<unknown> {
  const subcode = call.args.number('subcode') ?? 0;
  const text = call.args.text('text');
  const { reactor } = call.context;
  const peers = chosen(call);
  const before = await reactor.snapshot(peers.map((peer) => peer.index));
  return each(peers, async (peer) => {
    const stopped = before.find((state) => state.index === peer.index)?.adminDown === true;
    const sent = stopped ? { started: true } : { subcode, 'shutdown-message': text };
    return (await reactor.teardown(peer.index, subcode, text)) ?? { peer: nameOf(peer), ...sent };
  });
}

function setPaused(call: Call, paused: boolean): Promise<unknown> {
  return each(
    chosen(call),
    async (peer) => (await call.context.reactor.setPaused(peer.index, paused)) ?? { peer: nameOf(peer), paused },
  );
}

function flush(call: Call): Promise<unknown> {
  return each(
    chosen(call),
    async (peer) => (await call.context.reactor.flush(peer.index)) ?? { peer: nameOf(peer), flushed: true },
  );
}

const MARKERS = ['refresh', 'borr', 'eorr'] as const;

function refresh(call: Call, subtype: 0 | 1 | 2): Promise<unknown> {
  const word = call.args.text('family');
  const family = readFamily(word, call.args.column('family'));
  const peers = grantedPeers(call, 'refresh');
  return each(
    peers,
    async (peer) =>
      (await call.context.reactor.refresh(peer.index, family, subtype)) ?? {
        peer: nameOf(peer),
        family: word,
        sent: MARKERS[subtype],
      },
  );
}

async function clearSoft(call: Call): Promise<unknown> {
  const peers = grantedPeers(call, 'refresh');
  const states = await call.context.reactor.snapshot(peers.map((peer) => peer.index));
  return each(peers, async (peer) => {
    const families = states.find((state) => state.index === peer.index)?.negotiated?.families ?? [];
    if (families.length === 0) return 'the session is not established';
    for (const family of families) {
      const reason = await call.context.reactor.refresh(peer.index, parseFamily(family), 0);
      if (reason !== undefined) return reason.startsWith(`${family}: `) ? reason : `${family}: ${reason}`;
    }
    return { peer: nameOf(peer), families };
  });
}

async function update(call: Call, form: 'text' | 'hex' | 'b64'): Promise<unknown> {
  const peers = grantedPeers(call, 'update');
  const prefix = `update ${form} `;
  const outcome = await call.context.routes.update(
    call.caller.user,
    peers.map((peer) => peer.index),
    prefix + call.tail,
  );
  if (!outcome.ok) throw located(outcome.fault, call, prefix.length);
  const { announced, withdrawn, peersAffected, routesSent, warnings, eor } = outcome.value;
  const nothing = announced === 0 && withdrawn === 0 && eor.length === 0;
  return {
    ...(nothing ? { status: 'warning' } : {}),
    announced,
    withdrawn,
    'peers-affected': peersAffected,
    'routes-sent': routesSent,
    ...(warnings.length > 0 ? { warnings: [...warnings] } : {}),
    ...(eor.length > 0 ? { eor: [...eor] } : {}),
  };
}

/** A fault in a text that began with `shift` characters of ours before what was typed. */
function located(fault: CommandFault, call: Call, shift: number): CommandError {
  const column = call.tailColumn === 0 ? 0 : Math.max(call.tailColumn, fault.column - shift + call.tailColumn - 1);
  return new CommandError('argument', fault.message, column);
}

async function raw(call: Call): Promise<unknown> {
  const [peer, ...others] = grantedPeers(call, 'raw');
  if (
    peer === undefined ||
    others.length > 0 ||
    call.selector.startsWith('!') ||
    !/[.:]/.test(call.selector) ||
    call.selector.includes('*')
  ) {
    throw new CommandError('selector', 'raw needs one peer, given by its address', call.selectorColumn);
  }
  const parsed = parseRaw(`raw ${call.tail}`);
  if (!parsed.ok) throw located(parsed.fault, call, 'raw '.length);
  const { bytes, type } = parsed.value;
  const reason = await call.context.reactor.raw(peer.index, bytes);
  if (reason !== undefined) throw new CommandError('failed', `${nameOf(peer)}: ${reason}`);
  return { peer: nameOf(peer), bytes: bytes.length, ...(type === undefined ? { mode: 'full-packet' } : { type }) };
}

function sessionReady(call: Call): Promise<unknown> {
  const plugin = pluginOf(call.caller);
  if (plugin === undefined) throw new CommandError('denied', 'only a plugin can report that a session is ready');
  const token = call.args.text('token');
  const { reactor } = call.context;
  return each(chosen(call), async (peer) => (await reactor.sessionReady(peer.index, plugin, token)) ?? { ready: true });
}

/** A plugin acts only on peers whose `process` block lets it; everyone else with edit permission on all. */
function grantedPeers(call: Call, send: 'update' | 'raw' | 'refresh'): readonly PeerIdentity[] {
  const peers = chosen(call);
  const plugin = pluginOf(call.caller);
  if (plugin === undefined) return peers;
  const allowed = peers.filter((peer) => call.context.plugins.granted(plugin, send, peer.index));
  if (allowed.length === 0) {
    throw new CommandError(
      'denied',
      `${call.caller.user} may not send ${send} to ${call.selector}: no process block grants it`,
      call.selectorColumn,
    );
  }
  return allowed;
}
