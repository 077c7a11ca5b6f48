/**
 * Structured events: a batch of rows the plugin reads in place. The same object is reused for the next batch, so nothing
 * of it may be kept past the handler. Peer numbers are small stable integers; `peers` tells who they are.
 */

/** Numbers of `StructuredBatch.kind`; the names are events.md §3's. */
export const STRUCTURED_KIND = {
  update: 1,
  open: 2,
  notification: 3,
  keepalive: 4,
  refresh: 5,
  state: 6,
} as const;

export interface StructuredBatch {
  readonly count: number;
  kind(row: number): number;
  /** Peer index. */
  peer(row: number): number;
  /** 1 received, 2 sent, 0 unspecified */
  direction(row: number): number;
  /** 0 = none */
  messageId(row: number): number;
  /** Body of the message (no 19-byte header): `bytes` from `at(row)`, `length(row)` bytes. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  at(row: number): number;
  length(row: number): number;
  /** AS_PATH holds 4-octet AS numbers. */
  asn4(row: number): boolean;
  /** NLRI of this family (`afi << 8 | safi`) carry path ids. */
  addPath(row: number, family: number): boolean;
  /** state rows: true = up */
  up(row: number): boolean;
  /** state rows going down */
  reason(row: number): string;
  /** state rows going up: what `sessionReady` is told by a plugin that declared `signals-session-ready`; 0 = nobody waits for it */
  initialReplay(row: number): number;
  /** state rows: claimed roles that their holder cannot perform for this peer (plugin-lifecycle §4) */
  unheldRoles(row: number): readonly string[];
  readonly peers: PeerDirectory;
}

export interface PeerDirectory {
  /** One more than the largest index in use: size of a table by peer index. */
  readonly capacity: number;
  name(peer: number): string;
  address(peer: number): string;
  remoteAs(peer: number): number;
  localAs(peer: number): number;
  group(peer: number): string;
}
