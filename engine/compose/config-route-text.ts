// Routes of the configuration as people read them.
import { formatPrefix } from '../../sdk/wire/address.ts';
import { AFI_IPV4, afiOf, familyName, isPrefixFamily, SAFI_MPLS_LABEL, SAFI_MPLS_VPN, safiOf } from '../../sdk/wire/family.ts';

const ROUTE_DISTINGUISHER = 8;

/** Bytes of the label stack that stands before the prefix; 0 for a family without labels. */
export function labelBytes(family: number, nlri: Uint8Array): number {
  const safi = safiOf(family);
  if (safi !== SAFI_MPLS_LABEL && safi !== SAFI_MPLS_VPN) return 0;
  for (let used = 3; used < nlri.length; used += 3) if ((nlri[used]! & 1) === 1) return used;
  return 0;
}

/** `198.51.100.0/24`; of families that are no prefixes, their name and the bytes. */
export function nlriText(family: number, nlri: Uint8Array): string {
  const bytes = afiOf(family) === AFI_IPV4 ? 4 : 16;
  const labels = labelBytes(family, nlri);
  const isVpn = safiOf(family) === SAFI_MPLS_VPN;
  if (isPrefixFamily(family) || labels > 0) {
    const skipped = labels + (isVpn ? ROUTE_DISTINGUISHER : 0);
    const prefix = formatPrefix(nlri, 1 + skipped, nlri[0]! - skipped * 8, bytes);
    return isPrefixFamily(family) ? prefix : `${familyName(family)} ${prefix}`;
  }
  return `${familyName(family)} 0x${Buffer.from(nlri).toString('hex')}`;
}
