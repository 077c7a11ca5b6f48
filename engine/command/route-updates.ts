/** Route commands on their way to the reactor: `update text|hex|b64 …` becomes bytes, then an origination for the chosen peers. */
import type { ReactorPort } from '../bgp/port.ts';
import type { Parsed } from '../codec/fault.ts';
import type { NlriCaller } from '../codec/registry.ts';
import type { RouteCommands as RouteParser } from '../codec/route-command.ts';
import { familyName } from '../../sdk/wire/family.ts';
import type { RouteCommands, RouteOutcome } from './context.ts';

export class RouteUpdates implements RouteCommands {
  readonly #parser: Pick<RouteParser, 'resolve'>;
  readonly #caller: NlriCaller;
  readonly #reactor: Pick<ReactorPort, 'originate'>;

  constructor(parser: Pick<RouteParser, 'resolve'>, caller: NlriCaller, reactor: Pick<ReactorPort, 'originate'>) {
    this.#parser = parser;
    this.#caller = caller;
    this.#reactor = reactor;
  }

  async update(owner: string, peers: readonly number[], text: string): Promise<Parsed<RouteOutcome>> {
    const parsed = await this.#parser.resolve(text, this.#caller);
    if (!parsed.ok) return parsed;
    const { attributes, nextHop, sections } = parsed.value;
    const [result] = await this.#reactor.originate([{ owner, peers, attributes, nextHop, sections }]);
    const eor = sections.filter((section) => section.eor).map((section) => familyName(section.family));
    return { ok: true, value: { ...(result ?? NOTHING), eor } };
  }
}

const NOTHING = {
  announced: 0,
  withdrawn: 0,
  peersAffected: 0,
  routesSent: 0,
  warnings: ['the reactor gave no answer'],
} as const;
