// What an unknown word was meant to be: a name nearby with other letters, the same name in another block, or what other programs
// call it.
import { childOf, type ContainerNode, type ParentNode, type SchemaNode } from '../../../yang/compile/schema.ts';
import { clamp } from '../fault.ts';
import type { Token } from './lexer.ts';
import { didYouMean } from './values.ts';

/** Names of other programs and of older releases, and where the thing stands here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  neighbor: 'bgp peer NAME',
  neighbour: 'bgp peer NAME',
  template: 'bgp group NAME',
  'peer-group': 'bgp group NAME',
  'hold-time': 'timer receive-hold-time',
  holdtime: 'timer receive-hold-time',
  'local-as': 'session asn local',
  'peer-as': 'session asn remote',
  'remote-as': 'session asn remote',
  'local-address': 'connection local ip',
  'peer-address': 'connection remote ip',
  passive: 'connection remote connect false',
  'md5-password': 'connection md5 password',
  'ttl-security': 'connection ttl max',
  'maximum-prefix': 'session family NAME prefix maximum',
  api: 'process NAME',
};

/** More names than this are no help in one line. */
const NAMES = 12;
const MOST_PLACES = 2;
/** Blocks that are looked into for a name, from where it was written. */
const DEPTH = 3;

/** The end of a message about an unknown word in a block; `root` is the whole schema, `path` where the block stands. */
export function suggestion(name: string, block: ParentNode, root: ContainerNode | undefined, path: string): string | undefined {
  // At the top a guess far below would be a wild one.
  const moved =
    placeOf(name, block, block.name === '' ? 1 : DEPTH) ?? (path.startsWith('bgp/') ? placeOf(name, peerOf(root)) : undefined);
  if (moved !== undefined) return `it stands in ${moved}`;
  const near = didYouMean(name, namesOf(block));
  if (near !== undefined) return near;
  return Object.hasOwn(ELSEWHERE, name) ? `here it is ${ELSEWHERE[name] ?? ''}` : undefined;
}

/** Keys stand behind the name of the list, never inside. */
function namesOf(block: ParentNode): readonly string[] {
  const keys = block.kind === 'list' ? block.keys : [];
  return block.children.map((child) => child.name).filter((name) => !keys.includes(name));
}

/** What may stand in a block, in words. */
export function fieldsOf(block: ParentNode): string | undefined {
  const names = namesOf(block);
  if (names.length === 0) return undefined;
  return `one of ${names.slice(0, NAMES).join(', ')}${names.length > NAMES ? ', …' : ''}`;
}

/** What to do when a statement does not end where it should. */
export function missingEnd(found: Token, leaf: SchemaNode | undefined, block: ParentNode | undefined): string | undefined {
  if (found.kind === '}') return 'a ";" is needed before "}" on the same line';
  if (found.kind !== 'word' && found.kind !== 'string') return undefined;
  if (found.kind === 'word' && block !== undefined && childOf(block, found.text) !== undefined)
    return `a ";" is needed before ${clamp(found.text)}`;
  return leaf?.kind === 'leaf' && leaf.type.base === 'string' && leaf.type.validate === undefined
    ? 'a value with blanks is written in quotes'
    : undefined;
}

function peerOf(root: ContainerNode | undefined): ParentNode | undefined {
  const bgp = root === undefined ? undefined : childOf(root, 'bgp');
  const peer = bgp?.kind === 'container' ? childOf(bgp, 'peer') : undefined;
  return peer?.kind === 'list' ? peer : undefined;
}

/** Containers on the way to the nearest nodes of that name; undefined when there is none, or too many to be a guess. */
function placeOf(name: string, from: ParentNode | undefined, deepest = DEPTH): string | undefined {
  let level: readonly (readonly [path: string, node: SchemaNode])[] = from?.children.map((child) => ['', child]) ?? [];
  for (let depth = 0; depth < deepest; depth++) {
    const found: string[] = [];
    const next: (readonly [string, SchemaNode])[] = [];
    for (const [path, node] of level) {
      if (node.kind !== 'container') continue;
      const own = path === '' ? node.name : `${path} ${node.name}`;
      for (const child of node.children) {
        if (child.name === name) found.push(own);
        next.push([own, child]);
      }
    }
    if (found.length > 0) return found.length > MOST_PLACES ? undefined : found.join(' or ');
    level = next;
  }
  return undefined;
}
