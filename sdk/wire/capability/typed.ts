// The meaning of the capabilities we know. A value whose length its document does not allow reads as `malformed`: it is ignored, the
// session goes on, and nothing is ever read from a neighbour's bytes.
import { viewOf } from '../bytes.ts';
import type { Family } from '../family.ts';
import { encodeUtf8, decodeUtf8 } from '../utf8.ts';
import * as cap from './capability.ts';
import type { Capability } from './capability.ts';

export type AddPathMode = 'receive' | 'send' | 'send-receive';
/** A speaker's own role (RFC 9234 §4.1). */
export type Role = 'provider' | 'rs' | 'rs-client' | 'customer' | 'peer';

export interface ExtendedNextHop {
  readonly family: Family;
  readonly nextHopAfi: number;
}
export interface AddPath {
  readonly family: Family;
  /** What the sender of the capability is able to do. */
  readonly mode: AddPathMode;
}
export interface RestartFamily {
  readonly family: Family;
  /** Forwarding state was preserved (F bit). */
  readonly forwarding: boolean;
}
export interface LongLivedFamily extends RestartFamily {
  readonly staleTimeSeconds: number;
}
export interface GracefulRestart {
  readonly kind: 'graceful-restart';
  /** R bit. */
  readonly restarting: boolean;
  /** N bit: GR applies to NOTIFICATIONs as well (RFC 8538 §2). */
  readonly notification: boolean;
  /** 0..4095. */
  readonly restartTimeSeconds: number;
  readonly families: readonly RestartFamily[];
}

export type TypedCapability =
  | { readonly kind: 'multiprotocol'; readonly family: Family }
  | { readonly kind: 'route-refresh' }
  | { readonly kind: 'extended-nexthop'; readonly nextHops: readonly ExtendedNextHop[] }
  | { readonly kind: 'extended-message' }
  | { readonly kind: 'role'; readonly role: number }
  | GracefulRestart
  | { readonly kind: 'asn4'; readonly asn: number }
  | { readonly kind: 'addpath'; readonly families: readonly AddPath[] }
  | { readonly kind: 'enhanced-refresh' }
  | { readonly kind: 'llgr'; readonly families: readonly LongLivedFamily[] }
  | { readonly kind: 'fqdn'; readonly host: string; readonly domain: string }
  | { readonly kind: 'software-version'; readonly version: string }
  | { readonly kind: 'link-local-nexthop' }
  | { readonly kind: 'unknown'; readonly code: number; readonly value: Uint8Array }
  | { readonly kind: 'malformed'; readonly code: number; readonly value: Uint8Array };

const ROLES: readonly Role[] = ['provider', 'rs', 'rs-client', 'customer', 'peer'];
const MODES: readonly AddPathMode[] = ['receive', 'send', 'send-receive'];

export function roleName(role: number): Role | undefined {
  return ROLES[role];
}

export function roleNumber(role: Role): number {
  return ROLES.indexOf(role);
}

/** Texts of strangers come out as decoded: escape them (`printable`) before they meet a terminal. */
export function readCapability(capability: Capability): TypedCapability {
  return read(capability) ?? { kind: 'malformed', code: capability.code, value: capability.value };
}

/** Undefined when the value's length is not one its document allows. */
function read({ code, value }: Capability): TypedCapability | undefined {
  const view = viewOf(value);
  const size = value.length;
  switch (code) {
    case cap.CAP_MULTIPROTOCOL: // RFC 4760 §8
      return size === 4 ? { kind: 'multiprotocol', family: familyAt(view, 0, 3) } : undefined;
    case cap.CAP_ROUTE_REFRESH: // the empty ones are taken at their word even when they are not empty
      return { kind: 'route-refresh' };
    case cap.CAP_ENHANCED_REFRESH:
      return { kind: 'enhanced-refresh' };
    case cap.CAP_EXTENDED_MESSAGE:
      return { kind: 'extended-message' };
    case cap.CAP_LINK_LOCAL_NEXTHOP:
      return { kind: 'link-local-nexthop' };
    case cap.CAP_EXTENDED_NEXTHOP: // RFC 8950 §4: AFI, two octets of SAFI, AFI of the next hop
      if (size % 6 !== 0) return undefined;
      return {
        kind: 'extended-nexthop',
        nextHops: entries(size, 6, (at) => ({ family: familyAt(view, at, 3), nextHopAfi: view.getUint16(at + 4) })),
      };
    case cap.CAP_ROLE:
      return size === 1 ? { kind: 'role', role: view.getUint8(0) } : undefined;
    case cap.CAP_GRACEFUL_RESTART: // RFC 4724 §3
      return size >= 2 && size % 4 === 2 ? readRestart(view, size) : undefined;
    case cap.CAP_ASN4:
      return size === 4 ? { kind: 'asn4', asn: view.getUint32(0) } : undefined;
    case cap.CAP_ADDPATH:
      return size % 4 === 0 ? { kind: 'addpath', families: readAddPath(view, size) } : undefined;
    case cap.CAP_LLGR: // RFC 9494 §3.1
      if (size % 7 !== 0) return undefined;
      return {
        kind: 'llgr',
        families: entries(size, 7, (at) => ({
          family: familyAt(view, at, 2),
          forwarding: (view.getUint8(at + 3) & 0x80) !== 0,
          staleTimeSeconds: view.getUint32(at + 3) & 0xffffff,
        })),
      };
    case cap.CAP_FQDN:
      return readFqdn(value);
    case cap.CAP_SOFTWARE_VERSION:
      if (size < 1 || value[0]! > size - 1) return undefined;
      return { kind: 'software-version', version: decodeUtf8(value, 1, value[0]).text };
    default:
      return { kind: 'unknown', code, value };
  }
}

