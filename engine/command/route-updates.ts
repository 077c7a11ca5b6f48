/** Route commands on their way to the reactor: `update text|hex|b64 …` becomes bytes, then an origination for the chosen peers. */
import type { ReactorPort } from '../bgp/port.ts';
import { type Parsed, refuse } from '../codec/fault.ts';
import type { NlriCaller } from '../codec/registry.ts';
import type { RouteCommands as RouteParser } from '../codec/route-command.ts';
import { formatAddress } from '../../sdk/wire/address.ts';
import { familyName } from '../../sdk/wire/family.ts';
import type { RouteCommands, RouteOutcome } from './context.ts';

export class RouteUpdates implements RouteCommands {
  readonly #parser: Pick<RouteParser, 'resolve'>;
  readonly #caller: NlriCaller;
  readonly #reactor: Pick<ReactorPort, 'originate'>;
  readonly #address: (peer: number) => string;

  /** `address`: of a peer by its index, '' when there is none. */
  constructor(
    parser: Pick<RouteParser, 'resolve'>,
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
    const { attributes, nextHop, sections } = parsed.value;
    // RFC 4271 §5.1.3: no peer is told to send packets for others to itself. The rest of the selection gets the route.
    const own = nextHop.length === 0 ? '' : (formatAddress(nextHop, 0, Math.min(16, nextHop.length)) ?? '');
    const itself = own === '' || !sections.some(announces) ? -1 : peers.findIndex((peer) => this.#address(peer) === own);
    const takers = itself < 0 ? peers : peers.filter((peer) => this.#address(peer) !== own);
    const refused = `next-hop ${own} is the peer's own address (RFC 4271 §5.1.3)`;
    if (itself >= 0 && takers.length === 0) return refuse(refused, Math.max(1, text.indexOf(own) + 1));
    const [result = NOTHING] = await this.#reactor.originate([
      { owner, peers: takers, attributes, nextHop, sections, ...(meta === '' ? {} : { meta }) },
    ]);
    const eor = sections.filter((section) => section.eor).map((section) => familyName(section.family));
    const warnings = itself < 0 ? result.warnings : [...result.warnings, refused];
    return { ok: true, value: { ...result, warnings, eor } };
  }
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
