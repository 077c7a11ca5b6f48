// What goes wrong with a process's stream, told to the operator: in `show errors`, in the log, and to the process's owner.
import { messageOf } from '../../sdk/rpc/errors.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { BusProcess, ProcessFailure } from './process.ts';
import type { ReportBus } from './reports.ts';

/** Between two reports of one process's refused batches. */
const REFUSED_REPORT_MS = 10_000;

export class Troubles {
  readonly #reports: ReportBus;
  readonly #log: Log;
  readonly #clock: Clock;

  constructor(reports: ReportBus, log: Log, clock: Clock) {
    this.#reports = reports;
    this.#log = log;
    this.#clock = clock;
  }

  /** Nothing is delivered to it any more. */
  failed(process: BusProcess, failure: ProcessFailure): void {
    this.#reports.report({
      severity: 'error',
      code: failure === 'silent' ? 'event-consumer-silent' : 'event-consumer-overflow',
      source: 'bus',
      subject: process.name,
      message:
        failure === 'silent'
          ? 'no acknowledgement of a batch of events within the delivery time'
          : 'event queue full, policy disconnect',
    });
    this.#log.warn({ process: process.name, failure }, 'event consumer failed');
  }

  /** A handler that throws does so again and again: one report in ten seconds, which says how many went before it. */
  refused(process: BusProcess, error: unknown): void {
    this.#log.warn({ process: process.name, error: messageOf(error) }, 'events refused');
    const message = `events refused: ${messageOf(error)}`;
    process.onRefused?.(message);
    const now = this.#clock.now();
    if (now - process.refusedReportedAt < REFUSED_REPORT_MS) {
      process.refusedUnreported++;
      return;
    }
    const before = process.refusedUnreported;
    process.refusedReportedAt = now;
    process.refusedUnreported = 0;
    this.#reports.report({
      severity: 'error',
      code: 'event-handler-failed',
      source: 'bus',
      subject: process.name,
      message,
      ...(before === 0 ? {} : { detail: { 'refused-before': before } }),
    });
  }

  /** Rows that the reactor's ring had no room for. */
  lost(count: number): void {
    this.#reports.report({
      severity: 'error',
      code: 'event-rows-lost',
      source: 'bus',
      subject: 'reactor',
      message: `${count} events lost between reactor and bus`,
      detail: { lost: count },
    });
  }
}
