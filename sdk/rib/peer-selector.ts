// Which peers a command's selector means, for plugins: `*`, a name, an address, `as65001`, a glob, `!x`, and comma lists of these. A list is
// the union of its positive members (every peer when it has none) without its negative ones.
import type { PeerDirectory } from '../plugin/structured.ts';
import { addressBytes, formatAddress } from '../wire/address.ts';

/** Indices of the peers that `text` selects, ascending; '' and `*` are all. Unknown names select nothing. */
export function selectPeers(peers: PeerDirectory, text: string): number[] {
  const members = text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '');
  const negative = members.filter((member) => member.startsWith('!')).map((member) => member.slice(1).trim());
  const positive = members.filter((member) => !member.startsWith('!'));
  const chosen: number[] = [];
  for (let peer = 0; peer < peers.capacity; peer++) {
    if (peers.address(peer) === '') continue;
    const wanted = positive.length === 0 || positive.some((member) => meets(peers, peer, member));
    if (wanted && !negative.some((member) => meets(peers, peer, member))) chosen.push(peer);
  }
  return chosen;
}

/** The one peer of that name or address, -1 when there is none. */
export function findPeer(peers: PeerDirectory, text: string): number {
  const address = canonical(text);
  for (let peer = 0; peer < peers.capacity; peer++) {
    if (peers.address(peer) !== '' && (peers.name(peer) === text || peers.address(peer) === address)) return peer;
  }
  return -1;
}

function meets(peers: PeerDirectory, peer: number, member: string): boolean {
  const name = peers.name(peer);
  const address = peers.address(peer);
  if (member === '*' || member === name || canonical(member) === address) return true;
  const as = /^as(\d{1,10})$/i.exec(member)?.[1];
  if (as !== undefined) return Number(as) === peers.remoteAs(peer);
  return member.includes('*') && (globMatches(member, address) || globMatches(member, name));
}

/** An IPv6 address in the spelling of the directory (RFC 5952); other text as it is. */
function canonical(text: string): string {
  const bytes = text.includes(':') ? addressBytes(text) : undefined;
  return bytes === undefined ? text : (formatAddress(bytes, 0, bytes.length) ?? text);
}

/** A `*` stands for any run of characters; the pattern is cut at its stars, each piece is looked for after the one before. */
function globMatches(pattern: string, text: string): boolean {
  const pieces = pattern.split('*');
  const first = pieces[0] ?? '';
  const last = pieces.at(-1) ?? '';
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
