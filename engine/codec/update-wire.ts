/**
 * Routes injected as bytes (daemon-cli §10): `update hex|b64 attr set BYTES [nhop set BYTES|self | nhop del] nlri FAMILY [addpath]
 * add BYTES… del BYTES…`. The block is judged as a received one would be; what RFC 7606 would not take is refused with its reason.
 */
import * as code from '../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { ATTRIBUTES, attributeName } from '../../sdk/wire/attribute/table.ts';
import { fromHex, viewOf } from '../../sdk/wire/bytes.ts';
import { plainContext } from '../../sdk/wire/context.ts';
import { afiOf, isPrefixFamily, NO_FAMILY } from '../../sdk/wire/family.ts';
import { reasonText } from '../../sdk/wire/fault.ts';
import { PrefixCursor, writePrefix } from '../../sdk/wire/nlri/prefix.ts';
import { countNlri } from '../../sdk/wire/nlri/syntax.ts';
import type { Origination } from '../bgp/port.ts';
import { CommandScan, shown } from './command-scan.ts';
import { isNoHost } from './attribute-text.ts';
import type { Parsed } from './fault.ts';
import { refuse } from './fault.ts';
import type { CodecRegistry } from './registry.ts';
import type { RouteCommand } from './update-text.ts';

type Section = Origination['sections'][number];
type Refusal = ReturnType<typeof refuse>;

const NONE = new Uint8Array(0);

/** Bytes of a word, undefined when it is none. */
export function wordBytes(word: string, encoding: 'hex' | 'b64'): Uint8Array | undefined {
  if (encoding === 'hex') return fromHex(word);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(word) || word.length % 4 !== 0) return undefined;
  return Uint8Array.from(Buffer.from(word, 'base64'));
}

export function parseUpdateWire(command: string, registry: CodecRegistry): Parsed<RouteCommand> {
  const scan = new CommandScan().over(command);
  scan.next();
  scan.next();
  const encoding = scan.is('b64') ? 'b64' : 'hex';
  let block: { readonly bytes: Uint8Array; readonly nextHop: Uint8Array } | undefined;
  let nextHop: Uint8Array | undefined;
  const sections: Section[] = [];
  while (scan.next()) {
    const { column } = scan;
    if (scan.is('attr')) {
      if (block !== undefined) return refuse('attr set is given at most once', column);
      if (sections.length > 0) return refuse('attr must precede all nlri sections', column);
      if (!scan.next() || !scan.is('set')) return refuse('expected "attr set BYTES"', scan.column);
      const bytes = scan.next() ? wordBytes(scan.word, encoding) : undefined;
      if (bytes === undefined) return refuse(`attr set requires ${encoding} bytes`, scan.column);
      const read = readBlock(bytes);
      if (typeof read === 'string') return refuse(read, scan.column);
      block = read;
    } else if (scan.is('nhop')) {
      if (!scan.next() || (!scan.is('set') && !scan.is('del')))
        return refuse('expected "nhop set BYTES", "nhop set self" or "nhop del"', scan.column);
      if (scan.is('del')) nextHop = NONE;
      else {
        nextHop = !scan.next() ? undefined : scan.is('self') ? NONE : wordBytes(scan.word, encoding);
        if (nextHop === undefined || ![0, 4, 16, 32].includes(nextHop.length)) {
          return refuse('a next hop has 4, 16 or 32 bytes', scan.column);
        }
        if (isNoHost(nextHop)) return refuse("the next hop is no host's address (RFC 4271 §6.3)", scan.column);
      }
    } else if (scan.is('nlri')) {
      const fault = readSection(scan, registry, encoding, block !== undefined, sections);
      if (fault !== undefined) return fault;
    } else return refuse(`expected attr, nhop or nlri, got ${shown(scan.word)}`, column);
  }
  if (sections.length === 0) return refuse('missing nlri section', scan.column);
  return {
    ok: true,
    value: { attributes: block?.bytes ?? NONE, nextHop: nextHop ?? block?.nextHop ?? NONE, sections, foreign: [] },
  };
}

