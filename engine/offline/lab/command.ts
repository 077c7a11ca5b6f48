// `zest lab`: a small BGP speaker for trying and testing. Announces generated routes or those of an MRT file, prints what arrives.
import { accessSync, constants, statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { systemClock } from '../../core/clock.ts';
import { visible, visibleJsonLine } from '../../core/visible.ts';
import { addressBytes, parseIpv4 } from '../../../sdk/wire/address.ts';
import { type Family, familyName, NO_FAMILY, parseFamily } from '../../../sdk/wire/family.ts';
import { Arrivals, type PrintMode } from './arrivals.ts';
import { FIRST_PREFIX, generatedFamily, generateRoutes, mrtRoutes, type PackedRoutes, type PackingTarget } from './routes.ts';
import { type EstablishedSession, Speaker } from './speaker.ts';

export const LAB_HELP = `zest lab — a small BGP speaker for trying and testing

  zest lab --connect HOST:PORT [options]     dial a daemon (default 127.0.0.1:179)
  zest lab --listen HOST:PORT [options]      wait for one

  --local ADDRESS       source address when dialling
  --as N                our AS (65001)              --peer-as N   the peer's AS, 0 = any (0)
  --id A.B.C.D          BGP identifier (the local address, else 192.0.2.99)
  --family LIST         ipv4/unicast,ipv6/unicast (ipv4/unicast)
  --hold SECONDS        hold time to propose (90)
  --add-path            offer ADD-PATH both ways
  --announce N          announce N generated routes: /24 from 10.0.0.0 on, or /56 below 2001:db8::/32 where only IPv6 is spoken
  --first A.B.C.D       first generated prefix      --sets N      attribute sets they share (N/5)
  --mrt FILE            announce the routes of an MRT file (plain, gzip or bzip2; tables or messages)
  --mrt-peer AS         only those heard from this AS
  --next-hop ADDRESS    IPv4 next hop (our local address, on loopback 192.0.2.N)
  --next-hop6 ADDRESS   IPv6 next hop (2001:db8::1)
  --withdraw-after S    withdraw what was announced after S seconds (generated routes)
  --print MODE          none, count, text (a line a route) or json (text)
  --json                count, session and error lines as JSON too
  --exit-after N        end with code 0 as soon as N routes are held
  --duration S          end after S seconds

Exit codes: 0 done, 1 no session or fewer routes than --exit-after when it ended, 2 unreadable file or bad option.
`;

export interface LabContext {
  readonly write: (text: string) => void;
  readonly writeError: (text: string) => void;
  readonly signal: AbortSignal;
}

const OPTIONS = {
  connect: { type: 'string' },
  listen: { type: 'string' },
  local: { type: 'string', default: '' },
  as: { type: 'string', default: '65001' },
  'peer-as': { type: 'string', default: '0' },
  id: { type: 'string' },
  family: { type: 'string', default: 'ipv4/unicast' },
  hold: { type: 'string', default: '90' },
  'add-path': { type: 'boolean', default: false },
  announce: { type: 'string', default: '0' },
  first: { type: 'string', default: '10.0.0.0' },
  sets: { type: 'string' },
  mrt: { type: 'string' },
  'mrt-peer': { type: 'string', default: '0' },
  'next-hop': { type: 'string' },
  'next-hop6': { type: 'string', default: '2001:db8::1' },
  'withdraw-after': { type: 'string', default: '0' },
  print: { type: 'string', default: 'text' },
  json: { type: 'boolean', default: false },
  'exit-after': { type: 'string', default: '0' },
  duration: { type: 'string', default: '0' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

class Usage extends Error {}

const COMPLAINT_MS = 10_000;

/** 192.0.2.0 */
const STAND_IN = 0xc0000200;

interface LabOptions {
  readonly role: 'connect' | 'listen';
  readonly host: string;
  readonly port: number;
  readonly local: string;
  readonly as: number;
  readonly peerAs: number;
  readonly id: number;
  readonly families: readonly Family[];
  readonly hold: number;
  readonly addPath: boolean;
  readonly announce: number;
  readonly first: number;
  readonly sets: number;
  readonly mrt: string;
  readonly mrtPeer: number;
  readonly nextHop4: string;
  readonly nextHop6: Uint8Array;
  readonly withdrawAfter: number;
  readonly print: PrintMode;
  readonly json: boolean;
  readonly exitAfter: number;
  readonly duration: number;
}

/** Runs until the session ends for good, a limit is reached or the signal comes. Resolves with the exit code. */
export async function runLab(args: readonly string[], context: LabContext): Promise<number> {
  let options: LabOptions | undefined;
  try {
    options = readOptions(args);
  } catch (error) {
    context.writeError(`zest lab: ${textOf(error)}\n`);
    return 2;
  }
  if (options === undefined) {
    context.write(LAB_HELP);
    return 0;
  }
  return new Lab(options, context).run();
}

class Lab {
  readonly #options: LabOptions;
  readonly #context: LabContext;
  readonly #speaker: Speaker;
  readonly #arrivals: Arrivals;
  #end: (code: number) => void = () => undefined;
  #wasUp = false;
  #session: EstablishedSession | undefined;
  /** The routes were taken back (`--withdraw-after`). */
  #withdrawn = false;
  /** Families whose routes are asked for again and not yet on their way. */
  readonly #asked = new Set<Family>();
  /** What is being sent, one thing after the other. */
  #sending = Promise.resolve();
  /** ms of the clock when it was last said that there is no session. */
  #complainedAt = -Infinity;

  constructor(options: LabOptions, context: LabContext) {
    this.#options = options;
    this.#context = context;
    const write = (line: string): void => context.write(`${line}\n`);
    this.#arrivals = new Arrivals({ print: options.print, json: options.json, write }, systemClock);
    this.#arrivals.onCount = (routes) => {
      if (options.exitAfter > 0 && routes >= options.exitAfter) this.#end(0);
    };
    this.#speaker = new Speaker(
      {
        role: options.role,
        host: options.host,
        port: options.port,
        local: options.local,
        as: options.as,
        peerAs: options.peerAs,
        id: options.id,
        families: options.families,
        holdTimeSeconds: options.hold,
        addPath: options.addPath,
      },
      {
        up: (session) => this.#up(session),
        update: (bytes, at, length) => this.#arrivals.update(bytes, at, length),
        refresh: (family) => {
          this.#say({ event: 'refresh', family: familyName(family) }, `ROUTE-REFRESH ${familyName(family)}`);
          this.#again(family);
        },
        down: (reason) => {
          this.#session = undefined;
          this.#arrivals.down();
          this.#say({ event: 'down', reason }, `session down: ${visible(reason)}`);
        },
        failed: (reason) => this.#complain(reason),
      },
      systemClock,
    );
  }

  async run(): Promise<number> {
    const ended = new Promise<number>((resolve) => (this.#end = resolve));
    const { duration, exitAfter } = this.#options;
    if (duration > 0) systemClock.after(duration * 1000, () => this.#end(exitAfter > 0 || !this.#wasUp ? 1 : 0));
    this.#context.signal.addEventListener('abort', () => this.#end(this.#wasUp && exitAfter === 0 ? 0 : 1), { once: true });
    try {
      await this.#speaker.start();
    } catch (error) {
      this.#context.writeError(`zest lab: ${textOf(error)}\n`);
      return 2;
    }
    const code = await ended;
    await this.#speaker.stop('lab speaker ends');
    return code;
  }

  #up(session: EstablishedSession): void {
    this.#wasUp = true;
    this.#session = session;
    this.#withdrawn = false;
    this.#asked.clear();
    this.#arrivals.up(session);
    this.#say(
      { event: 'up', peer: session.remoteAddress, as: session.peerAs, families: session.families.map(familyName) },
      `session with ${session.remoteAddress} AS ${session.peerAs} is up: ${session.families.map(familyName).join(' ')}`,
    );
    this.#next(() => this.#announce(session));
  }

  /** Answers a ROUTE-REFRESH (RFC 2918 §4): the family's routes again, as they are now. Asked twice before it is done, it is done once. */
  #again(family: Family): void {
    const session = this.#session;
    if (session?.families.includes(family) !== true || this.#asked.has(family)) return;
    this.#asked.add(family);
    this.#next(async () => {
      this.#asked.delete(family);
      if (this.#session !== session || this.#withdrawn) return;
      const routes = this.#pack({ ...this.#target(session), families: [family] }, family === generatedFamily(session.families));
      await this.#speaker.send(routes.buffers);
      this.#say(
        { event: 'announced', routes: routes.announced, withdrawn: 0, skipped: routes.skipped },
        `announced ${routes.announced} routes again`,
      );
    });
  }

  #next(task: () => Promise<void>): void {
    this.#sending = this.#sending.then(task).catch((error: unknown) => {
      this.#context.writeError(`zest lab: ${textOf(error)}\n`);
      this.#end(2);
    });
  }

  async #announce(session: EstablishedSession): Promise<void> {
    const routes = this.#pack(this.#target(session));
    await this.#speaker.send(routes.buffers);
    const { announced, withdrawn, skipped } = routes;
    if (announced + withdrawn > 0) {
      this.#say(
        { event: 'announced', routes: announced, withdrawn, skipped },
        `announced ${announced} routes, withdrew ${withdrawn}`,
      );
    }
    if (skipped > 0)
      this.#say({ event: 'skipped', routes: skipped }, `${skipped} routes whose attributes cannot be sent were left out`);
    const { withdrawAfter, announce, first } = this.#options;
    if (withdrawAfter <= 0 || announce === 0) return;
    systemClock.after(withdrawAfter * 1000, () => {
      if (this.#session !== session) return;
      this.#withdrawn = true;
      const gone = generateRoutes({ count: announce, sets: 1, first, withdraw: true }, this.#target(session));
      this.#next(async () => {
        await this.#speaker.send(gone.buffers);
        this.#say({ event: 'withdrawn', routes: gone.withdrawn }, `withdrew ${gone.withdrawn} routes`);
      });
    });
  }

  #pack(target: PackingTarget, generated = true): PackedRoutes {
    const { mrt, mrtPeer, announce, sets, first } = this.#options;
    return mrt === ''
      ? generateRoutes({ count: generated ? announce : 0, sets, first, withdraw: false }, target)
      : mrtRoutes(mrt, mrtPeer, target);
  }

  #target(session: EstablishedSession): PackingTarget {
    const own = parseIpv4(session.localAddress.replace(/^::ffff:/i, ''));
    // No route may have a loopback next hop (RFC 4271 §6.3): a speaker on 127.0.0.3 stands in as 192.0.2.3.
    const outward = own >>> 24 === 127 ? STAND_IN + (own & 0xff) : own;
    const nextHop4 = this.#options.nextHop4 === '' ? outward : parseIpv4(this.#options.nextHop4);
    return {
      localAs: this.#options.as,
      peerAs: session.peerAs,
      asn4: session.asn4,
      maxMessage: session.maxMessage,
      families: session.families,
      addPathSend: session.addPathSend,
      nextHop4: nextHop4 < 0 ? STAND_IN + 99 : nextHop4,
      nextHop6: this.#options.nextHop6,
    };
  }

  /** Says what is tried and why it fails: at once, then now and then, so that a daemon that starts later finds a readable screen. */
  #complain(reason: string): void {
    const now = systemClock.now();
    if (now - this.#complainedAt < COMPLAINT_MS) return;
    this.#complainedAt = now;
    const { role, host, port, json } = this.#options;
    const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    const what = role === 'connect' ? `no session with ${where} yet, trying on` : `no session on ${where} yet, waiting on`;
    const line = json
      ? visibleJsonLine(JSON.stringify({ event: 'no-session', [role]: where, reason }))
      : `zest lab: ${what}: ${visible(reason)}`;
    this.#context.writeError(`${line}\n`);
  }

  #say(value: Readonly<Record<string, unknown>>, text: string): void {
    this.#context.write(`${this.#options.json ? visibleJsonLine(JSON.stringify(value)) : text}\n`);
  }
}

