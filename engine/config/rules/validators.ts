// The named validators of `ze:validate`: what a type cannot say. A schema that names one that is not here is refused at start.
import { addressBytes, parseDecimal, parseIpv4, parsePrefix, prefixTarget } from '../../../sdk/wire/address.ts';
import { parseExtendedCommunity } from '../../../sdk/wire/attribute/community.ts';
import { compilePattern, PatternError } from '../../../sdk/policy/pattern-program.ts';
import { type Family, familyName, NAMED_FAMILIES, NO_FAMILY, standardFamily } from '../../../sdk/wire/family.ts';

import { matchesName } from '../settings/name-pattern.ts';

export interface Validator {
  /** What it accepts, in words that follow "is not". */
  readonly expected: string;
  readonly accepts: (text: string) => boolean;
  /** Words it accepts, for completion and guesses. */
  readonly words?: readonly string[];
}

export type Validators = ReadonlyMap<string, Validator>;

/** Kinds a registry knows beyond the built-in ones: what plugins have added. */
export interface Registered {
  readonly eventKinds?: readonly string[] | undefined;
  readonly sendKinds?: readonly string[] | undefined;
  /** Families by their names in lower case, where the name says nothing of the numbers. */
  readonly families?: ReadonlyMap<string, Family> | undefined;
  /** Filters that plugins declare, where they were asked: by plugin. */
  readonly filters?: ReadonlyMap<string, readonly OfferedFilter[]> | undefined;
}

export interface OfferedFilter {
  readonly name: string;
  readonly direction: string;
}

export const FAMILY_EXPECTED = 'an address family such as ipv4/unicast';

/** A family by its name, a plugin's own names included; NO_FAMILY when nobody knows it. */
export function familyOfName(text: string, families: ReadonlyMap<string, Family> | undefined): Family {
  return families?.get(text.toLowerCase()) ?? standardFamily(text);
}

export const EVENT_KINDS: readonly string[] = [
  'update',
  'open',
  'notification',
  'keepalive',
  'refresh',
  'state',
  'sent',
  'negotiated',
  'eor',
  'congested',
  'resumed',
  'rpki',
  'update-rpki',
];
export const SEND_KINDS: readonly string[] = ['update', 'refresh', 'raw', 'enhanced-refresh'];
export const LOG_LEVELS: readonly string[] = ['disabled', 'error', 'warn', 'info', 'debug', 'trace'];

/** Well-known communities (RFC 1997, RFC 3765, RFC 7999) by their config names. */
const COMMUNITY_WORDS = ['no-export', 'no-advertise', 'no-export-subconfed', 'nopeer', 'blackhole'];

/** Words of the command language that a peer selector could not be told from. */
const COMMAND_WORDS = new Set(
  'list detail pause resume flush teardown capabilities statistics update raw refresh borr eorr clear plugin'.split(' '),
);

const isIpv4 = (text: string): boolean => parseIpv4(text) >= 0;
const isIpv6 = (text: string): boolean => text.includes(':') && addressBytes(text) !== undefined;
const isDecimal = (text: string, maximum: number): boolean => parseDecimal(text, 0, text.length, maximum) >= 0;
const U16 = 0xffff;
const U32 = 0xffffffff;

function isPrefix(text: string, length: number): boolean {
  const target = prefixTarget();
  return text.includes('/') && parsePrefix(text, target) && target.addressLength === length;
}

function isParts(text: string, ...maxima: readonly number[]): boolean {
  const parts = text.split(':');
  return parts.length === maxima.length && parts.every((part, index) => isDecimal(part, maxima[index]!));
}

function isRouteDistinguisher(text: string): boolean {
  const colon = text.lastIndexOf(':');
  if (colon < 0) return false;
  const head = text.slice(0, colon);
  const tail = text.slice(colon + 1);
  if (isIpv4(head)) return isDecimal(tail, U16);
  return isDecimal(head, U16) ? isDecimal(tail, U32) : isDecimal(head, U32) && isDecimal(tail, U16);
}

function isExpression(text: string): boolean {
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}

function isPathPattern(text: string): boolean {
  try {
    compilePattern(text);
    return true;
  } catch (error) {
    if (error instanceof PatternError) return false;
    throw error;
  }
}

/** The first moment of a day as `YYYY-MM-DD`, milliseconds since 1970 UTC; undefined when there is no such day. */
export function dateOf(text: string): number | undefined {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text ? undefined : at;
}

/** `500ms`, `30s`, `5m`, `2h`, several of them as in `1m30s`, seconds without a unit; milliseconds, or -1. */
export function parseDuration(text: string): number {
  const number = String.raw`\d{1,9}(?:\.\d{1,3})?`;
  if (new RegExp(`^${number}$`).test(text)) return Math.round(Number(text) * 1000);
  if (!new RegExp(`^(?:${number}(?:ms|s|m|h)){1,4}$`).test(text)) return -1;
  let total = 0;
  for (const [, count, unit] of text.matchAll(/([\d.]+)(ms|s|m|h)/g)) {
    total += Number(count) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[unit as 'ms' | 's' | 'm' | 'h'];
  }
  return Math.round(total);
}

