/**
 * Who asks for events of peers and is granted none of any: a plugin that waits for ever, most often because a `process` block was
 * forgotten. Said as a warning while it lasts.
 */
import type { ProcessBinding } from '../bgp/port.ts';
import type { Log } from '../core/log.ts';
import { BGP } from './event-types.ts';
import type { BusProcess } from './process.ts';
import type { ReportBus } from './reports.ts';
import { receiveOf } from './subscriptions.ts';

export class Unbound {
  readonly #reports: ReportBus;
  readonly #log: Log;
  readonly #told = new Set<string>();

  constructor(reports: ReportBus, log: Log) {
    this.#reports = reports;
    this.#log = log;
  }

  /** After a change of subscriptions, bindings or processes. */
  check(processes: readonly BusProcess[], bindings: ReadonlyMap<string, readonly ProcessBinding[]>): void {
    const unbound = new Set(processes.filter((process) => isUnbound(process, bindings)).map((process) => process.name));
    for (const name of this.#told) if (!unbound.has(name)) this.#clear(name);
    for (const name of unbound) if (!this.#told.has(name)) this.#raise(name);
  }

  #raise(name: string): void {
    this.#told.add(name);
    const message = `asks for events of peers, but no peer grants it any: process ${name} { receive [ … ] }`;
    this.#log.warn({ process: name }, 'a plugin asks for events of peers, and no process block grants it any');
    this.#reports.report({ severity: 'warning', code: 'plugin-unbound', source: 'plugin', subject: name, message });
  }

  #clear(name: string): void {
    this.#told.delete(name);
    this.#reports.report({
      severity: 'warning',
      code: 'plugin-unbound',
      source: 'plugin',
      subject: name,
      message: '',
      clear: true,
    });
  }
}

/** Without peers there is nothing to be granted. */
function isUnbound(process: BusProcess, bindings: ReadonlyMap<string, readonly ProcessBinding[]>): boolean {
  if (process.builtin || process.failed || bindings.size === 0) return false;
  if (!process.subscriptions.list.some(({ namespace }) => namespace === BGP)) return false;
  for (const list of bindings.values()) if (receiveOf(process.name, list).length > 0) return false;
  return true;
}
