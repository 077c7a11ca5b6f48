/**
 * Many routes through `update-route`: prefixes with equal attributes go in one command, commands are pipelined within a
 * window of bytes. Of two changes to one prefix in the same turn the later one counts, so order between groups is free.
 */
import type { RouteCounts, RouteDone } from './engine-calls.ts';

export interface RouteAttributes {
  /** An address or `self`. */
  readonly nextHop: string;
  readonly origin?: 'igp' | 'egp' | 'incomplete' | undefined;
  readonly asPath?: readonly number[] | undefined;
  readonly med?: number | undefined;
  readonly localPreference?: number | undefined;
  /** `64500:1` */
  readonly communities?: readonly string[] | undefined;
  /** `64500:1:2` */
  readonly largeCommunities?: readonly string[] | undefined;
  /** `target:64500:9` */
  readonly extendedCommunities?: readonly string[] | undefined;
  /** ADD-PATH identifier (RFC 7911), u32. Routes of one prefix with different ones are different routes. */
  readonly pathId?: number | undefined;
}

export interface RouteSenderOptions {
  /** Peers that get the routes. Default `*`. */
  readonly selector?: string | undefined;
  /** Bytes of commands sent and not answered yet. Default 4 MiB. */
  readonly windowBytes?: number | undefined;
  /** Default 500. */
  readonly prefixesPerCommand?: number | undefined;
}

export interface SentRoutes {
  readonly announced: number;
  readonly withdrawn: number;
  readonly routesSent: number;
  /** Commands that failed, and why the first hundred did. */
  readonly failed: number;
  readonly faults: readonly unknown[];
}

