// What the reactor asks (`ReactorSink.question`), answered with the plugins: filter chains and OPENs. Asked before the plugins are
// up, nothing passes: sessions start behind them.
import type { PeerSettings, ReactorAnswer, ReactorPort, ReactorQuestion, Report } from '../bgp/port.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { nearest } from '../core/nearest.ts';
import { FilterChain } from '../host/calls/filter-chain.ts';
import { quote } from '../host/quote.ts';
import type { PluginHost } from '../host/host.ts';
import { OpenValidation } from '../host/calls/open-validation.ts';

export interface QuestionParts {
  readonly clock: Clock;
  readonly log: (subsystem: string) => Log;
  readonly report: (report: Report) => void;
  host(): PluginHost | undefined;
}

/** The check that stands in front of every import chain. */
const LOOP_DETECTION = 'loop-detection';

interface Chain {
  readonly direction: 'import' | 'export';
  readonly filters: readonly string[];
}

export class Questions {
  readonly #parts: QuestionParts;
  readonly #chain: FilterChain;
  readonly #opens: OpenValidation;
  #validates = false;
  #chains: readonly Chain[] = [];
  /** Overrides that replace nothing and were reported. */
  readonly #idle = new Set<string>();

  constructor(parts: QuestionParts) {
    const { clock, report } = parts;
    this.#parts = parts;
    this.#chain = new FilterChain({
      clock,
      log: parts.log('bgp.filter'),
      report,
      plugins: {
        link: (plugin) => parts.host()?.link(plugin),
        filters: (plugin) => parts.host()?.registry.filtersOf(plugin),
      },
    });
    this.#opens = new OpenValidation({
      clock,
      log: parts.log('bgp.open'),
      report,
      validators: () => parts.host()?.openValidators() ?? [],
      link: (plugin) => parts.host()?.link(plugin),
    });
  }

  /** Never rejects. */
  answer(question: ReactorQuestion): Promise<ReactorAnswer> {
    return question.kind === 'filter' ? this.#chain.run(question) : this.#opens.ask(question);
  }

  /** Who runs has changed: OPENs are asked about as long as somebody wants to see them, and other filters may be there. */
  moved(reactor: Pick<ReactorPort, 'validateOpen'>): void {
    this.#chain.check(this.#chains);
    this.#checkOverrides();
    const validates = (this.#parts.host()?.openValidators().length ?? 0) > 0;
    if (validates === this.#validates) return;
    this.#validates = validates;
    reactor.validateOpen(validates);
  }

  /** Filters of the peers' chains that nobody offers now, each with its reason. */
  undeclared(): readonly string[] {
    return this.#chain.check(this.#chains);
  }

  /**
   * The settings as the filters of plugins want them: one that overrides `loop-detection` takes the place of the check that would stand
   * in front of its chains. No other default can be replaced: roles and community tagging are what the peer's configuration asks for.
   */
  overridden<T extends { readonly peers: readonly PeerSettings[] }>(settings: T): T {
    const registry = this.#parts.host()?.registry;
    const replaces = (reference: string): boolean => {
      const [plugin = '', name] = reference.split(':');
      const filter = registry?.filtersOf(plugin)?.find((one) => one.name === name && one.direction !== 'export');
      return filter?.overrides?.includes(LOOP_DETECTION) === true;
    };
    const peers = settings.peers.map((peer) =>
      pluginFilters(peer.importFilters).some(replaces) ? { ...peer, loopDetection: 'off' as const } : peer,
    );
    return { ...settings, peers };
  }

  /** Plugins and peers are there: filters that nobody declared are reported, before the first route asks for them. */
  check(peers: readonly PeerSettings[]): void {
    this.#chains = (['import', 'export'] as const).map((direction) => ({
      direction,
      filters: [
        ...new Set(peers.flatMap((peer) => pluginFilters(direction === 'import' ? peer.importFilters : exportFilters(peer)))),
      ],
    }));
    this.#chain.check(this.#chains);
    this.#checkOverrides();
  }

  /** Reports what filters of the chains want to replace and cannot, and takes back what holds no more. */
  #checkOverrides(): void {
    const found = new Map<string, string>();
    for (const { direction, filters } of this.#chains) {
      for (const reference of filters) {
        const [plugin = '', name] = reference.split(':');
        const filter = this.#parts
          .host()
          ?.registry.filtersOf(plugin)
          ?.find((one) => one.name === name);
        for (const other of filter?.overrides ?? []) {
          const why = idleOverride(other, filter?.direction === 'both' ? 'import' : direction);
          if (why !== undefined)
            found.set(`${reference} ${other}`, `filter ${quote(reference)} overrides ${quote(other)}: ${why}`);
        }
      }
    }
    const report = { severity: 'warning', code: 'filter-override', source: 'filter' } as const;
    for (const [subject, message] of found) {
      if (this.#idle.has(subject)) continue;
      this.#idle.add(subject);
      this.#parts.report({ ...report, subject, message });
    }
    for (const subject of this.#idle) {
      if (found.has(subject)) continue;
      this.#idle.delete(subject);
      this.#parts.report({ ...report, subject, message: '', clear: true });
    }
  }
}

/** Why a filter in a chain of this direction cannot take the place of that default; undefined: it does. */
function idleOverride(name: string, direction: Chain['direction']): string | undefined {
  if (name !== LOOP_DETECTION) {
    const guess = nearest(name, [LOOP_DETECTION]) === undefined ? '' : ` (did you mean "${LOOP_DETECTION}"?)`;
    return `there is no such default filter, ${LOOP_DETECTION} is the only one${guess}`;
  }
  return direction === 'import' ? undefined : 'loops are looked for in import chains, and this is an export chain';
}

/**
 * Routes that came under other import filters are asked for again (RFC 2918); what is exported, the reactor announces anew by itself.
 * Returns the peers that were asked, and those that cannot be: what they sent before stays as it was filtered then.
 */
export async function refilter(
  reactor: Pick<ReactorPort, 'refresh' | 'snapshot'>,
  log: Log,
  before: readonly PeerSettings[],
  after: readonly PeerSettings[],
): Promise<{ readonly refreshed: readonly string[]; readonly stale: readonly string[] }> {
  const old = new Map(before.map((peer) => [peer.name, importRules(peer)]));
  const changed = new Set(
    after.filter((peer) => old.get(peer.name) !== undefined && old.get(peer.name) !== importRules(peer)).map((peer) => peer.name),
  );
  const refreshed: string[] = [];
  const stale: string[] = [];
  if (changed.size === 0) return { refreshed, stale };
  for (const { index, settings, state } of await reactor.snapshot()) {
    if (!changed.has(settings.name) || state !== 'established') continue;
    const faults = await Promise.all(settings.families.map(({ family }) => reactor.refresh(index, family, 0)));
    (faults.includes(undefined) ? refreshed : stale).push(settings.name);
  }
  if (stale.length > 0)
    log.warn({ peers: stale }, 'new import filters hold for new routes alone: no route refresh with these peers');
  return { refreshed, stale };
}

/** What decides on the routes that a peer sends. */
function importRules({ importFilters, loopDetection }: PeerSettings): string {
  return JSON.stringify([importFilters, loopDetection]);
}

/** With those that decide on a default route. */
function exportFilters({ exportFilters: chain, updates }: PeerSettings): readonly string[] {
  return [...chain, ...updates.flatMap(({ filter }) => filter ?? [])];
}

/** Those of a chain that plugins are asked for; the others are policies of the reactor, whose keys hold a tab. */
function pluginFilters(chain: readonly string[]): readonly string[] {
  return chain.filter((reference) => !reference.includes('\t'));
}
