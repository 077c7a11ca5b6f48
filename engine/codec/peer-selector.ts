/**
 * Which peers a command or a subscription means (daemon-cli §5): `*`, a remote address, a configured name, `as65001`, a glob
 * (`192.168.*.*`), `!x` for all but x, and comma lists. A list is the union of its positive members (every peer when it has
 * none) without its negative ones.
 */
import { addressBytes, formatAddress } from '../../sdk/wire/address.ts';
import type { Parsed } from './fault.ts';
import { refuse } from './fault.ts';

/** What a selector looks at. */
export interface SelectablePeer {
  readonly name: string;
  readonly remoteAddress: string;
  readonly remoteAs: number;
}

interface Term {
  readonly text: string;
  /** Canonical address, when the text is an IPv6 address in another spelling. */
  readonly address: string;
  /** -1 when the text is not `as<digits>`. */
  readonly as: number;
  readonly glob: boolean;
}

const MAX_TERMS = 4096;

export class PeerSelector {
  static readonly all = new PeerSelector('*', [], [], true);

  readonly text: string;
  readonly #positive: readonly Term[];
  readonly #negative: readonly Term[];
  readonly #all: boolean;

  private constructor(text: string, positive: readonly Term[], negative: readonly Term[], all: boolean) {
    this.text = text;
    this.#positive = positive;
    this.#negative = negative;
    this.#all = all;
  }

  /** `column` is where the text begins in the command it stands in, 1 when it stands alone. */
  static parse(text: string, column = 1): Parsed<PeerSelector> {
    const positive: Term[] = [];
    const negative: Term[] = [];
    let all = false;
    let at = 0;
    const parts = text.split(',');
    if (parts.length > MAX_TERMS) return refuse(`a peer selector has at most ${MAX_TERMS} members`, column);
    for (const part of parts) {
      const word = part.trim();
      const negated = word.startsWith('!');
      const name = negated ? word.slice(1).trim() : word;
      if (name === '') return refuse(text.trim() === '' ? 'empty peer selector' : 'empty member in peer selector', column + at);
      if (/[\s!]/.test(name)) return refuse(`bad peer selector: ${name}`, column + at);
      if (negated) negative.push(term(name));
      else if (name === '*') all = true;
      else positive.push(term(name));
      at += part.length + 1;
    }
    if (all && negative.length === 0) return { ok: true, value: PeerSelector.all };
    return { ok: true, value: new PeerSelector(text, positive, negative, all || positive.length === 0) };
  }

  /** The members of a `peers` list of a subscription, honoured all; none means every peer. */
  static ofList(list: readonly string[]): Parsed<PeerSelector> {
    const members = list.filter((member) => member !== '');
    return members.length === 0 ? { ok: true, value: PeerSelector.all } : PeerSelector.parse(members.join(','));
  }

  matches(peer: SelectablePeer): boolean {
    if (!this.#all && !this.#positive.some((term) => meets(term, peer))) return false;
    return !this.#negative.some((term) => meets(term, peer));
  }

  /** True when no peer is left out, whatever peers there are. */
  get everyPeer(): boolean {
    return this.#all && this.#negative.length === 0;
  }

  /** The one address the selector names, or undefined: `raw` takes no other. */
  get singleAddress(): string | undefined {
    const only = this.#positive[0];
    if (this.#all || this.#negative.length > 0 || this.#positive.length !== 1 || only === undefined) return undefined;
    return !only.glob && only.as < 0 && /[.:]/.test(only.text) ? only.address : undefined;
  }
}

function term(text: string): Term {
  const as = /^as(\d{1,10})$/i.exec(text)?.[1];
  return {
    text,
    address: canonicalAddress(text),
    as: as === undefined ? -1 : Number(as),
    glob: text.includes('*'),
  };
}

function meets(term: Term, peer: SelectablePeer): boolean {
  if (term.text === peer.name || term.address === peer.remoteAddress) return true;
  if (term.as >= 0) return term.as === peer.remoteAs;
  return term.glob && (globMatches(term.text, peer.remoteAddress) || globMatches(term.text, peer.name));
}

/** A `*` stands for any run of characters. Greedy with one step back, so that no pattern costs more than pattern × text. */
export function globMatches(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let mark = 0;
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++;
      mark = t;
    } else if (pattern[p] === text[t]) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++mark;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

/** The usual spelling of an IPv6 address (RFC 5952); any other text as it is. */
function canonicalAddress(text: string): string {
  if (!text.includes(':')) return text;
  const bytes = addressBytes(text);
  return bytes === undefined ? text : (formatAddress(bytes, 0, bytes.length) ?? text);
}