/** Changes gathered past which the turn's end is not waited for, and past which `ready` sends them. */
const GATHERED = 10_000;
const GATHERED_READY = 1000;
/** Characters sent past which `ready` gives the event loop a turn: to write, and to read answers. */
const TURN_CHARACTERS = 256 * 1024;
/** Beginnings of commands that are remembered from one sending to the next. */
const MAX_HEADS = 1024;
const MAX_FAULTS = 100;
const PREFIX = /^[0-9a-fA-F.:]+\/\d{1,3}$/;
const TOKEN = /^[^\s[\],"\\]+$/;

/** Commands that begin alike, up to their prefixes. */
interface Head {
  /** Ends with a blank. */
  readonly text: string;
  /** Filled while changes are sent. */
  prefixes: string[];
}

/** Stands for a withdraw where an attribute text stands. */
const WITHDRAW = '';

/** The attributes as `update text` takes them. Throws TypeError when a value is no single word. */
export function attributeText(attributes: RouteAttributes): string {
  const words = [`next-hop ${token(attributes.nextHop)}`];
  if (attributes.origin !== undefined) words.push(`origin ${token(attributes.origin)}`);
  if (attributes.asPath !== undefined && attributes.asPath.length > 0) words.push(`as-path [${attributes.asPath.join(' ')}]`);
  if (attributes.med !== undefined) words.push(`med ${attributes.med}`);
  if (attributes.localPreference !== undefined) words.push(`local-preference ${attributes.localPreference}`);
  if (attributes.communities !== undefined && attributes.communities.length > 0)
    words.push(`community ${list(attributes.communities)}`);
  if (attributes.largeCommunities !== undefined && attributes.largeCommunities.length > 0) {
    words.push(`large-community ${list(attributes.largeCommunities)}`);
  }
  if (attributes.extendedCommunities !== undefined && attributes.extendedCommunities.length > 0) {
    words.push(`extended-community ${list(attributes.extendedCommunities)}`);
  }
  // Before `nlri` it holds for every family of the command.
  if (attributes.pathId !== undefined) words.push(`path-information ${pathIdText(attributes.pathId)}`);
  return words.join(' ');
}

function pathIdText(id: number): string {
  if (!Number.isInteger(id) || id < 0 || id > 0xffff_ffff) throw new TypeError(`not a path identifier: ${id}`);
  return String(id);
}

function token(word: string): string {
  if (!TOKEN.test(word)) throw new TypeError(`not a word of a route command: ${JSON.stringify(word)}`);
  return word;
}

function list(words: readonly string[]): string {
  return `[${words.map(token).join(' ')}]`;
}

/** Whoever can send a route command: a `Plugin`, an `Engine`. */
export interface RouteTarget {
  sendRoute(peerSelector: string, command: string, done: RouteDone): void;
  /** The same for a command in two pieces, of which `prefixes` holds nothing that JSON would escape. `done` is for many commands. */
  sendPrefixes?(peerSelector: string, head: string, prefixes: string, done: RouteDone): void;
}

/**
 * `announce` and `withdraw` gather changes, which leave at the end of the turn or in `ready`; `ready` holds the author back, `finish` waits
 * for every answer. Nothing throws for what the engine refuses: it is counted and told by `finish`.
 */
export class RouteSender {
  readonly #target: RouteTarget;
  readonly #selector: string;
  readonly #window: number;
  readonly #perCommand: number;
  /** By family and path: prefix → what is to become of it. */
  readonly #changes = new Map<string, Map<string, Head>>();
  #gathered = 0;
  readonly #heads = new Map<string, Head>();
  /** Of the change before: most have the same. */
  #lastFamily = '';
  #lastAttributes = '';
  #lastPath: number | undefined;
  #lastHead: Head | undefined;
  #lastRoutes: Map<string, Head> | undefined;
  readonly #texts = new WeakMap<RouteAttributes, string>();
  readonly #waiting: (() => void)[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  /** Characters of the commands that are not answered, by the mean of those sent together; and their number. */
  #outstanding = 0;
  #commands = 0;
  #sinceTurn = 0;
  #announced = 0;
  #withdrawn = 0;
  #routesSent = 0;
  #failed = 0;
  #faults: unknown[] = [];

  constructor(target: RouteTarget, options: RouteSenderOptions = {}) {
    this.#target = target;
    this.#selector = options.selector ?? '*';
    this.#window = options.windowBytes ?? 4 * 1024 * 1024;
    this.#perCommand = options.prefixesPerCommand ?? 500;
  }

  /**
   * `attributes` as an object (turned into text once) or as ready text, which names no path. Throws TypeError for a prefix that is none.
   */
  announce(family: string, prefix: string, attributes: RouteAttributes | string): void {
    if (typeof attributes === 'string') this.#change(family, prefix, attributes, undefined);
    else this.#change(family, prefix, this.#textOf(attributes), attributes.pathId);
  }

  /** Takes a route back; with `pathId`, that path alone. */
  withdraw(family: string, prefix: string, pathId?: number): void {
    this.#change(family, prefix, WITHDRAW, pathId);
  }

  /** Sends what is gathered, if it is much; resolves when there is room in the window. Await it between many changes. */
  async ready(): Promise<void> {
    if (this.#gathered >= GATHERED_READY) this.#send();
    while (this.#outstanding > this.#window) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#sinceTurn < TURN_CHARACTERS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#sinceTurn = 0;
  }

  /** Sends what is gathered and waits for every answer. The counts begin anew. */
  async finish(): Promise<SentRoutes> {
    this.#send();
    while (this.#commands > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const sent: SentRoutes = {
      announced: this.#announced,
      withdrawn: this.#withdrawn,
      routesSent: this.#routesSent,
      failed: this.#failed,
      faults: this.#faults,
    };
    this.#announced = this.#withdrawn = this.#routesSent = this.#failed = 0;
    this.#faults = [];
    return sent;
  }

  #textOf(attributes: RouteAttributes): string {
    let text = this.#texts.get(attributes);
    if (text === undefined) {
      text = attributeText(attributes);
      this.#texts.set(attributes, text);
    }
    return text;
  }

  #change(family: string, prefix: string, attributes: string, pathId: number | undefined): void {
    if (!PREFIX.test(prefix)) throw new TypeError(`not a prefix: ${JSON.stringify(prefix)}`);
    if (attributes !== this.#lastAttributes || family !== this.#lastFamily || pathId !== this.#lastPath) this.#forget();
    this.#lastHead ??= this.#headOf(family, attributes, pathId);
    this.#lastRoutes ??= this.#routesOf(family, pathId);
    this.#lastFamily = family;
    this.#lastAttributes = attributes;
    this.#lastPath = pathId;
    this.#lastRoutes.set(prefix, this.#lastHead);
    if (++this.#gathered >= GATHERED) this.#send();
    else this.#scheduled ??= setImmediate(() => this.#send());
  }

  #forget(): void {
    this.#lastHead = undefined;
    this.#lastRoutes = undefined;
  }

  #headOf(family: string, attributes: string, pathId: number | undefined): Head {
    const path = pathId === undefined ? '' : `path-information ${pathIdText(pathId)} `;
    const text =
      attributes === WITHDRAW
        ? `update text nlri ${token(family)} ${path}del `
        : `update text ${attributes} nlri ${token(family)} add `;
    let head = this.#heads.get(text);
    if (head === undefined) {
      head = { text, prefixes: [] };
      this.#heads.set(text, head);
    }
    return head;
  }

  #routesOf(family: string, pathId: number | undefined): Map<string, Head> {
    const key = pathId === undefined ? family : `${family} ${pathId}`;
    let routes = this.#changes.get(key);
    if (routes === undefined) {
      routes = new Map();
      this.#changes.set(key, routes);
    }
    return routes;
  }

  #send(): void {
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    this.#gathered = 0;
    const heads: Head[] = [];
    for (const routes of this.#changes.values()) {
      for (const [prefix, head] of routes) {
        if (head.prefixes.length === 0) heads.push(head);
        head.prefixes.push(prefix);
      }
    }
    this.#changes.clear();
    this.#forget();
    if (this.#heads.size > MAX_HEADS) this.#heads.clear();
    const together = new Together(this);
    for (const head of heads) {
      const { prefixes } = head;
      head.prefixes = [];
      for (let at = 0; at < prefixes.length; at += this.#perCommand) {
        const one = at + 1 === prefixes.length || this.#perCommand === 1;
        this.#command(head.text, one ? prefixes[at]! : prefixes.slice(at, at + this.#perCommand).join(' '), together);
      }
    }
  }

  #command(head: string, prefixes: string, together: Together): void {
    const length = head.length + prefixes.length;
    this.#commands++;
    this.#outstanding += length;
    this.#sinceTurn += length;
    together.sent(length);
    if (this.#target.sendPrefixes !== undefined) this.#target.sendPrefixes(this.#selector, head, prefixes, together);
    else this.#target.sendRoute(this.#selector, head + prefixes, together);
  }

  /** Of `Together`: one command was answered. */
  answered(length: number, counts: RouteCounts | undefined, error: unknown): void {
    this.#commands--;
    this.#outstanding = this.#commands === 0 ? 0 : this.#outstanding - length;
    if (counts === undefined) {
      this.#failed++;
      if (this.#faults.length < MAX_FAULTS) this.#faults.push(error);
    } else {
      this.#announced += counts.announced;
      this.#withdrawn += counts.withdrawn;
      this.#routesSent += counts.routesSent;
    }
    if (this.#waiting.length > 0 && this.#outstanding <= this.#window) for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** The commands sent at once: one object for all of them, each answer is for their mean length. */
class Together implements RouteDone {
  readonly #sender: RouteSender;
  #characters = 0;
  #commands = 0;

  constructor(sender: RouteSender) {
    this.#sender = sender;
  }

  sent(length: number): void {
    this.#characters += length;
    this.#commands++;
  }

  accepted(counts: RouteCounts): void {
    this.#sender.answered(this.#characters / this.#commands, counts, undefined);
  }

  refused(error: unknown): void {
    this.#sender.answered(this.#characters / this.#commands, undefined, error);
  }
}
