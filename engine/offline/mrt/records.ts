// MRT records (RFC 6396, RFC 8050) read in place: one cursor over the file, then a walk that names what each record holds.

export const BGP = 5;
export const TABLE_DUMP = 12;
export const TABLE_DUMP_V2 = 13;
export const BGP4MP = 16;
export const BGP4MP_ET = 17;

const TYPE_NAMES: Readonly<Record<number, string>> = {
  [BGP]: 'BGP',
  [TABLE_DUMP]: 'TABLE_DUMP',
  [TABLE_DUMP_V2]: 'TABLE_DUMP_V2',
  [BGP4MP]: 'BGP4MP',
  [BGP4MP_ET]: 'BGP4MP_ET',
};
const SUBTYPE_NAMES: Readonly<Record<number, Readonly<Record<number, string>>>> = {
  [BGP]: { 0: 'NULL', 1: 'UPDATE', 2: 'PREF_UPDATE', 3: 'STATE_CHANGE', 4: 'SYNC', 5: 'OPEN', 6: 'NOTIFY', 7: 'KEEPALIVE' },
  [TABLE_DUMP]: { 1: 'AFI_IPv4', 2: 'AFI_IPv6' },
  [TABLE_DUMP_V2]: {
    1: 'PEER_INDEX_TABLE',
    2: 'RIB_IPV4_UNICAST',
    3: 'RIB_IPV4_MULTICAST',
    4: 'RIB_IPV6_UNICAST',
    5: 'RIB_IPV6_MULTICAST',
    6: 'RIB_GENERIC',
    8: 'RIB_IPV4_UNICAST_ADDPATH',
    9: 'RIB_IPV4_MULTICAST_ADDPATH',
    10: 'RIB_IPV6_UNICAST_ADDPATH',
    11: 'RIB_IPV6_MULTICAST_ADDPATH',
    12: 'RIB_GENERIC_ADDPATH',
  },
  [BGP4MP]: {
    0: 'STATE_CHANGE',
    1: 'MESSAGE',
    2: 'ENTRY',
    3: 'SNAPSHOT',
    4: 'MESSAGE_AS4',
    5: 'STATE_CHANGE_AS4',
    6: 'MESSAGE_LOCAL',
    7: 'MESSAGE_AS4_LOCAL',
    8: 'MESSAGE_ADDPATH',
    9: 'MESSAGE_AS4_ADDPATH',
    10: 'MESSAGE_LOCAL_ADDPATH',
    11: 'MESSAGE_AS4_LOCAL_ADDPATH',
  },
};

/** Types of RFC 6396 §4 beside ours: OSPFv2, IS-IS, OSPFv3, each with and without microseconds. */
const OTHER_TYPES: ReadonlySet<number> = new Set([11, 32, 33, 48, 49]);

export function isRecordType(type: number): boolean {
  return Object.hasOwn(TYPE_NAMES, type) || OTHER_TYPES.has(type);
}

/** `BGP4MP/MESSAGE_AS4`, or numbers where there is no name. */
export function recordName(type: number, subtype: number): string {
  const names = SUBTYPE_NAMES[type === BGP4MP_ET ? BGP4MP : type];
  return `${TYPE_NAMES[type] ?? type}/${names?.[subtype] ?? subtype}`;
}

/** Walks the records of a file; made once, moved. `bodyAt` and `bodyLength` are bytes into `bytes`. */
export class MrtCursor {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** Seconds since the epoch; microseconds apart for the extended types. */
  timestamp = 0;
  microseconds = 0;
  type = 0;
  subtype = 0;
  bodyAt = 0;
  bodyLength = 0;
  /** Bytes left over behind the last whole record: the file was cut. */
  leftOver = 0;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  next(): boolean {
    const at = this.#at;
    if (at + 12 > this.bytes.length) return this.#stop(at);
    const length = this.view.getUint32(at + 8);
    if (at + 12 + length > this.bytes.length) return this.#stop(at);
    this.timestamp = this.view.getUint32(at);
    this.type = this.view.getUint16(at + 4);
    this.subtype = this.view.getUint16(at + 6);
    this.bodyAt = at + 12;
    this.bodyLength = length;
    this.microseconds = 0;
    if (this.type === BGP4MP_ET && length >= 4) {
      this.microseconds = this.view.getUint32(at + 12);
      this.bodyAt += 4;
      this.bodyLength -= 4;
    }
    this.#at = at + 12 + length;
    return true;
  }

  #stop(at: number): false {
    this.leftOver = this.bytes.length - at;
    return false;
  }
}
