// The words after `rib routes` and `rib best`: an optional scope, filters, at most one terminal.
import { type Family, NO_FAMILY, parseFamily } from '../../sdk/wire/family.ts';

export type Scope = 'received' | 'sent' | 'sent-received';
export type Terminal = 'json' | 'count' | 'prefix-summary' | 'reason' | 'status';

/** AS numbers that must stand in the path one after the other; `start`: at its beginning. */
export interface PathFilter {
  readonly start: boolean;
  readonly numbers: readonly number[];
}

export interface Query {
  readonly scope: Scope;
  /** NO_FAMILY = every family. */
  readonly family: Family;
  /** Beginning of the printed prefix; '' = any. */
  readonly prefix: string;
  readonly path: PathFilter | undefined;
  /** As printed: `64500:1`, `64500:1:2`, `target:64500:1`; '' = any. */
  readonly community: string;
  /** Lower case; '' = any. */
  readonly match: string;
  readonly terminal: Terminal;
}

export type ParsedQuery = { readonly ok: true; readonly value: Query } | { readonly ok: false; readonly error: string };

const SCOPES: readonly string[] = ['received', 'sent', 'sent-received'];
const WELL_KNOWN: Readonly<Record<string, string>> = {
  'graceful-shutdown': '65535:0',
  blackhole: '65535:666',
  'no-export': '65535:65281',
  'no-advertise': '65535:65282',
  'no-export-subconfed': '65535:65283',
  'no-peer': '65535:65284',
  'llgr-stale': '65535:6',
  'no-llgr': '65535:7',
};

/** `terminals`: those of the command, beside `json`. `scoped`: the command takes a scope. */
export function parseQuery(words: readonly string[], terminals: readonly Terminal[], scoped: boolean): ParsedQuery {
  let scope: Scope = 'sent-received';
  let family = NO_FAMILY;
  let prefix = '';
  let path: PathFilter | undefined;
  let community = '';
  let match = '';
  let terminal: Terminal | undefined;
  let at = 0;
  if (scoped && SCOPES.includes(words[0] ?? '')) scope = words[at++] as Scope;
  while (at < words.length) {
    const word = words[at++]!;
    if (word === 'json' || terminals.includes(word as Terminal)) {
      if (terminal !== undefined) return { ok: false, error: 'multiple terminals not allowed' };
      terminal = word as Terminal;
      continue;
    }
    if (!FILTERS.includes(word)) return { ok: false, error: `unknown keyword: ${word}` };
    if (terminal !== undefined) return { ok: false, error: `filter after terminal: ${word}` };
    const value = words[at++];
    if (value === undefined) return { ok: false, error: `${word} requires a value` };
    if (word === 'family') {
      family = parseFamily(value);
      if (family === NO_FAMILY) return { ok: false, error: `unknown family: ${value}` };
    } else if (word === 'prefix') prefix = value.toLowerCase();
    else if (word === 'community') community = WELL_KNOWN[value] ?? value;
    else if (word === 'match') match = value.toLowerCase();
    else {
      path = parsePath(value);
      if (path === undefined) return { ok: false, error: `bad path: ${value}` };
    }
  }
  return { ok: true, value: { scope, family, prefix, path, community, match, terminal: terminal ?? 'json' } };
}

const FILTERS: readonly string[] = ['family', 'prefix', 'path', 'aspath', 'community', 'match'];

function parsePath(text: string): PathFilter | undefined {
  const start = text.startsWith('^');
  const numbers = (start ? text.slice(1) : text).split(',').map((word) => (/^\d{1,10}$/.test(word) ? Number(word) : -1));
  return numbers.every((number) => number >= 0 && number <= 0xffffffff) ? { start, numbers } : undefined;
}

export function pathMatches(filter: PathFilter, path: readonly number[]): boolean {
  const last = filter.start ? 0 : path.length - filter.numbers.length;
  for (let from = 0; from <= last; from++) {
    if (filter.numbers.every((number, i) => path[from + i] === number)) return true;
  }
  return false;
}
