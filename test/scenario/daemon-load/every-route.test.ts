// Speed must not cost a route: two senders put tables with known attributes into a route server that announces the best of each prefix, change,
// withdraw and win them back from each other, and one goes away; a receiver reads every UPDATE without the codec, and after each step it holds
// what the rules of best path say of what the senders sent: every prefix, every attribute, and nothing else. ZEST_CHECK_ROUTES sets how many.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { IPV4_UNICAST } from '../../../sdk/wire/family.ts';
import { ADDED, UpdateWriter } from '../../../sdk/wire/writer.ts';
import { RawSpeaker } from '../../support/raw-speaker.ts';
import { block } from '../../support/rib-attributes.ts';
import { RouteLedger } from '../../support/route-ledger.ts';
import { eventually, freePort, ZestProcess } from '../../support/zest-process.ts';

const ROUTES = Number(process.env.ZEST_CHECK_ROUTES ?? 40_000);
const DEADLINE = 60_000 + ROUTES / 5;
const LOCAL_AS = 64_500;
const CHUNK = 1 << 16;

interface Route {
  readonly path: readonly number[];
  readonly origin: number;
  readonly med: number | undefined;
  readonly communities: readonly number[];
}

class Sender {
  readonly as: number;
  readonly speaker: RawSpeaker;
  /** What it announces now, by prefix number. */
  readonly says = new Map<number, Route>();
  #writer = new UpdateWriter().over(new Uint8Array(CHUNK));

  constructor(speaker: RawSpeaker, as: number) {
    this.speaker = speaker;
    this.as = as;
  }

  /** `kind` makes path and attributes: neighbours of five share them. */
  async announce(numbers: readonly number[], kind: number): Promise<void> {
    let before = -1;
    for (const number of numbers) {
      const set = Math.floor(number / 5);
      if (set !== before) {
        before = set;
        const route = routeOf(this.as, set, kind);
        const bytes = block({ ...definite(route), nextHop: '192.0.2.9' });
        this.#writer.beginAnnounce(IPV4_UNICAST, false, 4096, bytes, 0, bytes.length);
      }
      await this.#add(number);
      this.says.set(number, routeOf(this.as, set, kind));
    }
    await this.#flush();
  }

  async withdraw(numbers: readonly number[]): Promise<void> {
    this.#writer.beginWithdraw(IPV4_UNICAST, false, 4096);
    for (const number of numbers) {
      await this.#add(number);
      this.says.delete(number);
    }
    await this.#flush();
  }