/** `afi` in two octets at `at`, SAFI in one at `at + safiAt`. */
function familyAt(view: DataView, at: number, safiAt: number): Family {
  return (view.getUint16(at) << 8) | view.getUint8(at + safiAt);
}

function entries<T>(size: number, step: number, entry: (at: number) => T): readonly T[] {
  return Array.from({ length: size / step }, (_, index) => entry(index * step));
}

function readRestart(view: DataView, size: number): GracefulRestart {
  const head = view.getUint16(0);
  return {
    kind: 'graceful-restart',
    restarting: (head & 0x8000) !== 0,
    notification: (head & 0x4000) !== 0,
    restartTimeSeconds: head & 0xfff,
    families: entries(size - 2, 4, (at) => ({
      family: familyAt(view, at + 2, 2),
      forwarding: (view.getUint8(at + 5) & 0x80) !== 0,
    })),
  };
}

/**
 * RFC 7911 §4. An entry with a mode other than 1..3 is passed over, not the capability with it: the peer goes on to send path
 * identifiers for the families it announced well. The first entry of a family counts.
 */
function readAddPath(view: DataView, size: number): readonly AddPath[] {
  const families: AddPath[] = [];
  for (let at = 0; at < size; at += 4) {
    const family = familyAt(view, at, 2);
    const mode = MODES[view.getUint8(at + 3) - 1];
    if (mode !== undefined && !families.some((known) => known.family === family)) families.push({ family, mode });
  }
  return families;
}

function readFqdn(value: Uint8Array): TypedCapability | undefined {
  const hostLength = value[0];
  if (hostLength === undefined || 1 + hostLength > value.length) return undefined;
  const domainAt = 2 + hostLength;
  const domainLength = value[domainAt - 1] ?? 0;
  if (domainAt - 1 < value.length && domainAt + domainLength > value.length) return undefined;
  return {
    kind: 'fqdn',
    host: decodeUtf8(value, 1, hostLength).text,
    domain: domainLength === 0 ? '' : decodeUtf8(value, domainAt, domainLength).text,
  };
}

/** The capability as sent. Texts are cut to what their length octets can say, lists to what 255 bytes hold. */
export function writeCapability(typed: TypedCapability): Capability {
  switch (typed.kind) {
    case 'multiprotocol':
      return make(cap.CAP_MULTIPROTOCOL, [...u16(typed.family >>> 8), 0, typed.family & 0xff]);
    case 'route-refresh':
      return make(cap.CAP_ROUTE_REFRESH, []);
    case 'enhanced-refresh':
      return make(cap.CAP_ENHANCED_REFRESH, []);
    case 'extended-message':
      return make(cap.CAP_EXTENDED_MESSAGE, []);
    case 'link-local-nexthop':
      return make(cap.CAP_LINK_LOCAL_NEXTHOP, []);
    case 'extended-nexthop':
      return make(
        cap.CAP_EXTENDED_NEXTHOP,
        typed.nextHops.slice(0, 42).flatMap((n) => [...u16(n.family >>> 8), 0, n.family & 0xff, ...u16(n.nextHopAfi)]),
      );
    case 'role':
      return make(cap.CAP_ROLE, [typed.role]);
    case 'graceful-restart':
      return make(cap.CAP_GRACEFUL_RESTART, writeRestart(typed));
    case 'asn4':
      return make(cap.CAP_ASN4, [...u16(typed.asn >>> 16), ...u16(typed.asn & 0xffff)]);
    case 'addpath':
      return make(
        cap.CAP_ADDPATH,
        typed.families.slice(0, 63).flatMap((f) => [...u16(f.family >>> 8), f.family & 0xff, MODES.indexOf(f.mode) + 1]),
      );
    case 'llgr':
      return make(
        cap.CAP_LLGR,
        typed.families
          .slice(0, 36)
          .flatMap((f) => [
            ...u16(f.family >>> 8),
            f.family & 0xff,
            f.forwarding ? 0x80 : 0,
            (f.staleTimeSeconds >>> 16) & 0xff,
            ...u16(f.staleTimeSeconds & 0xffff),
          ]),
      );
    case 'fqdn': {
      const host = encodeUtf8(typed.host, 64);
      const domain = encodeUtf8(typed.domain, 189);
      return make(cap.CAP_FQDN, [host.length, ...host, domain.length, ...domain]);
    }
    case 'software-version': {
      const version = encodeUtf8(typed.version, 64);
      return make(cap.CAP_SOFTWARE_VERSION, [version.length, ...version]);
    }
    case 'unknown':
    case 'malformed':
      return { code: typed.code, value: typed.value };
  }
}

function writeRestart(typed: GracefulRestart): number[] {
  const flags = (typed.restarting ? 0x8000 : 0) | (typed.notification ? 0x4000 : 0);
  return [
    ...u16(flags | (typed.restartTimeSeconds & 0xfff)),
    ...typed.families.slice(0, 63).flatMap((f) => [...u16(f.family >>> 8), f.family & 0xff, f.forwarding ? 0x80 : 0]),
  ];
}

function u16(value: number): [number, number] {
  return [(value >>> 8) & 0xff, value & 0xff];
}

function make(code: number, value: readonly number[]): Capability {
  return { code, value: Uint8Array.from(value) };
}
