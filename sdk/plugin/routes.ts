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

/** Changes gathered past which the turn's end is not waited for. */
const GATHERED = 10_000;
const MAX_FAULTS = 100;
const PREFIX = /^[0-9a-fA-F.:]+\/\d{1,3}$/;
const TOKEN = /^[^\s[\],"\\]+$/;
/** One route's change: what a command for it begins with, and its prefix. */
interface Change {
  readonly head: string;
  readonly prefix: string;
}

/** Stands for a withdraw where an attribute text stands. */
const WITHDRAW = '';

/** The attributes as `update text` takes them. Throws TypeError when a value is no single word. */
export function attributeText(attributes: RouteAttributes): string {
  const words = [`next-hop ${token(attributes.nextHop)}`];
  if (attributes.origin !== undefined) words.push(`origin ${token(attributes.origin)}`);
  if (attributes.asPath !== undefined && attributes.asPath.length > 0)
    words.push(`as-path ${list(attributes.asPath.map(String))}`);
  if (attributes.med !== undefined) words.push(`med ${token(String(attributes.med))}`);
  if (attributes.localPreference !== undefined) words.push(`local-preference ${token(String(attributes.localPreference))}`);
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
}

/**
 * `announce` and `withdraw` gather changes, which leave at the end of the turn; `ready` holds the author back, `finish` waits for every
 * answer. Nothing throws for what the engine refuses: it is counted and told by `finish`.
 */
export class RouteSender {
  readonly #target: RouteTarget;
  readonly #selector: string;
  readonly #window: number;
  readonly #perCommand: number;
  /** `family prefix path` → what is to become of it. */
  readonly #changes = new Map<string, Change>();
  readonly #texts = new WeakMap<RouteAttributes, string>();
  readonly #waiting: (() => void)[] = [];
  #scheduled: NodeJS.Immediate | undefined;
  #outstanding = 0;
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

  /** Resolves when there is room in the window: await it between many changes. */
  async ready(): Promise<void> {
    if (this.#changes.size >= GATHERED) this.#send();
    while (this.#outstanding > this.#window) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Sends what is gathered and waits for every answer. The counts begin anew. */
  async finish(): Promise<SentRoutes> {
    this.#send();
    while (this.#outstanding > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
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
    const path = pathId === undefined ? '' : `path-information ${pathIdText(pathId)} `;
    const head =
      attributes === WITHDRAW
        ? `update text nlri ${token(family)} ${path}del`
        : `update text ${attributes} nlri ${token(family)} add`;
    this.#changes.set(`${family} ${prefix} ${path}`, { head, prefix });
    if (this.#changes.size >= GATHERED) this.#send();
    else this.#scheduled ??= setImmediate(() => this.#send());
  }

  #send(): void {
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    const groups = new Map<string, string[]>();
    for (const { head, prefix } of this.#changes.values()) {
      const group = groups.get(head);
      if (group === undefined) groups.set(head, [prefix]);
      else group.push(prefix);
    }
    this.#changes.clear();
    for (const [head, prefixes] of groups) {
      for (let at = 0; at < prefixes.length; at += this.#perCommand) {
        this.#command(`${head} ${prefixes.slice(at, at + this.#perCommand).join(' ')}`);
      }
    }
  }

  #command(command: string): void {
    this.#outstanding += command.length;
    this.#target.sendRoute(this.#selector, command, new Outstanding(this, command.length));
  }

  /** Of `Outstanding`: one command was answered. */
  answered(length: number, counts: RouteCounts | undefined, error: unknown): void {
    this.#outstanding -= length;
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

/** A command under way: one small object each, tens of thousands at a time. */
class Outstanding implements RouteDone {
  readonly #sender: RouteSender;
  readonly #length: number;

  constructor(sender: RouteSender, length: number) {
    this.#sender = sender;
    this.#length = length;
  }

  accepted(counts: RouteCounts): void {
    this.#sender.answered(this.#length, counts, undefined);
  }

  refused(error: unknown): void {
    this.#sender.answered(this.#length, undefined, error);
  }
}
