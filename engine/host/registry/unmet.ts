// What was declared and meets nothing: roles whose claimers do not run, enrichers of commands that nobody has. Looked at whenever the set of
// plugins has changed; nothing follows from it but a word to the operator.
import type { Log } from '../../core/log.ts';
import { quote } from '../quote.ts';
import type { Registry } from './registration.ts';
import type { Roles } from './roles.ts';
import type { CommandRegistry, ReportSink } from '../services.ts';

export interface UnmetParts {
  readonly log: Log;
  readonly report: ReportSink;
  readonly registry: Registry;
  readonly roles: Roles;
  readonly commands: Pick<CommandRegistry, 'has'>;
  /** Does a plugin of this name run? */
  readonly available: (plugin: string) => boolean;
}

export class Unmet {
  readonly #parts: UnmetParts;
  /** Plugins of whose enrichers it stands in the warnings. */
  readonly #warned = new Set<string>();

  constructor(parts: UnmetParts) {
    this.#parts = parts;
  }

  /** The set of plugins is complete. */
  look(): void {
    const { log, roles, available } = this.#parts;
    for (const { role, claimers } of roles.unheld(available))
      log.error({ role, claimers }, 'nobody performs a claimed role: its claimers do not run, others have stood down');
    this.#enrichers();
  }

  /** A plugin runs again, or is gone: others may have lost or found a command. */
  changed(): void {
    this.#enrichers();
  }

  #enrichers(): void {
    const { registry, commands, report } = this.#parts;
    const without = new Map<string, string[]>();
    for (const { plugin, command } of registry.enrichers())
      if (!commands.has(command)) without.set(plugin, [...(without.get(plugin) ?? []), command]);
    for (const [plugin, names] of without) {
      const message = `enriches answers of commands that nobody has: ${[...new Set(names)].map((name) => quote(name)).join(', ')}`;
      report({ severity: 'warning', code: 'plugin-enricher', source: 'plugin', subject: plugin, message });
      this.#warned.add(plugin);
    }
    for (const plugin of [...this.#warned]) {
      if (without.has(plugin)) continue;
      report({ severity: 'warning', code: 'plugin-enricher', source: 'plugin', subject: plugin, message: '', clear: true });
      this.#warned.delete(plugin);
    }
  }
}
