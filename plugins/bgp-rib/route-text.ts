// Routes as JSON text, built by hand: the members of a block are written once and remembered for the rows that share it.
import type { AttributeTable } from '../../sdk/rib/attribute-table.ts';
import { formatAddress, formatIpv4, formatPrefix } from '../../sdk/wire/address.ts';
import * as code from '../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { toHex } from '../../sdk/wire/bytes.ts';
import { AFI_IPV4, type Family, isPrefixFamily } from '../../sdk/wire/family.ts';
import { type Query, pathMatches } from './query.ts';

/** Blocks remembered; then the memory is emptied. A walk meets the same block in runs, so more would be memory for nothing. */
const REMEMBERED = 1024;

/** What the filters and rows ask of a block. */
interface BlockText {
  /** `,"next-hop":"…","origin":"igp",…` */
  readonly members: string;
  readonly passes: boolean;
}

/** Bound to one query: `passes` is its verdict on a block, taken once. */
export class RouteText {
  readonly #attributes: AttributeTable;
  readonly #query: Query;
  readonly #cursor = new AttributeCursor();
  /** Replaced, never cleared: a cleared map's old table points to the new one, and one that has grown old keeps all that follow. */
  #known = new Map<number, BlockText>();
  readonly #bytes = new Uint8Array(0x10000);

  constructor(attributes: AttributeTable, query: Query) {
    this.#attributes = attributes;
    this.#query = query;
  }

  /** Room to write an NLRI into, for `nlri`. */
  get room(): Uint8Array {
    return this.#bytes;
  }

  /** Forgets every block: between two slices a handle may have come to name another. */
  forget(): void {
    this.#known = new Map();
  }

  /** True when the filters on AS path and community let the block through. */
  passes(handle: number): boolean {
    return this.#text(handle).passes;
  }

  /** Members of a block, each with a comma in front. */
  members(handle: number): string {
    return this.#text(handle).members;
  }

  /** The text of `length` bytes of one NLRI in `room`: a prefix, or hex for what is none. No character of it needs escaping. */
  nlri(family: Family, length: number): string {
    const bytes = this.#bytes;
    if (isPrefixFamily(family)) return formatPrefix(bytes, 1, bytes[0]!, family >>> 8 === AFI_IPV4 ? 4 : 16);
    return toHex(bytes, 0, length);
  }

  /** True when the filters on family and prefix let an NLRI through. */
  admits(family: Family, nlri: string): boolean {
    const { family: wanted, prefix } = this.#query;
    return (wanted === 0 || wanted === family) && (prefix === '' || nlri.startsWith(prefix));
  }

  /** True when the `match` filter lets the row through. */
  matches(row: string): boolean {
    const { match } = this.#query;
    return match === '' || row.toLowerCase().includes(match);
  }

  #text(handle: number): BlockText {
    const known = this.#known.get(handle);
    if (known !== undefined) return known;
    if (this.#known.size >= REMEMBERED) this.#known = new Map();
    const made = this.#make(handle);
    this.#known.set(handle, made);
    return made;
  }

