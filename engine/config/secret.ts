/**
 * Secrets in files: a leaf that the schema calls sensitive is stored with the prefix `$9$`, in the reversible code that routers of one
 * vendor made common: every octet becomes the distances between the characters that stand for it. It keeps a secret from a glance over the
 * shoulder and from a search, and from nobody who wants it. Plain secrets are read as well.
 */
import { createHash } from 'node:crypto';
import { extension, isParent, type SchemaNode } from '../../yang/compile/schema.ts';
import type { Branch, Value } from './tree/effective.ts';

export const SECRET_PREFIX = '$9$';
/** What is shown in a secret's place, whatever its length. */
export const SECRET_MASK = '********';

/** Characters in groups: one of the n-th group is followed by 3 - n that mean nothing. */
const GROUPS = ['QzF3n6/9CAtpu0O', 'B1IREhcSyrleKvMW8LXx', '7N-dVbwsY2g4oaJZGUDj', 'iHkq.mPf5T'];
const ALPHABET = GROUPS.join('');
/** Weights of the characters of an octet, by its place. */
const WEIGHTS = [
  [1, 4, 32],
  [1, 16, 32],
  [1, 8, 32],
  [1, 64],
  [1, 32],
  [1, 4, 16, 128],
  [1, 32, 64],
];

function padding(character: string): number {
  return 3 - GROUPS.findIndex((group) => group.includes(character));
}

/** The same text gives the same code, so that a file that is written again does not differ. */
export function encodeSecret(text: string): string {
  const noise = createHash('sha256').update(text).digest();
  const pick = (at: number): string => ALPHABET[noise[at]! % ALPHABET.length]!;
  const salt = pick(0);
  let code = SECRET_PREFIX + salt;
  for (let i = 0; i < padding(salt); i++) code += pick(1 + i);
  let before = ALPHABET.indexOf(salt);
  Buffer.from(text, 'utf8').forEach((octet, place) => {
    const gaps: number[] = [];
    let rest = octet;
    for (const weight of [...WEIGHTS[place % WEIGHTS.length]!].reverse()) {
      gaps.unshift(Math.floor(rest / weight));
      rest %= weight;
    }
    for (const gap of gaps) {
      before = (before + gap + 1) % ALPHABET.length;
      code += ALPHABET[before]!;
    }
  });
  return code;
}

/** `undefined` when it is no such code. */
export function decodeSecret(code: string): string | undefined {
  const salt = code[SECRET_PREFIX.length];
  if (!code.startsWith(SECRET_PREFIX) || salt === undefined || !ALPHABET.includes(salt)) return undefined;
  let at = SECRET_PREFIX.length + 1 + padding(salt);
  if (at > code.length) return undefined;
  let before = ALPHABET.indexOf(salt);
  const octets: number[] = [];
  while (at < code.length) {
    let octet = 0;
    for (const weight of WEIGHTS[octets.length % WEIGHTS.length]!) {
      const now = ALPHABET.indexOf(code[at++] ?? ' ');
      if (now < 0) return undefined;
      octet += weight * ((now - before - 1 + 2 * ALPHABET.length) % ALPHABET.length);
      before = now;
    }
    octets.push(octet % 256);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(octets));
  } catch {
    return undefined;
  }
}

/** What a statement of this node holds is shown to nobody. */
export function isSecret(node: SchemaNode): boolean {
  return extension(node, 'sensitive') !== undefined;
}

/** Names of leaves that the schema calls sensitive anywhere. */
export function secretNames(root: SchemaNode): ReadonlySet<string> {
  const names = new Set<string>();
  const walk = (node: SchemaNode): void => {
    if (isSecret(node)) names.add(node.name);
    if (isParent(node)) for (const child of node.children) walk(child);
  };
  walk(root);
  return names;
}

/** Every secret that is set, as the daemon uses it. */
export function secretsOf(tree: Branch): readonly string[] {
  const found = new Set<string>();
  const walk = (value: Value): void => {
    if (value.kind === 'leaf' && isSecret(value.schema)) found.add(value.text);
    if (value.kind === 'branch') for (const child of value.children.values()) walk(child);
    if (value.kind === 'list') for (const entry of value.entries.values()) walk(entry);
  };
  walk(tree);
  return [...found];
}
