/**
 * The engine's resolver for plugins (plugin-rpc-types §5.12): questions to the system's name servers by `node:dns`, which waits in
 * nobody's way. Records are written as in a zone file. The time to live is known for addresses alone: the library tells it for A and
 * AAAA, every other answer has 0. At most 64 questions are on their way and 1,024 wait; more are refused. A question without an
 * answer after 10 s is SERVFAIL.
 */
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Clock } from '../../core/clock.ts';

export type DnsStatus = 'NOERROR' | 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED';

export interface DnsAnswer {
  readonly records: readonly string[];
  /** Seconds; the least of the records, 0 when it is not known. */
  readonly ttl: number;
  readonly status: DnsStatus;
}

/** The questions asked of `node:dns`; tests put their own in place. Rejections carry the library's `code`. */
export type Questions = Pick<
  Resolver,
  | 'resolve4'
  | 'resolve6'
  | 'resolvePtr'
  | 'reverse'
  | 'resolveTxt'
  | 'resolveMx'
  | 'resolveNs'
  | 'resolveCname'
  | 'resolveSrv'
  | 'resolveSoa'
  | 'resolveCaa'
  | 'resolveNaptr'
>;

export const MAX_RUNNING = 64;
export const MAX_WAITING = 1024;
const DEADLINE_MS = 10_000;
/** A resolver reads the system's list of servers once: a new one is made when the old one has been used this long. */
const FRESH_MS = 60_000;
const MAX_NAME = 255;

type Ask = (questions: Questions, name: string) => Promise<Pick<DnsAnswer, 'records' | 'ttl'>>;

/** By number of the resource record type. */
const TYPES: ReadonlyMap<number, Ask> = new Map<number, Ask>([
  [1, async (questions, name) => addresses(await questions.resolve4(name, { ttl: true }))],
  [28, async (questions, name) => addresses(await questions.resolve6(name, { ttl: true }))],
  [2, async (questions, name) => plain(await questions.resolveNs(name))],
  [5, async (questions, name) => plain(await questions.resolveCname(name))],
  [12, async (questions, name) => plain(await (isIP(name) === 0 ? questions.resolvePtr(name) : questions.reverse(name)))],
  [16, async (questions, name) => plain((await questions.resolveTxt(name)).map((chunks) => chunks.join('')))],
  [15, async (questions, name) => plain((await questions.resolveMx(name)).map((one) => `${one.priority} ${one.exchange}`))],
  [
    33,
    async (questions, name) =>
      plain((await questions.resolveSrv(name)).map((one) => `${one.priority} ${one.weight} ${one.port} ${one.name}`)),
  ],
  [
    6,
    async (questions, name) => {
      const soa = await questions.resolveSoa(name);
      return plain([`${soa.nsname} ${soa.hostmaster} ${soa.serial} ${soa.refresh} ${soa.retry} ${soa.expire} ${soa.minttl}`]);
    },
  ],
  [
    35,
    async (questions, name) =>
      plain(
        (await questions.resolveNaptr(name)).map(
          (one) => `${one.order} ${one.preference} "${one.flags}" "${one.service}" "${one.regexp}" ${one.replacement}`,
        ),
      ),
  ],
  [
    257,
    async (questions, name) =>
      plain(
        (await questions.resolveCaa(name)).flatMap(({ critical, ...tags }) =>
          Object.entries(tags)
            .filter(([tag, value]) => tag !== 'type' && typeof value === 'string')
            .map(([tag, value]) => `${critical} ${tag} "${String(value)}"`),
        ),
      ),
  ],
]);

export interface DnsOptions {
  readonly clock: Clock;
  /** Absent: the system's name servers. */
  readonly questions?: (() => Questions) | undefined;
}

export class DnsLookup {
  readonly #clock: Clock;
  readonly #make: () => Questions;
  #questions: Questions | undefined;
  #madeAt = 0;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: DnsOptions) {
    this.#clock = options.clock;
    this.#make = options.questions ?? (() => new Resolver({ timeout: 2000, tries: 2 }));
  }

  /** The answer, or why the question cannot be asked. Never rejects. The signal gives the wait up. */
  async resolve(name: string, type: number, signal?: AbortSignal): Promise<DnsAnswer | string> {
    const ask = TYPES.get(type);
    const fault = nameFault(name);
    if (fault !== undefined) return fault;
    if (ask === undefined) return `record type ${type} is not supported`;
    if (this.#running >= MAX_RUNNING) {
      if (this.#waiting.length >= MAX_WAITING) return 'busy: too many questions wait for the resolver';
      await new Promise<void>((resume) => this.#waiting.push(resume));
    } else this.#running++;
    try {
      return signal?.aborted === true ? nothing('SERVFAIL') : await this.#ask(ask, name, signal);
    } finally {
      // Whoever waits takes this place over.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }

  async #ask(ask: Ask, name: string, signal: AbortSignal | undefined): Promise<DnsAnswer> {
    let over: (answer: DnsAnswer) => void = () => undefined;
    const given = new Promise<DnsAnswer>((resolve) => (over = resolve));
    const giveUp = (): void => over(nothing('SERVFAIL'));
    const timer = this.#clock.after(DEADLINE_MS, giveUp, { unref: true });
    signal?.addEventListener('abort', giveUp, { once: true });
    const asked = ask(this.#fresh(), name).then(
      (answer): DnsAnswer => ({ ...answer, status: 'NOERROR' }),
      (error: unknown) => nothing(statusOf((error as NodeJS.ErrnoException).code)),
    );
    try {
      return await Promise.race([asked, given]);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', giveUp);
    }
  }

  #fresh(): Questions {
    const now = this.#clock.now();
    if (this.#questions === undefined || now - this.#madeAt > FRESH_MS) {
      this.#questions = this.#make();
      this.#madeAt = now;
    }
    return this.#questions;
  }
}

function nameFault(name: string): string | undefined {
  if (name === '') return 'no name given';
  const labels = (name.endsWith('.') ? name.slice(0, -1) : name).split('.');
  if (isIP(name) !== 0) return undefined;
  if (name.length > MAX_NAME || /[\s\p{Cc}]/u.test(name) || labels.some((label) => label === '' || label.length > 63)) {
    return `bad name: "${name.slice(0, 64)}"`;
  }
  return undefined;
}

function addresses(found: readonly { readonly address: string; readonly ttl: number }[]): Pick<DnsAnswer, 'records' | 'ttl'> {
  return { records: found.map((one) => one.address), ttl: found.length === 0 ? 0 : Math.min(...found.map((one) => one.ttl)) };
}

function plain(records: readonly string[]): Pick<DnsAnswer, 'records' | 'ttl'> {
  return { records, ttl: 0 };
}

function nothing(status: DnsStatus): DnsAnswer {
  return { records: [], ttl: 0, status };
}

/** Codes of the library: a name without records of the type is no error. */
function statusOf(code: string | undefined): DnsStatus {
  switch (code) {
    case 'ENODATA':
      return 'NOERROR';
    case 'ENOTFOUND':
      return 'NXDOMAIN';
    case 'EREFUSED':
      return 'REFUSED';
    default:
      return 'SERVFAIL';
  }
}