export function makeValidators(registered: Registered = {}): Validators {
  const eventKinds = [...EVENT_KINDS, ...(registered.eventKinds ?? [])];
  const sendKinds = [...SEND_KINDS, ...(registered.sendKinds ?? [])];
  const word = (expected: string, words: readonly string[]): Validator => ({
    expected,
    words,
    accepts: (text) => words.includes(text),
  });
  return new Map<string, Validator>([
    ['ipv4-address', { expected: 'an IPv4 address', accepts: isIpv4 }],
    ['ipv6-address', { expected: 'an IPv6 address', accepts: isIpv6 }],
    ['ipv4-prefix', { expected: 'an IPv4 prefix', accepts: (text) => isPrefix(text, 4) }],
    ['ipv6-prefix', { expected: 'an IPv6 prefix', accepts: (text) => isPrefix(text, 16) }],
    ['nonzero-ipv4', { expected: 'an IPv4 address other than 0.0.0.0', accepts: (text) => parseIpv4(text) > 0 }],
    [
      'ip-or-auto',
      { expected: 'an IP address or auto', words: ['auto'], accepts: (text) => text === 'auto' || isIpv4(text) || isIpv6(text) },
    ],
    ['literal-self', word('self', ['self'])],
    [
      'next-hop-rule',
      {
        expected: 'auto, self, unchanged or an IP address',
        words: ['auto', 'self', 'unchanged'],
        accepts: (text) => ['auto', 'self', 'unchanged'].includes(text) || isIpv4(text) || isIpv6(text),
      },
    ],
    [
      'registered-address-family',
      {
        expected: FAMILY_EXPECTED,
        words: [...NAMED_FAMILIES.map(familyName), ...(registered.families?.keys() ?? [])],
        accepts: (text) => familyOfName(text, registered.families) !== NO_FAMILY,
      },
    ],
    ['ignore-mismatch', word('ignore-mismatch', ['ignore-mismatch'])],
    ['receive-event-type', { ...word('a registered event kind', eventKinds) }],
    ['send-message-type', { ...word('a registered send kind', sendKinds) }],
    [
      'community',
      {
        expected: 'a community such as 64500:1 or no-export',
        words: COMMUNITY_WORDS,
        accepts: (text) => COMMUNITY_WORDS.includes(text) || isParts(text, U16, U16) || /^0x[0-9a-fA-F]{1,8}$/.test(text),
      },
    ],
    ['large-community', { expected: 'a large community A:B:C', accepts: (text) => isParts(text, U32, U32, U32) }],
    [
      'extended-community',
      {
        expected: 'an extended community such as target:64500:1',
        accepts: (text) => parseExtendedCommunity(text, new Uint8Array(8), 0),
      },
    ],
    ['community-range', { expected: 'a community range', accepts: (text) => isParts(text, U16, U16) }],
    ['route-distinguisher', { expected: 'a route distinguisher ASN:N or IP:N', accepts: isRouteDistinguisher }],
    ['path-information', { expected: 'a path identifier', accepts: (text) => isIpv4(text) || isDecimal(text, U32) }],
    [
      'aggregator',
      {
        expected: 'an aggregator AS:IP',
        accepts: (text) =>
          isDecimal(text.slice(0, Math.max(0, text.indexOf(':'))), U32) && isIpv4(text.slice(text.indexOf(':') + 1)),
      },
    ],
    ['date', { expected: 'a date such as 2026-01-31', accepts: (text) => dateOf(text) !== undefined }],
    ['duration', { expected: 'a duration such as 500ms, 30s or 5m', accepts: (text) => parseDuration(text) >= 0 }],
    [
      'log-level',
      { expected: `one of ${LOG_LEVELS.join(', ')}`, words: LOG_LEVELS, accepts: (text) => parseLogLevel(text) !== undefined },
    ],
    [
      'path-regex',
      { expected: `a regular expression in RE2's syntax (no back-references, no look-around)`, accepts: isPathPattern },
    ],
    ['name-pattern', { expected: 'a pattern of names', accepts: (text) => matchesName(text, '') !== undefined }],
    ['regex', { expected: 'a regular expression', accepts: isExpression }],
    [
      'peer-name',
      {
        expected: 'a peer name (letters, digits, "_", ".", "-"; not an address or a command word)',
        accepts: (text) => /[A-Za-z0-9]/.test(text) && !isIpv4(text) && !isIpv6(text) && !COMMAND_WORDS.has(text.toLowerCase()),
      },
    ],
    ['mac-address', { expected: 'a MAC address', accepts: (text) => /^[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}$/.test(text) }],
    ['port-spec', { expected: 'a port', accepts: (text) => isDecimal(text, U16) }],
  ]);
}

/** Levels as written by people (`INFO`, `warning`, `err`) in our spelling; `undefined` when it is none. */
export function parseLogLevel(text: string): string | undefined {
  const word = text.toLowerCase();
  const level = { warning: 'warn', err: 'error', off: 'disabled', none: 'disabled', disable: 'disabled' }[word] ?? word;
  return LOG_LEVELS.includes(level) ? level : undefined;
}
