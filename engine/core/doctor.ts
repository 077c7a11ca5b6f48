/**
 * Doctor checks: in which order they run, within which time, and what becomes of their findings. Knows neither plugins nor
 * configurations: a check is a name and a function.
 *
 * Checks run one after another: phase by phase, in a phase by `order`, a check after those it depends on. A dependency orders and
 * does no more: a check runs whatever the one before it found, unless that one says otherwise itself.
 */
import type { Clock } from './clock.ts';

export const DOCTOR_PHASES = ['pre-config', 'missing-config', 'post-config'] as const;
/** `missing-config` runs where there is no configuration, `post-config` where there is one. */
export type DoctorPhase = (typeof DOCTOR_PHASES)[number];

export interface Finding {
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
}

export interface DoctorCheck {
  /** `zest`, or the plugin that declares it. */
  readonly owner: string;
  readonly name: string;
  readonly phase: DoctorPhase;
  readonly order: number;
  /** Names of checks that run before it: its owner's, else anybody's. */
  readonly dependencies: readonly string[];
  /** `any`, or names as `process.platform` or Go spells them. */
  readonly platforms: readonly string[];
  /** What it may find. A finding with another code is shown all the same, and flagged. */
  readonly codes: readonly string[];
  run(signal: AbortSignal): Promise<readonly Finding[]> | readonly Finding[];
}

/** One line of the report. A check that found nothing is one `ok` line, one that found three things is three lines. */
export interface DoctorLine {
  readonly phase: DoctorPhase;
  readonly owner: string;
  readonly check: string;
  /** `failed`: the check itself did not come to an end · `skipped`: it is not for here; `message` says why. */
  readonly status: 'ok' | 'warning' | 'error' | 'failed' | 'skipped';
  /** '' when there is no finding. */
  readonly code: string;
  readonly message: string;
  /** The check did not declare this code. */
  readonly undeclared: boolean;
}

export interface DoctorScene {
  readonly clock: Clock;
  readonly platform: string;
  readonly hasConfig: boolean;
  readonly signal: AbortSignal;
}

/** One check gets this long. */
export const CHECK_MS = 5000;
/** After so many that said nothing in time, an owner's other checks are not waited for. */
const PATIENCE = 2;
const MAXIMUM_FINDINGS = 64;
const MAXIMUM_TEXT = 1024;

/** Runs the checks and gives their lines as they come. Ends early when the signal aborts. */
export async function* runDoctor(checks: readonly DoctorCheck[], scene: DoctorScene): AsyncGenerator<DoctorLine, void> {
  const silent = new Map<string, number>();
  for (const { check, fault, note } of inOrder(checks)) {
    if (scene.signal.aborted) return;
    const skip = reasonToSkip(check, scene);
    if (skip !== undefined) yield line(check, 'skipped', skip);
    else if (fault !== undefined) yield line(check, 'failed', fault);
    else if ((silent.get(check.owner) ?? 0) >= PATIENCE) {
      yield line(check, 'failed', `not asked: ${check.owner} did not answer ${PATIENCE} checks before`);
    } else {
      const outcome = await examine(check, scene);
      silent.set(check.owner, outcome.late ? (silent.get(check.owner) ?? 0) + 1 : 0);
      for (const one of outcome.lines) yield one.status === 'ok' ? { ...one, message: note } : one;
    }
  }
}

/** Nothing was found and no check failed. */
export function isClean(lines: Iterable<Pick<DoctorLine, 'status'>>): boolean {
  for (const { status } of lines) if (status !== 'ok' && status !== 'skipped') return false;
  return true;
}

function reasonToSkip(check: DoctorCheck, scene: DoctorScene): string | undefined {
  if (check.phase === 'missing-config' && scene.hasConfig) return 'there is a configuration';
  if (check.phase === 'post-config' && !scene.hasConfig) return 'there is no configuration';
  const { platforms } = check;
  const names = [scene.platform, scene.platform === 'win32' ? 'windows' : scene.platform, 'any'];
  if (platforms.length === 0 || platforms.some((platform) => names.includes(platform.toLowerCase()))) return undefined;
  return `for ${platforms.join(', ')}, this is ${scene.platform}`;
}

