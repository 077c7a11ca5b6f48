// NLRI that the owner of their family did not read: a warning while it lasts, one for each family.
import type { NlriAnswer, NlriQuestion } from '../codec/nlri-question.ts';
import type { ReportBus } from './reports.ts';

export class Unread {
  readonly #reports: ReportBus;
  readonly #warned = new Set<string>();

  constructor(reports: ReportBus) {
    this.#reports = reports;
  }

  note({ name, owner }: NlriQuestion, answer: NlriAnswer): void {
    const clear = answer.ok;
    if (clear ? !this.#warned.delete(name) : this.#warned.has(name)) return;
    if (!clear) this.#warned.add(name);
    const message = answer.ok ? '' : `${owner} does not read it, events show hex: ${answer.message}`;
    this.#reports.report({ severity: 'warning', code: 'family-unread', source: 'bus', subject: name, message, clear });
  }
}