function readOptions(args: readonly string[]): LabOptions | undefined {
  const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: true });
  if (values.help) return undefined;
  if (values.connect !== undefined && values.listen !== undefined) throw new Usage('--connect and --listen exclude each other');
  const [host, port] = endpoint(values.connect ?? values.listen ?? '127.0.0.1:179');
  const announce = number('announce', values.announce, 0, 16_000_000);
  const id = parseIpv4(values.id ?? (parseIpv4(values.local) >= 0 ? values.local : '192.0.2.99'));
  if (id < 0) throw new Usage(`--id takes a dotted quad, not ${values.id ?? ''}`);
  const first = values.first === '10.0.0.0' ? FIRST_PREFIX : parseIpv4(values.first);
  if (first < 0) throw new Usage(`--first takes an IPv4 address, not ${values.first}`);
  const nextHop6 = addressBytes(values['next-hop6']);
  if (nextHop6?.length !== 16) throw new Usage(`--next-hop6 takes an IPv6 address, not ${values['next-hop6']}`);
  if (values['next-hop'] !== undefined && parseIpv4(values['next-hop']) < 0) throw new Usage('--next-hop takes an IPv4 address');
  if (!['none', 'count', 'text', 'json'].includes(values.print))
    throw new Usage(`--print takes none, count, text or json, not ${values.print}`);
  return {
    role: values.listen === undefined ? 'connect' : 'listen',
    host,
    port,
    local: values.local,
    as: number('as', values.as, 1, 0xffffffff),
    peerAs: number('peer-as', values['peer-as'], 0, 0xffffffff),
    id,
    families: values.family.split(',').map(family),
    hold: number('hold', values.hold, 0, 65_535),
    addPath: values['add-path'],
    announce,
    first,
    sets: values.sets === undefined ? Math.max(1, Math.ceil(announce / 5)) : number('sets', values.sets, 1, 16_000_000),
    mrt: values.mrt === undefined ? '' : regularFile(values.mrt),
    mrtPeer: number('mrt-peer', values['mrt-peer'], 0, 0xffffffff),
    nextHop4: values['next-hop'] ?? '',
    nextHop6,
    withdrawAfter: number('withdraw-after', values['withdraw-after'], 0, 86_400),
    print: values.print as PrintMode,
    json: values.json,
    exitAfter: number('exit-after', values['exit-after'], 0, 16_000_000),
    duration: number('duration', values.duration, 0, 86_400),
  };
}

function endpoint(text: string): readonly [host: string, port: number] {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) throw new Usage(`expected HOST:PORT, not ${text}`);
  if (port === 0) throw new Usage(`${text}: port 0 is no port to speak to`);
  return [match[1] ?? match[2] ?? '', port];
}

function number(name: string, text: string, minimum: number, maximum: number): number {
  const value = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || value < minimum || value > maximum) {
    throw new Usage(`--${name} takes a number from ${minimum} to ${maximum}, not ${text}`);
  }
  return value;
}

function family(name: string): Family {
  const found = parseFamily(name.trim());
  if (found === NO_FAMILY) throw new Usage(`unknown family ${name}; for example ipv4/unicast`);
  return found;
}

/** It is read anew for every session, so a pipe will not do. Throws when it cannot be read. */
function regularFile(path: string): string {
  if (path === '' || !statSync(path).isFile()) throw new Usage(`--mrt takes a file, and ${path === '' ? "''" : path} is none`);
  accessSync(path, constants.R_OK);
  return path;
}

/** One line that no terminal obeys: the words may be those of a file's name. */
function textOf(error: unknown): string {
  return visible(error instanceof Error ? error.message : String(error));
}
