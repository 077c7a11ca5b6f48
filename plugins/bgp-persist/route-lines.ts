/**
 * Routes of one peer as text to keep: a line a run, `FAMILY PATH-ID ATTRIBUTES NEXT-HOP NLRI`, bytes in hex, `-` for none (the next hop: ours).
 * A line is a route command but for its words, so that what is read back is judged again as any command is.
 */
import { fromHex, toHex, viewOf } from '../../sdk/wire/bytes.ts';
import { isPrefixFamily, parseFamily } from '../../sdk/wire/family.ts';
import { entryLength } from '../../sdk/wire/nlri/syntax.ts';

/** A record of `rib originations`. */
export interface Run {
  readonly peer: string;
  readonly owner: string;
  readonly family: string;
  readonly 'path-id': number;
  readonly attributes: string;
  readonly 'next-hop': string;
  readonly nlri: string;
}

const LINE = /^(\S{1,64}) (\d{1,10}) ((?:[0-9a-f]{2})+|-) ((?:[0-9a-f]{2})+|-) ((?:[0-9a-f]{2})+)$/;
/** ORIGIN igp: a command needs attributes, and this is what the engine fills in for a route that has none. */
const ORIGIN = '40010100';

export function lineOf(run: Run): string {
  return [run.family, run['path-id'], run.attributes || '-', run['next-hop'] || '-', run.nlri].join(' ');
}

/** Undefined when the text is no such line. */
export function runOf(peer: string, line: string): Run | undefined {
  const [, family = '', path = '', attributes = '', hop = '', nlri = ''] = LINE.exec(line) ?? [];
  if (family === '') return undefined;
  const bytes = (text: string): string => (text === '-' ? '' : text);
  return { peer, owner: '', family, 'path-id': Number(path), attributes: bytes(attributes), 'next-hop': bytes(hop), nlri };
}

/** The single routes of a run; empty when they cannot be told apart. */
export function entriesOf({ family, nlri }: Run): readonly string[] {
  const bytes = fromHex(nlri);
  const number = parseFamily(family);
  if (bytes === undefined) return [];
  const view = viewOf(bytes);
  const entries: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = entryLength(view, at, bytes.length - at, number, false);
    if (size <= 0) return [];
    entries.push(toHex(bytes.subarray(at, at + size)));
    at += size;
  }
  return entries;
}

/** The command that announces these entries of the run again; undefined for what no command can say. */
export function commandOf(run: Run, entries: readonly string[]): string | undefined {
  const { family, attributes } = run;
  const path = run['path-id'];
  if (entries.length === 0 || (path !== 0 && !isPrefixFamily(parseFamily(family)))) return undefined;
  const id = path === 0 ? '' : path.toString(16).padStart(8, '0');
  const hop = run['next-hop'] === '' ? 'self' : run['next-hop'];
  const add = path === 0 ? 'add' : 'addpath add';
  return `update hex attr set ${attributes || ORIGIN} nhop set ${hop} nlri ${family} ${add} ${entries.map((entry) => id + entry).join('')}`;
}
