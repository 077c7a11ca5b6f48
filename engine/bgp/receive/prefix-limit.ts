/**
 * How many prefixes a peer may announce in each family (RFC 4486 §4; daemon-config `prefix/*`). Exact counts belong to whoever
 * keeps the routes (a plugin of the route path, or our own `PrefixSet` where none does); here is an upper bound that costs one
 * addition a message, and asks for the exact count only when the bound passes a limit. Announcements alone raise the bound, so
 * withdrawing what was never announced cannot lower it.
 */
import type { FamilySettings } from '../port.ts';

export type LimitResult = 'within' | 'warn' | 'calm' | 'exceeded';

class FamilyLimit {
  readonly settings: FamilySettings;
  /** As the settings say; read for every message. */
  readonly family: number;
  readonly maximum: number;
  readonly warning: number;
  /** The exact count when it was last asked for, and what was announced since. */
  base = 0;
  since = 0;
  warned = false;

  constructor(settings: FamilySettings) {
    this.settings = settings;
    this.family = settings.family;
    this.maximum = settings.prefixMaximum;
    this.warning = settings.prefixWarning;
  }
}

export class PrefixLimits {
  readonly #families = new Map<number, FamilyLimit>();
  readonly #exact: (family: number) => number;
  /** The one asked for last. */
  #last: FamilyLimit | undefined;

  constructor(families: readonly FamilySettings[], exact: (family: number) => number) {
    this.#exact = exact;
    for (const settings of families) {
      const limit = new FamilyLimit(settings);
      limit.base = exact(settings.family);
      this.#families.set(settings.family, limit);
    }
  }

  /** After a message that announced `count` entries was applied. `warn` and `calm` are said once at each crossing. */
  applied(family: number, count: number): LimitResult {
    if (this.#last?.family !== family) this.#last = this.#families.get(family);
    const limit = this.#last;
    if (limit === undefined) return 'within';
    limit.since += count;
    const { maximum, warning } = limit;
    const threshold = warning > 0 && !limit.warned ? Math.min(warning, maximum) : maximum;
    if (limit.base + limit.since <= threshold && !(limit.warned && count === 0)) return 'within';
    limit.base = this.#exact(family);
    limit.since = 0;
    if (limit.base > maximum) return 'exceeded';
    const above = warning > 0 && limit.base > warning;
    if (above === limit.warned) return 'within';
    limit.warned = above;
    return above ? 'warn' : 'calm';
  }

  settings(family: number): FamilySettings | undefined {
    return this.#families.get(family)?.settings;
  }
}
