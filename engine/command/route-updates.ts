/** Route commands on their way to the reactor: `update text|hex|b64 …` becomes bytes, then an origination for the chosen peers. */
import type { Origination, ReactorPort } from '../bgp/port.ts';
import { type Parsed, refuse } from '../codec/fault.ts';
import type { NlriCaller } from '../codec/registry.ts';
import type { RouteCommands as RouteParser } from '../codec/route-command.ts';
import type { RouteCommand } from '../codec/update-text.ts';
import { formatAddress } from '../../sdk/wire/address.ts';
import { familyName } from '../../sdk/wire/family.ts';
import type { RouteCommands, RouteOutcome } from './context.ts';

export class RouteUpdates implements RouteCommands {
  readonly #parser: Pick<RouteParser, 'parse' | 'resolve'>;
  readonly #caller: NlriCaller;
  readonly #reactor: Pick<ReactorPort, 'originate'>;
  readonly #address: (peer: number) => string;

  /** `address`: of a peer by its index, '' when there is none. */
  constructor(
    parser: Pick<RouteParser, 'parse' | 'resolve'>,
    caller: NlriCaller,
    reactor: Pick<ReactorPort, 'originate'>,
    address: (peer: number) => string,
  ) {
    this.#parser = parser;
    this.#caller = caller;
    this.#reactor = reactor;
    this.#address = address;
  }

  async update(owner: string, peers: readonly number[], text: string, meta = ''): Promise<Parsed<RouteOutcome>> {
    const parsed = await this.#parser.resolve(text, this.#caller);
    if (!parsed.ok) return parsed;
    const origination = this.#origination(owner, peers, parsed.value, text, meta);
    if (!origination.ok) return origination;
    const { sections, nextHop } = origination.value;
    const [result = NOTHING] = await this.#reactor.originate([origination.value]);
    const eor = sections.filter((section) => section.eor).map((section) => familyName(section.family));
    const warnings = origination.value.peers === peers ? result.warnings : [...result.warnings, itself(nextHop)];
    return { ok: true, value: { ...result, warnings, eor } };
  }

  prepare(owner: string, peers: readonly number[], text: string, meta = ''): Parsed<Origination> | undefined {
    const parsed = this.#parser.parse(text);
    if (!parsed.ok) return parsed;
    return parsed.value.foreign.length > 0 ? undefined : this.#origination(owner, peers, parsed.value, text, meta);
  }

  /** RFC 4271 §5.1.3: no peer is told to send packets for others to itself. The rest of the selection gets the route. */
  #origination(
    owner: string,
    peers: readonly number[],
    { attributes, nextHop, sections }: RouteCommand,
    text: string,
    meta: string,
  ): Parsed<Origination> {
    let takers = peers;
    if (nextHop.length > 0 && sections.some(announces)) {
      const own = addressOf(nextHop);
      if (peers.some((peer) => this.#address(peer) === own)) {
        takers = peers.filter((peer) => this.#address(peer) !== own);
        if (takers.length === 0) return refuse(itself(nextHop), Math.max(1, text.indexOf(own) + 1));
      }
    }
    const all = { owner, peers: takers, attributes, nextHop, sections };
    return { ok: true, value: meta === '' ? all : { ...all, meta } };
  }
}

function itself(nextHop: Uint8Array): string {
  return `next-hop ${addressOf(nextHop)} is the peer's own address (RFC 4271 §5.1.3)`;
}

function addressOf(nextHop: Uint8Array): string {
  return formatAddress(nextHop, 0, Math.min(16, nextHop.length)) ?? '';
}

function announces(section: { readonly announce: Uint8Array }): boolean {
  return section.announce.length > 0;
}

const NOTHING = {
  announced: 0,
  withdrawn: 0,
  peersAffected: 0,
  routesSent: 0,
  warnings: ['the reactor gave no answer'],
} as const;
