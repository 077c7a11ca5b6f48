/**
 * `update-route` over a link, where it comes by the hundred thousand. A command whose bytes begin like the one before, up to its
 * prefixes, means the same but for them: then nothing else is read. Any other is read whole, and remembered if it may come again.
 * Both go into one queue at once, so that the commands of a plugin keep their order; only a command that has to ask another plugin, or
 * is no route command, takes the longer way.
 */
import type { BulkReplies } from '../../sdk/rpc/bulk.ts';
import { decodePayload } from '../../sdk/rpc/decode.ts';
import { RpcError } from '../../sdk/rpc/errors.ts';
import { parseIpv4Nlri, parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';
import { AFI_IPV4, afiOf, isPrefixFamily } from '../../sdk/wire/family.ts';
import { writePrefix } from '../../sdk/wire/nlri/prefix.ts';
import type { UpdateRouteInput } from '../../yang/generated/methods.ts';
import type { Origination } from '../bgp/port.ts';
import type { Asker, RouteQueue } from './originations.ts';
import { metaText, type RouteCalls, routeOutput } from './route-calls.ts';

const METHOD = 'ze-plugin-engine:update-route';
const BLANK = 0x20;
const QUOTE = 0x22;
const BRACE = 0x7d;
/** Characters of the prefixes of one command that are read the short way. */
const MAX_TAIL = 64 * 1024;
/** Shortest prefix text and the blank behind it (`::/0 `, `1.1.1.1 `), and a prefix's bytes at most. */
const SHORTEST = 3;
const LONGEST = 17;

/** A command up to its prefixes, and what it means. */
interface Known {
  /** The params' first bytes. */
  readonly head: Uint8Array;
  readonly selector: string;
  readonly peers: readonly number[];
  readonly attributes: Uint8Array;
  readonly nextHop: Uint8Array;
  readonly family: number;
  readonly announce: boolean;
}

export class RouteStream {
  readonly #plugin: string;
  readonly #owner: string;
  readonly #calls: RouteCalls;
  readonly #queue: RouteQueue;
  readonly #signal: AbortSignal;
  #known: Known | undefined;
  #selector: string | undefined;
  #peers: readonly number[] = [];
  #asker: Answerer | undefined;
  readonly #target = prefixTarget();
  #nlri = new Uint8Array(1024);

  constructor(plugin: string, calls: RouteCalls, queue: RouteQueue, signal: AbortSignal) {
    this.#plugin = plugin;
    this.#owner = `plugin:${plugin}`;
    this.#calls = calls;
    this.#queue = queue;
    this.#signal = signal;
  }

  /** A `BulkHandler`. Throws RpcError for what is refused at once. */
  take(bytes: Buffer, from: number, to: number, id: number, replies: BulkReplies): void {
    const known = this.#known;
    if (known !== undefined && begins(bytes, from, to, known.head) && this.#peersOf(known.selector) === known.peers) {
      const length = this.#read(bytes, from + known.head.length, to - 2, known.family);
      if (length > 0) {
        const { peers, attributes, nextHop, family, announce } = known;
        const asker = this.#askerOf(replies);
        this.#queue.routes(asker, id, to - from, this.#owner, peers, attributes, nextHop, family, announce, this.#nlri, length);
        return;
      }
    }
    this.#whole(bytes.subarray(from, to), id, replies);
  }

  #whole(params: Buffer, id: number, replies: BulkReplies): void {
    const input = decodePayload(METHOD, params);
    const command = input.command.trimStart();
    const selector = input['peer-selector'] ?? '*';
    const bytes = params.length;
    if (!command.startsWith('update ') || this.#calls.settling !== undefined) {
      this.#later(input, id, bytes, replies);
      return;
    }
    const peers = this.#peersOf(selector);
    const meta = metaText(input.meta);
    const prepared = this.#calls.prepare(this.#owner, peers, command, meta);
    if (prepared === undefined) {
      this.#later(input, id, bytes, replies);
      return;
    }
    const asker = this.#askerOf(replies);
    const run = meta === '' ? runOf(prepared) : undefined;
    if (run === undefined) {
      this.#queue.whole(asker, id, bytes, prepared);
      return;
    }
    const { attributes, nextHop } = prepared;
    const { family, announce, nlri } = run;
    this.#queue.routes(asker, id, bytes, this.#owner, prepared.peers, attributes, nextHop, family, announce, nlri, nlri.length);
    if (prepared.peers !== peers || !isPrefixFamily(family)) return;
    const head = headOf(params, selector, input.command);
    if (head !== undefined) this.#known = { head, selector, peers, attributes, nextHop, family, announce };
  }

  #later(input: UpdateRouteInput, id: number, bytes: number, replies: BulkReplies): void {
    this.#calls.update(this.#plugin, input, this.#signal).then(
      (output) => replies.ok(id, bytes, JSON.stringify(output)),
      (error: unknown) => replies.error(id, bytes, error),
    );
  }

  /** Who gets the routes. Worked out once a turn for commands that follow each other; the same array while it holds the same. */
  #peersOf(selector: string): readonly number[] {
    if (selector === this.#selector) return this.#peers;
    const peers = this.#calls.peersOf(this.#plugin, selector);
    if (!equal(peers, this.#peers)) this.#peers = peers;
    if (this.#selector === undefined) setImmediate(() => (this.#selector = undefined));
    this.#selector = selector;
    return this.#peers;
  }

  #askerOf(replies: BulkReplies): Answerer {
    if (this.#asker?.replies !== replies) this.#asker = new Answerer(replies);
    return this.#asker;
  }

  /** The prefixes from `from` to `to`, where the command should end, as NLRI; returns their bytes, 0 when they are anything else. */
  #read(line: Buffer, from: number, to: number, family: number): number {
    if (to <= from || to - from > MAX_TAIL || line[to] !== QUOTE || line[to + 1] !== BRACE) return 0;
    const room = ((to - from) / SHORTEST + 1) * LONGEST;
    if (room > this.#nlri.length) this.#nlri = new Uint8Array(2 * room);
    const isIpv4 = afiOf(family) === AFI_IPV4;
    let used = 0;
    for (let at = from; at < to; ) {
      let end = at;
      while (end < to && line[end] !== BLANK) end++;
      let next = isIpv4 ? parseIpv4Nlri(line, at, end, this.#nlri, used) : -1;
      if (next < 0) next = this.#readText(line.toString('latin1', at, end), used, isIpv4 ? 4 : 16);
      if (next < 0) return 0;
      used = next;
      at = end + 1;
    }
    return used;
  }

  /** A prefix in any spelling; returns the offset behind it, -1 when it is none of these addresses. */
  #readText(text: string, used: number, addressLength: number): number {
    const target = this.#target;
    if (!parsePrefix(text, target) || target.addressLength !== addressLength) return -1;
    return writePrefix(this.#nlri, used, target.bytes, 0, target.lengthBits, false, 0);
  }
}

/** Answers the commands of one link. */
class Answerer implements Asker {
  readonly replies: BulkReplies;
  /** The result before: most commands of a run have the same. */
  #announced = -1;
  #withdrawn = -1;
  #peers = -1;
  #sent = -1;
  #text = '';

  constructor(replies: BulkReplies) {
    this.replies = replies;
  }

  done(id: number, bytes: number, counts: Uint32Array, at: number): void {
    const announced = counts[at]!;
    const withdrawn = counts[at + 1]!;
    const peers = counts[at + 2]!;
    const sent = counts[at + 3]!;
    if (announced !== this.#announced || withdrawn !== this.#withdrawn || peers !== this.#peers || sent !== this.#sent) {
      this.#announced = announced;
      this.#withdrawn = withdrawn;
      this.#peers = peers;
      this.#sent = sent;
      this.#text = JSON.stringify(routeOutput({ announced, withdrawn, peersAffected: peers, routesSent: sent }));
    }
    this.replies.ok(id, bytes, this.#text);
  }

  failed(id: number, bytes: number, error: unknown): void {
    this.replies.error(id, bytes, error instanceof RpcError ? error : new RpcError('error', String(error), { cause: error }));
  }
}

/** What a command amounts to when it is one run of NLRI. */
function runOf({
  sections,
}: Origination): { readonly family: number; readonly announce: boolean; readonly nlri: Uint8Array } | undefined {
  const section = sections[0];
  if (section === undefined || sections.length > 1 || section.eor || section.pathId !== 0) return undefined;
  const { family, announce, withdraw } = section;
  if (withdraw.length === 0) return announce.length === 0 ? undefined : { family, announce: true, nlri: announce };
  return announce.length === 0 ? { family, announce: false, nlri: withdraw } : undefined;
}

/** The params up to the prefixes of a command that parsed as one run, when they are written as everybody writes them. */
function headOf(params: Buffer, selector: string, command: string): Uint8Array | undefined {
  const verb = Math.max(command.lastIndexOf(' add '), command.lastIndexOf(' del ')) + ' add '.length;
  const nlri = command.lastIndexOf('nlri ', verb);
  // One verb right behind the family: whatever else stands there would be part of the head and of what it means.
  if (nlri < 0 || !/^nlri [a-z0-9/-]+ (?:add|del) $/.test(command.slice(nlri, verb))) return undefined;
  const head = `{"peer-selector":"${selector}","command":"${command.slice(0, verb)}`;
  // Read back as it was written: no escapes, no other members, nothing beyond ASCII.
  if (params.toString('latin1') !== `${head}${command.slice(verb)}"}` || !/^[ -~]*$/.test(head)) return undefined;
  return new Uint8Array(params.subarray(0, head.length));
}

function begins(bytes: Uint8Array, from: number, to: number, head: Uint8Array): boolean {
  if (to - from < head.length) return false;
  // From the end: texts differ there.
  for (let i = head.length - 1; i >= 0; i--) if (bytes[from + i] !== head[i]) return false;
  return true;
}

function equal(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
