// What `doctor` examines in a running daemon: the engine's own checks, how the daemon is, and the checks its plugins declare.
import type { EventBus } from '../bus/bus.ts';
import type { Doctor } from '../command/context.ts';
import { OWNER, ownChecks, type OwnChecks } from '../config/own-checks.ts';
import type { RunningConfig } from '../config/running.ts';
import type { DoctorCheck } from '../core/doctor.ts';
import type { PluginHost } from '../host/host.ts';

export interface DoctorParts extends Omit<OwnChecks, 'running' | 'config'> {
  readonly bus: Pick<EventBus, 'reports'>;
  config(): RunningConfig | undefined;
  host(): Pick<PluginHost, 'list' | 'link' | 'registry'> | undefined;
}

export function doctor(parts: DoctorParts): Doctor {
  return {
    hasConfig: () => parts.config() !== undefined,
    checks: () => [
      ...ownChecks({ ...parts, running: true, config: parts.config() }),
      plugins(parts),
      warnings(parts),
      ...declared(parts),
    ],
  };
}

function plugins(parts: DoctorParts): DoctorCheck {
  const codes = ['doctor-plugin-down'];
  return own('plugins', 50, codes, () =>
    (parts.host()?.list() ?? [])
      .filter((plugin) => plugin.state === 'failed' || plugin.state === 'disabled')
      .map((plugin) => ({
        code: 'doctor-plugin-down',
        severity: 'error',
        message: `${plugin.name} is ${plugin.state}${plugin.lastError === '' ? '' : `: ${plugin.lastError}`}`,
      })),
  );
}

function warnings({ bus }: DoctorParts): DoctorCheck {
  return own('warnings', 60, ['doctor-warning'], () =>
    bus.reports.warnings().map((report) => ({
      code: 'doctor-warning',
      severity: 'warning',
      message: `${report.source} ${report.code} ${report.subject}: ${report.message}`,
    })),
  );
}

function own(name: string, order: number, codes: readonly string[], run: DoctorCheck['run']): DoctorCheck {
  return { owner: OWNER, name, phase: 'post-config', order, dependencies: [], platforms: [], codes, run };
}

function declared(parts: DoctorParts): readonly DoctorCheck[] {
  const there = parts.host();
  if (there === undefined) return [];
  return there.list().flatMap(({ name: owner }) => {
    const link = there.link(owner);
    const checks = link === undefined ? [] : (there.registry.of(owner)?.['doctor-checks'] ?? []);
    return checks.map(
      ({ name, phase, order = 0, dependencies = [], platforms = [], codes }): DoctorCheck => ({
        owner,
        name,
        phase,
        order,
        dependencies,
        platforms,
        codes,
        run: async (signal) => {
          const running = there.link(owner);
          if (running === undefined) throw new Error('plugin process not running');
          return (await running.call('ze-plugin-callback:doctor-check', { name }, signal)).diagnostics;
        },
      }),
    );
  });
}
