// The routes of `update { }` blocks: announced under the owner `config`, followed when the configuration changes. A changed block
// announces what it now says and withdraws only what no block says any more.
import type { Origination, PeerIdentity, PeerSettings, ReactorPort } from '../bgp/port.ts';
import type { NlriCaller } from '../codec/registry.ts';
import type { RouteCommands } from '../codec/route-command.ts';
import type { Log } from '../core/log.ts';

export const CONFIG_OWNER = 'config';

type Section = Origination['sections'][number];

export class ConfigRoutes {
  readonly #parser: RouteCommands;
  readonly #caller: NlriCaller;
  readonly #reactor: Pick<ReactorPort, 'originate'>;
  readonly #log: Log;
  /** What each peer was given: command text → its NLRI sections. */
  readonly #given = new Map<number, Map<string, readonly Section[]>>();

  constructor(parser: RouteCommands, caller: NlriCaller, reactor: Pick<ReactorPort, 'originate'>, log: Log) {
    this.#parser = parser;
    this.#caller = caller;
    this.#reactor = reactor;
    this.#log = log;
  }

  /** Brings every peer to what its settings say. */
  async apply(settings: readonly PeerSettings[], identities: readonly PeerIdentity[]): Promise<void> {
    const batch: Origination[] = [];
    const alive = new Set<number>();
    for (const peer of settings) {
      const index = identities.find((one) => one.name === peer.name)?.index;
      if (index === undefined) continue;
      alive.add(index);
      batch.push(...(await this.#changes(index, peer)));
    }
    // A peer that is gone took its routes with it.
    for (const index of [...this.#given.keys()]) if (!alive.has(index)) this.#given.delete(index);
    if (batch.length > 0) await this.#reactor.originate(batch);
  }

  async #changes(index: number, peer: PeerSettings): Promise<readonly Origination[]> {
    const before = this.#given.get(index) ?? new Map<string, readonly Section[]>();
    const now = new Map<string, readonly Section[]>();
    const changes: Origination[] = [];
    for (const { command } of peer.updates) {
      const known = before.get(command);
      if (known !== undefined) {
        now.set(command, known);
        continue;
      }
      const parsed = await this.#parser.resolve(command, this.#caller);
      if (!parsed.ok) {
        this.#log.error({ peer: peer.name, reason: parsed.fault.message }, 'update block left out');
        continue;
      }
      const { attributes, nextHop, sections } = parsed.value;
      now.set(command, sections);
      changes.push({ owner: CONFIG_OWNER, peers: [index], attributes, nextHop, sections });
    }
    const kept = new Set([...now.values()].flat().flatMap(announcedKeys));
    for (const [command, sections] of before) {
      if (now.has(command)) continue;
      const gone = sections.filter(
        (section) => section.announce.length > 0 && !announcedKeys(section).every((key) => kept.has(key)),
      );
      if (gone.length === 0) continue;
      const withdrawn = gone.map((section) => ({ ...section, announce: NONE, withdraw: section.announce, eor: false }));
      // Withdraws first: a prefix that moved to another block is announced again right after.
      changes.unshift({ owner: CONFIG_OWNER, peers: [index], attributes: NONE, nextHop: NONE, sections: withdrawn });
    }
    this.#given.set(index, now);
    return changes;
  }
}

const NONE = new Uint8Array(0);

/** One key for a section's whole announced run: blocks are compared as they were written. */
function announcedKeys(section: Section): readonly string[] {
  return section.announce.length === 0
    ? []
    : [`${section.family} ${section.pathId} ${Buffer.from(section.announce).toString('hex')}`];
}