  async #add(number: number): Promise<void> {
    const [address, bits] = prefixOf(number);
    if (this.#writer.addIpv4(address, bits, 0) === ADDED) return;
    await this.#flush();
    assert.equal(this.#writer.addIpv4(address, bits, 0), ADDED);
  }

  async #flush(): Promise<void> {
    this.#writer.close();
    const { socket } = this.speaker;
    const room = socket.write(this.#writer.bytes.subarray(0, this.#writer.used));
    this.#writer.over(new Uint8Array(CHUNK));
    if (!room) await new Promise((resolve) => socket.once('drain', resolve));
  }
}

function definite(route: Route): { path: readonly number[]; origin: number; med?: number; communities: readonly number[] } {
  const { path, origin, med, communities } = route;
  return med === undefined ? { path, origin, communities } : { path, origin, med, communities };
}

function routeOf(as: number, set: number, kind: number): Route {
  const hops = 1 + ((set * 7 + kind * 3 + as) % 5);
  return {
    path: [as, ...Array.from({ length: hops }, (_, k) => 1000 + ((set * 31 + k * 17 + kind) % 50_000))],
    origin: (set + kind) % 3 === 0 ? 2 : 0,
    med: set % 4 === 0 ? set % 100 : undefined,
    communities: set % 3 === 0 ? [] : [(1 + (set % 60_000)) * 65_536 + kind, 0x10000 + (set % 5000)],
  };
}

/** Distinct for each number, lengths 17 to 24. */
function prefixOf(number: number): readonly [address: number, bits: number] {
  const bits = number % 4 === 0 ? 22 : 24;
  return [(0x0b000000 + number * 1024) >>> 0, bits];
}

function prefixText(number: number): string {
  const [address, bits] = prefixOf(number);
  return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}/${bits}`;
}

/** RFC 4271 §9.1.2.2 between two external neighbours of different AS: path, origin, then the lower identifier, which is the first's. */
function better(a: Route | undefined, b: Route | undefined): Route | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return (a.path.length - b.path.length || a.origin - b.origin) <= 0 ? a : b;
}

/** On the way out: our number in front, our address as next hop, no MED (RFC 4271 §5.1.2–5.1.4). */
function sent(route: Route): string {
  const words = [`origin ${route.origin}`, `path ${[LOCAL_AS, ...route.path].join(',')}`, 'hop 127.0.0.1'];
  const communities = route.communities.map((one) => `${Math.floor(one / 65_536)}:${one % 65_536}`);
  if (communities.length > 0) words.push(`communities ${communities.join(',')}`);
  return words.join(' ');
}

describe(`every one of ${ROUTES} routes and every attribute arrive`, { timeout: 6 * DEADLINE }, () => {
  let zest: ZestProcess;
  let first: Sender;
  let second: Sender;
  let ledger: RouteLedger;
  let receiver: RawSpeaker;
  before(async () => {
    const port = await freePort();
    const peer = (n: number): string => `peer p${n} {
        connection { local { ip 127.0.0.1; port ${port}; } remote { ip 127.0.0.${n}; connect false; } }
        session { asn { remote ${65_000 + n}; } family { ipv4/unicast { prefix { maximum 4000000; } } } }
    }`;
    zest = await ZestProcess.start(`plugin { external rs { use bgp-rs; } }
bgp {
    router-id 10.0.0.1; session { asn { local ${LOCAL_AS}; } }
    route-server { best-path true; }
    ${[2, 3, 4].map(peer).join('\n    ')}
}
`);
    const dial = (n: number): Promise<RawSpeaker> =>
      RawSpeaker.establish({ port, local: `127.0.0.${n}`, as: 65_000 + n, families: [IPV4_UNICAST] });
    receiver = await dial(4);
    ledger = new RouteLedger(receiver.socket);
    first = new Sender(await dial(2), 65_002);
    second = new Sender(await dial(3), 65_003);
  });
  after(async () => {
    for (const speaker of [first.speaker, second.speaker, receiver]) await speaker.close();
    await zest.stop();
  });

  const every = (n: number, rest = 0): number[] =>
    Array.from({ length: ROUTES }, (_, i) => i).filter((number) => number % n === rest);

  /** Waits until the receiver has been told as much as it is to be told, then compares all of it. */
  async function agrees(): Promise<void> {
    const wanted = new Map<string, string>();
    for (const number of new Set([...first.says.keys(), ...second.says.keys()])) {
      wanted.set(prefixText(number), sent(better(first.says.get(number), second.says.get(number))!));
    }
    const wrong = (): string[] => {
      const lines: string[] = [];
      for (const [prefix, line] of wanted) {
        const held = ledger.held.get(prefix);
        if (held !== line) lines.push(`${prefix}: ${held ?? 'nothing'} instead of ${line}`);
        if (lines.length > 3) break;
      }
      if (ledger.held.size > wanted.size) lines.push(`${ledger.held.size} prefixes instead of ${wanted.size}`);
      return lines;
    };
    await eventually('the receiver holds what it should', () => wrong().length === 0 || undefined, DEADLINE).catch(() =>
      assert.deepEqual(wrong(), []),
    );
    // Nothing more comes that would undo it.
    const { updates } = ledger;
    await wait(200);
    assert.deepEqual([wrong(), ledger.updates - updates], [[], 0]);
    assert.equal(ledger.needless, 0);
  }

  test('a table of one sender', async () => {
    await first.announce(every(1), 0);
    await agrees();
  });

  test('better and worse routes of a second sender', async () => {
    await second.announce(every(2), 1);
    await agrees();
  });

  test('paths that change on both sides at once', async () => {
    await Promise.all([first.announce(every(3), 2), second.announce(every(4), 3)]);
    await first.announce(every(6), 5);
    await agrees();
  });

  test('withdrawals between announcements', async () => {
    await Promise.all([first.withdraw(every(7)), second.withdraw(every(10))]);
    await second.announce(every(14, 1), 4);
    await first.withdraw(every(5, 2));
    await first.announce(every(7), 6);
    await agrees();
  });

  test('a sender goes away, and comes no more', async () => {
    await second.speaker.close();
    second.says.clear();
    await agrees();
  });

  test('the other takes everything back', async () => {
    await first.withdraw(every(1));
    await agrees();
    assert.equal(ledger.held.size, 0);
  });
});