/** Judges each attribute by its row; takes NEXT_HOP out. A text says what is wrong. */
function readBlock(bytes: Uint8Array): { readonly bytes: Uint8Array; readonly nextHop: Uint8Array } | string {
  const view = viewOf(bytes);
  const cursor = new AttributeCursor().over(view, 0, bytes.length);
  const context = plainContext({ ebgp: false });
  const seen = new Set<number>();
  const kept: number[] = [];
  let nextHop: Uint8Array = NONE;
  while (cursor.next()) {
    const { code: attribute, flags, valueAt, valueLength, startAt } = cursor;
    const name = attributeName(attribute);
    if (attribute === code.MP_REACH_NLRI || attribute === code.MP_UNREACH_NLRI) return `${name} is written by the engine`;
    if (seen.has(attribute)) return `${name}: appears more than once`;
    seen.add(attribute);
    const spec = ATTRIBUTES[attribute];
    if (spec !== undefined && (flags & (code.OPTIONAL | code.TRANSITIVE)) !== spec.flags) return `${name}: wrong flags`;
    if (spec === undefined && (flags & code.OPTIONAL) === 0) return `${name}: unrecognized well-known attribute`;
    const reason = spec?.check(view, valueAt, valueLength, context) ?? 0;
    if (reason !== 0) return `${name}: ${reasonText(reason)}`;
    if (attribute === code.NEXT_HOP) {
      nextHop = bytes.slice(valueAt, valueAt + valueLength);
      if (isNoHost(nextHop)) return `${name}: no host's address (RFC 4271 §6.3)`;
    } else for (let i = startAt; i < cursor.at; i++) kept.push(bytes[i]!);
  }
  return cursor.at === bytes.length ? { bytes: Uint8Array.from(kept), nextHop } : `attribute list cut short at byte ${cursor.at}`;
}

/** The current word is `nlri`. With `addpath` every path id becomes a section of its own. */
function readSection(
  scan: CommandScan,
  registry: CodecRegistry,
  encoding: 'hex' | 'b64',
  mayAnnounce: boolean,
  sections: Section[],
): Refusal | undefined {
  const family = scan.next() ? registry.number(scan.word) : NO_FAMILY;
  if (family === NO_FAMILY) return refuse(`unknown family: ${shown(scan.word)}`, scan.column);
  const name = registry.name(family);
  let addPath = false;
  let mode: 'add' | 'del' | undefined;
  const runs = new Map<number, { announce: number[]; withdraw: number[] }>();
  while (scan.next()) {
    if (scan.is('nlri') || scan.is('attr') || scan.is('nhop')) {
      scan.back();
      break;
    }
    if (mode === undefined && scan.is('eor')) {
      sections.push({ family, announce: NONE, withdraw: NONE, pathId: 0, eor: true });
      return undefined;
    }
    if (mode === undefined && scan.is('addpath')) {
      if (!isPrefixFamily(family)) return refuse(`addpath is for prefix families, not ${name}`, scan.column);
      addPath = true;
    } else if (scan.is('add') || scan.is('del')) {
      mode = scan.is('add') ? 'add' : 'del';
      if (mode === 'add' && !mayAnnounce) return refuse('attr set is required to announce', scan.column);
    } else if (mode === undefined) return refuse('missing operation keyword: expected add, del or eor', scan.column);
    else {
      const bytes = wordBytes(scan.word, encoding);
      if (bytes === undefined || bytes.length === 0) return refuse(`expected ${encoding} bytes`, scan.column);
      if (countNlri(viewOf(bytes), 0, bytes.length, family, addPath, mode === 'del') < 0) {
        return refuse(`malformed NLRI of ${name}`, scan.column);
      }
      gather(runs, bytes, family, addPath, mode);
    }
  }
  if (runs.size === 0) return refuse('missing operation keyword: expected add, del or eor', scan.column);
  for (const [pathId, run] of runs) {
    sections.push({
      family,
      announce: Uint8Array.from(run.announce),
      withdraw: Uint8Array.from(run.withdraw),
      pathId,
      eor: false,
    });
  }
  return undefined;
}

function gather(
  runs: Map<number, { announce: number[]; withdraw: number[] }>,
  bytes: Uint8Array,
  family: number,
  addPath: boolean,
  mode: 'add' | 'del',
): void {
  const runOf = (pathId: number): number[] => {
    let run = runs.get(pathId);
    if (run === undefined) runs.set(pathId, (run = { announce: [], withdraw: [] }));
    return mode === 'add' ? run.announce : run.withdraw;
  };
  if (!addPath) {
    const run = runOf(0);
    for (const byte of bytes) run.push(byte);
    return;
  }
  const cursor = new PrefixCursor().over(viewOf(bytes), 0, bytes.length, afiOf(family) === 1 ? 32 : 128, true);
  const entry = new Uint8Array(24);
  while (cursor.next()) {
    const run = runOf(cursor.pathId);
    const size = writePrefix(entry, 0, bytes, cursor.prefixAt, cursor.lengthBits, false, 0);
    for (let i = 0; i < size; i++) run.push(entry[i]!);
  }
}
