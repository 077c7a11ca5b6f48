/**
 * The report bus behind `show warnings` and `show errors` (daemon-cli §8). A warning is a condition: keyed by code and subject, it is
 * raised once, updated while it lasts and goes when it clears. An error is an occurrence: the last ones are kept in a ring.
 */
import type { Report } from '../bgp/port.ts';

export interface ReportEntry {
  readonly source: string;
  readonly code: string;
  readonly severity: 'warning' | 'error';
  readonly subject: string;
  readonly message: string;
  readonly detail: Readonly<Record<string, unknown>> | undefined;
  /** ISO 8601, UTC. */
  readonly raised: string;
  readonly updated: string;
}

export const ERROR_RING = 256;
export const WARNING_LIMIT = 1024;

export interface ReportLimits {
  readonly errors: number;
  readonly warnings: number;
}

export class ReportBus {
  readonly #wall: () => number;
  readonly #limits: ReportLimits;
  readonly #scrub: <T>(value: T) => T;
  /** By code and subject, oldest update first. */
  readonly #warnings = new Map<string, ReportEntry>();
  readonly #errors: ReportEntry[] = [];
  readonly #listeners = new Set<(entry: ReportEntry, cleared: boolean) => void>();
  /** Entries pushed out of the ring or the table, never shown again. */
  forgotten = 0;

  /** `scrub` takes out of plain data what nobody may see. */
  constructor(
    wall: () => number,
    limits: ReportLimits = { errors: ERROR_RING, warnings: WARNING_LIMIT },
    scrub: <T>(value: T) => T = (value) => value,
  ) {
    this.#wall = wall;
    this.#limits = limits;
    this.#scrub = scrub;
  }

  report(report: Report): void {
    const key = JSON.stringify([report.code, report.subject]);
    if (report.clear === true) {
      const gone = this.#warnings.get(key);
      if (gone !== undefined && this.#warnings.delete(key)) this.#tell(gone, true);
      return;
    }
    const now = new Date(this.#wall()).toISOString();
    const before = report.severity === 'warning' ? this.#warnings.get(key) : undefined;
    const entry: ReportEntry = {
      source: report.source,
      code: report.code,
      severity: report.severity,
      subject: report.subject,
      message: this.#scrub(report.message),
      detail: this.#scrub(report.detail),
      raised: before?.raised ?? now,
      updated: now,
    };
    if (report.severity === 'warning') this.#keepWarning(key, entry);
    else this.#keepError(entry);
    this.#tell(entry, false);
  }

  /** Newest update last. */
  warnings(): readonly ReportEntry[] {
    return [...this.#warnings.values()];
  }

  /** Oldest first. */
  errors(): readonly ReportEntry[] {
    return [...this.#errors];
  }

  /** Hears every report and every clearing; the returned function stops it. */
  listen(listener: (entry: ReportEntry, cleared: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #keepWarning(key: string, entry: ReportEntry): void {
    this.#warnings.delete(key);
    this.#warnings.set(key, entry);
    if (this.#warnings.size <= this.#limits.warnings) return;
    for (const oldest of this.#warnings.keys()) {
      this.#warnings.delete(oldest);
      this.forgotten++;
      break;
    }
  }

  #keepError(entry: ReportEntry): void {
    this.#errors.push(entry);
    if (this.#errors.length <= this.#limits.errors) return;
    this.#errors.shift();
    this.forgotten++;
  }

  #tell(entry: ReportEntry, cleared: boolean): void {
    for (const listener of this.#listeners) listener(entry, cleared);
  }
}
