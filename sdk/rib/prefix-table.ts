// What all tables of keys have in common, for the code that walks rows and does not care what the keys are. The hot path uses the classes.
export type { TableOptions } from './ipv4-table.ts';
export { Ipv4Table } from './ipv4-table.ts';
export { Ipv6Table } from './ipv6-table.ts';
export { NlriTable } from './nlri-table.ts';

export interface PrefixTable {
  /** Rows in use are below this. */
  readonly used: number;
  readonly size: number;
  has(row: number): boolean;
  /** Writes the NLRI (a prefix: length octet, then prefix octets) at `at`; returns the octets written. */
  write(row: number, out: Uint8Array, at: number): number;
  remove(row: number): void;
}
