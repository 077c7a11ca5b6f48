// Longest match for people's questions. No trie is kept: a lookup asks the exact-match table once per length, 33 or 129 probes (about 2 or
// 10 µs), and the path of a route pays nothing for it.
import type { Ipv4Table } from './ipv4-table.ts';
import type { Ipv6Table } from './ipv6-table.ts';

/** Row of the longest prefix that holds the address and of which `handles` (by row) is not 0; -1 when there is none. */
export function longestMatchIpv4(table: Ipv4Table, handles: Uint32Array, address: number): number {
  for (let lengthBits = 32; lengthBits >= 0; lengthBits--) {
    const row = table.find(mask(address, lengthBits), lengthBits);
    if (row >= 0 && handles[row] !== 0) return row;
  }
  return -1;
}

/** As `longestMatchIpv4`; `words` are the address's four. */
export function longestMatchIpv6(table: Ipv6Table, handles: Uint32Array, words: Uint32Array): number {
  for (let lengthBits = 128; lengthBits >= 0; lengthBits--) {
    const row = table.find(
      mask(words[0]!, lengthBits),
      mask(words[1]!, lengthBits - 32),
      mask(words[2]!, lengthBits - 64),
      mask(words[3]!, lengthBits - 96),
      lengthBits,
    );
    if (row >= 0 && handles[row] !== 0) return row;
  }
  return -1;
}

function mask(word: number, bits: number): number {
  return bits <= 0 ? 0 : bits >= 32 ? word : (word & (-1 << (32 - bits))) >>> 0;
}