interface Outcome {
  readonly lines: readonly DoctorLine[];
  readonly late: boolean;
}

async function examine(check: DoctorCheck, scene: DoctorScene): Promise<Outcome> {
  const stop = new AbortController();
  let end: () => void = () => undefined;
  const ended = new Promise<'late'>((resolve) => (end = () => resolve('late')));
  const timer = scene.clock.after(CHECK_MS, () => {
    stop.abort(new DOMException('deadline exceeded', 'TimeoutError'));
    end();
  });
  scene.signal.addEventListener('abort', end, { once: true });
  try {
    const work = Promise.resolve(check.run(AbortSignal.any([stop.signal, scene.signal])));
    work.catch(() => undefined);
    const found = await Promise.race([work, ended]);
    if (found === 'late') return { late: true, lines: [line(check, 'failed', lateText(scene))] };
    return { late: false, lines: found.length === 0 ? [line(check, 'ok', '')] : findings(check, found) };
  } catch (error) {
    const late = stop.signal.aborted;
    const reason = late ? lateText(scene) : error instanceof Error ? error.message : String(error);
    return { late, lines: [line(check, 'failed', reason)] };
  } finally {
    timer.cancel();
    scene.signal.removeEventListener('abort', end);
  }
}

function lateText(scene: DoctorScene): string {
  return scene.signal.aborted ? 'interrupted' : `no answer within ${CHECK_MS / 1000} s`;
}

function findings(check: DoctorCheck, found: readonly Finding[]): readonly DoctorLine[] {
  const lines = found.slice(0, MAXIMUM_FINDINGS).map(({ code, severity, message }): DoctorLine => {
    const known = (['error', 'warning'] as readonly string[]).includes(severity);
    return {
      ...line(check, known ? severity : 'error', message),
      code: code.slice(0, 128),
      undeclared: !check.codes.includes(code),
    };
  });
  if (found.length > MAXIMUM_FINDINGS)
    lines.push(line(check, 'failed', `${found.length - MAXIMUM_FINDINGS} more findings are not shown`));
  return lines;
}

function line(check: DoctorCheck, status: DoctorLine['status'], message: string): DoctorLine {
  const { phase, owner, name } = check;
  return { phase, owner, check: name, status, code: '', message: message.slice(0, MAXIMUM_TEXT), undeclared: false };
}

interface Placed {
  readonly check: DoctorCheck;
  /** Why it cannot run in its place. */
  readonly fault: string | undefined;
  /** Worth saying although it runs; '' = nothing. */
  readonly note: string;
}

/** Phase, then order, then owner and name; a check after its dependencies. */
function inOrder(checks: readonly DoctorCheck[]): readonly Placed[] {
  const byRank = [...checks].sort((a, b) => rank(a) - rank(b) || compare(a.owner, b.owner) || compare(a.name, b.name));
  const placed: Placed[] = [];
  const done = new Set<DoctorCheck>();
  const under = new Set<DoctorCheck>();
  const place = (check: DoctorCheck): string | undefined => {
    if (done.has(check)) return undefined;
    if (under.has(check)) return check.name;
    under.add(check);
    let fault: string | undefined;
    let note = '';
    for (const name of check.dependencies) {
      const before =
        byRank.find((one) => one.name === name && one.owner === check.owner) ?? byRank.find((one) => one.name === name);
      if (before === undefined) note ||= `it depends on "${name.slice(0, 64)}", which nobody declares`;
      else if (DOCTOR_PHASES.indexOf(before.phase) > DOCTOR_PHASES.indexOf(check.phase))
        fault ??= `it depends on "${name}", which runs in a later phase`;
      else {
        const circle = place(before);
        if (circle !== undefined) fault ??= `its dependencies go in a circle: ${check.name}, ${name}`;
      }
    }
    under.delete(check);
    done.add(check);
    placed.push({ check, fault, note });
    return undefined;
  };
  for (const check of byRank) place(check);
  return placed;
}

function rank(check: DoctorCheck): number {
  return DOCTOR_PHASES.indexOf(check.phase) * 10_000 + check.order;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