  #make(handle: number): BlockText {
    const { bytes, view } = this.#attributes;
    const cursor = this.#cursor.over(view, this.#attributes.at(handle), this.#attributes.length(handle));
    let text = '';
    let path: readonly number[] = [];
    const communities: string[] = [];
    const hopLength = this.#attributes.hopLength(handle);
    if (hopLength !== 0) text += nextHop(bytes, this.#attributes.hopAt(handle), hopLength);
    while (cursor.next()) {
      const { valueAt: at, valueLength: length } = cursor;
      switch (cursor.code) {
        case code.ORIGIN:
          text += `,"origin":"${['igp', 'egp', 'incomplete'][view.getUint8(at)] ?? 'incomplete'}"`;
          break;
        case code.AS_PATH:
          path = readPath(view, at, length);
          text += `,"as-path":[${path.join(',')}]`;
          break;
        case code.NEXT_HOP:
          if (hopLength === 0) text += nextHop(bytes, at, length);
          break;
        case code.MULTI_EXIT_DISC:
          text += `,"med":${view.getUint32(at)}`;
          break;
        case code.LOCAL_PREF:
          text += `,"local-preference":${view.getUint32(at)}`;
          break;
        case code.ATOMIC_AGGREGATE:
          text += ',"atomic-aggregate":true';
          break;
        case code.AGGREGATOR:
          if (length === 8) text += `,"aggregator":"${view.getUint32(at)}:${formatIpv4(view.getUint32(at + 4))}"`;
          break;
        case code.COMMUNITIES:
          text += list('community', communities, parts(view, at, length, 4, standard));
          break;
        case code.LARGE_COMMUNITIES:
          text += list('large-community', communities, parts(view, at, length, 12, large));
          break;
        case code.EXTENDED_COMMUNITIES:
          text += list('extended-community', communities, parts(view, at, length, 8, extended));
          break;
        case code.ORIGINATOR_ID:
          text += `,"originator-id":"${formatIpv4(view.getUint32(at))}"`;
          break;
        case code.CLUSTER_LIST:
          text += `,"cluster-list":[${parts(view, at, length, 4, cluster).map(quote).join(',')}]`;
          break;
        default:
          text += `,"attr-${cursor.code}":"${toHex(bytes, at, length)}"`;
      }
    }
    const { path: wanted, community } = this.#query;
    const passes = (wanted === undefined || pathMatches(wanted, path)) && (community === '' || communities.includes(community));
    return { members: text, passes };
  }
}

/** A text that may hold anything, as a JSON string. */
export function json(text: string): string {
  return JSON.stringify(text);
}

function quote(text: string): string {
  return `"${text}"`;
}

function list(key: string, all: string[], values: readonly string[]): string {
  all.push(...values);
  return `,"${key}":[${values.map(quote).join(',')}]`;
}

/** One address, or of a global and link-local pair the global one; behind a route distinguisher of zeroes for VPN families. */
function nextHop(bytes: Uint8Array, at: number, length: number): string {
  const skip = length === 12 || length === 24 || length === 48 ? 8 : 0;
  const size = length - skip >= 16 ? 16 : 4;
  const text = length - skip < size ? toHex(bytes, at, length) : (formatAddress(bytes, at + skip, size) ?? '');
  return `,"next-hop":"${text}"`;
}

/** The numbers of every segment in order. */
export function readPath(view: DataView, at: number, length: number): number[] {
  const path: number[] = [];
  for (let i = at; i + 2 <= at + length; ) {
    const end = i + 2 + 4 * view.getUint8(i + 1);
    for (i += 2; i < end && i + 4 <= at + length; i += 4) path.push(view.getUint32(i));
    i = end;
  }
  return path;
}

function parts(view: DataView, at: number, length: number, size: number, text: (view: DataView, at: number) => string): string[] {
  const values: string[] = [];
  for (let i = at; i + size <= at + length; i += size) values.push(text(view, i));
  return values;
}

function standard(view: DataView, at: number): string {
  return `${view.getUint16(at)}:${view.getUint16(at + 2)}`;
}

function large(view: DataView, at: number): string {
  return `${view.getUint32(at)}:${view.getUint32(at + 4)}:${view.getUint32(at + 8)}`;
}

function cluster(view: DataView, at: number): string {
  return formatIpv4(view.getUint32(at));
}

/** Route target and origin by name (RFC 4360, RFC 5668), any other as `0x` and its bytes. */
function extended(view: DataView, at: number): string {
  const type = view.getUint16(at);
  const name = (type & 0xff) === 2 ? 'target' : (type & 0xff) === 3 ? 'origin' : '';
  if (name !== '' && type >>> 8 === 0) return `${name}:${view.getUint16(at + 2)}:${view.getUint32(at + 4)}`;
  if (name !== '' && type >>> 8 === 1) return `${name}:${formatIpv4(view.getUint32(at + 2))}:${view.getUint16(at + 6)}`;
  if (name !== '' && type >>> 8 === 2) return `${name}:${view.getUint32(at + 2)}:${view.getUint16(at + 6)}`;
  return `0x${view.getUint32(at).toString(16).padStart(8, '0')}${view
    .getUint32(at + 4)
    .toString(16)
    .padStart(8, '0')}`;
}
