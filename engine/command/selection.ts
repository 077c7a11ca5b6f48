/** From a selector's text to the peers it means, with a precise complaint when it means none. */
import type { PeerIdentity } from '../bgp/port.ts';
import { PeerSelector } from '../codec/peer-selector.ts';
import { nearest } from '../core/nearest.ts';
import type { PeerCatalogue } from './context.ts';
import { CommandError, didYouMean } from './fault.ts';

/** Reads a selector; '' selects every peer. Throws `CommandError`. */
export function readSelector(text: string, column: number): PeerSelector {
  if (text === '') return PeerSelector.all;
  const parsed = PeerSelector.parse(text, Math.max(1, column));
  if (!parsed.ok) throw new CommandError('selector', parsed.fault.message, column === 0 ? 0 : parsed.fault.column);
  return parsed.value;
}

/**
 * The peers a selector means. A member that names nothing is refused, also beside members that do: half a command carried
 * out in silence is worse than none.
 */
export function selectPeers(peers: PeerCatalogue, text: string, column: number): readonly PeerIdentity[] {
  const all = peers.list();
  const selector = readSelector(text, column);
  let at = column;
  for (const part of text === '' ? [] : text.split(',')) {
    const member = part.trim().replace(/^!/, '');
    if (member !== '' && !member.includes('*') && !namesPeer(member, all)) {
      const known = all.flatMap((peer) => [peer.name, peer.remoteAddress, `as${peer.remoteAs}`]);
      throw new CommandError('selector', `no peer matches "${member.slice(0, 64)}"${didYouMean(nearest(member, known))}`, at);
    }
    if (at > 0) at += part.length + 1;
  }
  const chosen = all.filter((peer) => selector.matches(peer));
  if (chosen.length === 0 && text !== '' && text !== '*')
    throw new CommandError('selector', `no peer matches "${text.slice(0, 64)}"`, column);
  return chosen;
}

function namesPeer(member: string, all: readonly PeerIdentity[]): boolean {
  const parsed = PeerSelector.parse(member);
  return parsed.ok && all.some((peer) => parsed.value.matches(peer));
}
