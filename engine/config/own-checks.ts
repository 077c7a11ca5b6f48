/**
 * What `zest doctor` looks at by itself, with a daemon or without: the machine before a configuration is read, the configuration,
 * and what the configuration wants of the machine. Nothing is changed: folders are looked at, not made.
 */
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { controlSocketPath, setting, untrustedFolder } from '../core/control-socket.ts';
import type { DoctorCheck, DoctorPhase, Finding } from '../core/doctor.ts';
import { type FileText, readSettled } from '../core/settled-file.ts';
import { loadConfig, type LoadOptions, type LoadResult } from './load.ts';
import { faultText } from './validate-report.ts';
import type { RunningConfig } from './running.ts';
import type { Environment } from './settings/settings.ts';

export interface OwnChecks {
  /** '' = none was named; `-` = it came by standard input and cannot be looked at. */
  readonly configPath: string;
  readonly env: Environment;
  readonly flags: Readonly<Record<string, string>>;
  readonly uid: number;
  readonly clock: Clock;
  /** Names of built-in plugins that a configuration may use without a block of their own. */
  readonly builtins: readonly string[];
  /** The daemon itself asks: its socket and ports are open already. */
  readonly running: boolean;
  /** The running configuration, where there is one. */
  readonly config?: RunningConfig | undefined;
  /** Reads the file's text with what its plugins bring; without it, under the shipped schema alone. */
  readonly read?: ((text: string, options: LoadOptions) => Promise<LoadResult>) | undefined;
  /** Tests hand in their own. */
  readonly machine?: Machine | undefined;
}

/** What the checks ask the operating system. */
export interface Machine {
  /** Soft limit of open files; `undefined` = unknown or unlimited. */
  openFiles(): number | undefined;
  /** The first port that anybody may listen on. */
  firstFreePort(): number;
}

export const OWNER = 'zest';
/** Sockets, pipes and files the daemon holds besides those of peers and plugins. */
const OWN_FILES = 64;
/** TLS certificates are made and checked by the clock; nothing of ours is older than this. */
const EARLIEST = Date.UTC(2025, 0, 1);
const MAXIMUM_SOCKET_BYTES = 107;

export function ownChecks(about: OwnChecks): readonly DoctorCheck[] {
  let loaded: Promise<LoadResult | string> | undefined;
  const load = (): Promise<LoadResult | string> => (loaded ??= loadFile(about));
  const config = async (): Promise<RunningConfig | undefined> => {
    if (about.config !== undefined) return about.config;
    const result = await load();
    return typeof result !== 'string' && result.ok ? result.config : undefined;
  };
  const machine = about.machine ?? MACHINE;
  return [
    check('pre-config', 10, 'clock', ['doctor-clock'], () => clock(about)),
    check('pre-config', 20, 'state-directory', ['doctor-state-directory'], () => stateDirectory(about)),
    check('pre-config', 30, 'control-socket', ['doctor-control-socket'], () => controlSocket(about)),
    check('missing-config', 10, 'config-file', ['doctor-config-missing'], () => [
      found(
        'error',
        'doctor-config-missing',
        about.configPath === ''
          ? 'no configuration was named and no daemon answers: zest doctor FILE'
          : `${about.configPath}: no such file`,
      ),
    ]),
    check('post-config', 10, 'config', ['doctor-config-invalid', 'doctor-config-warning'], async () => configFile(await load())),
    check('post-config', 20, 'config-permissions', ['doctor-config-permissions'], async () => permissions(about, await config())),
    check('post-config', 30, 'privileged-ports', ['doctor-privileged-port'], async () => ports(about, await config(), machine)),
    check('post-config', 40, 'open-files', ['doctor-open-files'], async () => openFiles(await config(), machine)),
  ];
}

function check(phase: DoctorPhase, order: number, name: string, codes: readonly string[], run: DoctorCheck['run']): DoctorCheck {
  const dependencies = phase === 'post-config' && name !== 'config' ? ['config'] : [];
  return { owner: OWNER, phase, order, name, codes, run, dependencies, platforms: [] };
}

function found(severity: Finding['severity'], code: string, message: string): Finding {
  return { severity, code, message };
}

function clock({ clock, configPath }: OwnChecks): readonly Finding[] {
  const now = clock.wall();
  if (now < EARLIEST) {
    const message = `the clock says ${new Date(now).toISOString()}: certificates of the plugin hub will not verify`;
    return [found('error', 'doctor-clock', message)];
  }
  const changed = configPath === '' ? undefined : statSync(configPath, { throwIfNoEntry: false })?.mtimeMs;
  if (changed === undefined || changed <= now + 60_000) return [];
  return [found('warning', 'doctor-clock', `${configPath} was changed in the future: the clock may be slow`)];
}

/** design §5: where it would be; the nearest folder that exists decides whether it can be made. */
function stateDirectory({ env, flags, config }: OwnChecks): readonly Finding[] {
  const home = env['HOME'];
  const base = env['XDG_STATE_HOME'] ?? (home === undefined ? '' : join(home, '.local', 'state'));
  const named = setting(env, 'ze.state.dir') ?? flags['state.dir'] ?? config?.environment.stateDir ?? '';
  const folder = named !== '' ? named : base === '' ? '' : join(base, 'zest');
  const code = 'doctor-state-directory';
  const effect =
    "the plugin hub's certificate authority will live in memory, and plugins that keep its root must be started again";
  if (folder === '') return [found('warning', code, `there is no state directory (HOME is not set): ${effect}`)];
  let at = folder;
  while (statSync(at, { throwIfNoEntry: false }) === undefined && at !== dirname(at)) at = dirname(at);
  const stat = statSync(at);
  if (!stat.isDirectory()) return [found('warning', code, `${at} is not a folder: ${effect}`)];
  if (!mayWrite(at)) return [found('warning', code, `${folder} cannot be written: ${effect}`)];
  if (at !== folder || (stat.mode & 0o022) === 0) return [];
  return [found('warning', code, `${folder} can be written by others (mode ${octal(stat.mode)}): chmod go-w it`)];
}

function controlSocket({ env, flags, uid, config }: OwnChecks): readonly Finding[] {
  const path = controlSocketPath(flags['control.socket'] ?? (config?.environment.controlSocket || undefined), env, uid);
  const code = 'doctor-control-socket';
  const bytes = Buffer.byteLength(path);
  if (bytes > MAXIMUM_SOCKET_BYTES)
    return [found('error', code, `${path} has ${bytes} bytes, at most ${MAXIMUM_SOCKET_BYTES} can be used`)];
  const folder = dirname(path);
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) {
    let at = folder;
    while (statSync(at, { throwIfNoEntry: false }) === undefined && at !== dirname(at)) at = dirname(at);
    return mayWrite(at) ? [] : [found('error', code, `${folder} does not exist and cannot be made in ${at}`)];
  }
  const distrust = untrustedFolder(path, uid);
  if (distrust !== undefined) return [found('error', code, distrust)];
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat !== undefined && !stat.isSocket()) return [found('error', code, `${path} exists and is not a socket`)];
  return stat !== undefined || mayWrite(folder) ? [] : [found('error', code, `${folder} cannot be written`)];
}

async function loadFile({ configPath, clock, env, flags, builtins, read }: OwnChecks): Promise<LoadResult | string> {
  const file: FileText =
    configPath === '-' ? { ok: false, reason: 'it came by standard input' } : await readSettled(configPath, clock);
  if (!file.ok) return file.reason;
  const options = { path: configPath, env, flags, builtins };
  return read === undefined ? loadConfig(file.text, options) : await read(file.text, options);
}

/** Of the file as it is now: what the next start or reload would read. */
function configFile(result: LoadResult | string): readonly Finding[] {
  if (typeof result === 'string')
    return result === 'it came by standard input' ? [] : [found('error', 'doctor-config-invalid', result)];
  const faults = result.ok ? [] : result.faults.map((fault) => found('error', 'doctor-config-invalid', faultText(fault)));
  const warnings = result.warnings.map(({ message, line }) =>
    found('warning', 'doctor-config-warning', line > 0 ? `line ${line}: ${message}` : message),
  );
  return [...faults, ...warnings];
}

function permissions({ configPath }: OwnChecks, config: RunningConfig | undefined): readonly Finding[] {
  if (configPath === '-') return [];
  const stat = statSync(configPath, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  const code = 'doctor-config-permissions';
  if ((stat.mode & 0o002) !== 0)
    return [
      found('error', code, `${configPath} can be written by anybody (mode ${octal(stat.mode)}), and it names programs to run`),
    ];
  if ((stat.mode & 0o044) !== 0 && config !== undefined && holdsSecrets(config))
    return [
      found('warning', code, `${configPath} holds secrets and can be read by others (mode ${octal(stat.mode)}): chmod 600 it`),
    ];
  return [];
}

function holdsSecrets(config: RunningConfig): boolean {
  return (
    config.hub.some((server) => server.secret !== '' || server.clients.length > 0) ||
    /"(?:secret|password|md5-password|token)":"/.test(config.sectionText('*') ?? '')
  );
}

function ports({ running, uid }: OwnChecks, config: RunningConfig | undefined, machine: Machine): readonly Finding[] {
  if (config === undefined || running || uid === 0 || mayBindAll()) return [];
  const first = machine.firstFreePort();
  const { peers, portOverride } = config.reactor;
  const wanted = new Set(portOverride > 0 ? [portOverride] : peers.filter((peer) => peer.accept).map((peer) => peer.localPort));
  for (const server of config.hub) wanted.add(server.port);
  return [...wanted]
    .filter((port) => port > 0 && port < first)
    .sort((a, b) => a - b)
    .map((port) =>
      found(
        'error',
        'doctor-privileged-port',
        `port ${port} needs a privilege: ports below ${first} are root's (or CAP_NET_BIND_SERVICE, or net.ipv4.ip_unprivileged_port_start)`,
      ),
    );
}

/** A peer may hold two sockets while connections collide (RFC 4271 §6.8), an external plugin a socket and two pipes. */
function openFiles(config: RunningConfig | undefined, machine: Machine): readonly Finding[] {
  const limit = machine.openFiles();
  if (config === undefined || limit === undefined) return [];
  const { peers } = config.reactor;
  const wanted = OWN_FILES + peers.length * 2 + config.plugins.filter((plugin) => plugin.run !== '').length * 4;
  if (wanted <= limit) return [];
  const message = `${limit} files may be open, ${peers.length} peers and ${config.plugins.length} plugins may need ${wanted}: raise ulimit -n`;
  return [found('error', 'doctor-open-files', message)];
}

const MACHINE: Machine = {
  openFiles: () => numberIn('/proc/self/limits', /^Max open files\s+(\d+)/m),
  firstFreePort: () => numberIn('/proc/sys/net/ipv4/ip_unprivileged_port_start', /^(\d+)/) ?? 1024,
};

/** CAP_NET_BIND_SERVICE in our effective set. */
function mayBindAll(): boolean {
  const text = read('/proc/self/status');
  const set = /^CapEff:\s+([0-9a-f]+)/m.exec(text)?.[1];
  return set !== undefined && ((BigInt(`0x${set}`) >> 10n) & 1n) === 1n;
}

function numberIn(path: string, pattern: RegExp): number | undefined {
  const text = pattern.exec(read(path))?.[1];
  return text === undefined ? undefined : Number(text);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function mayWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8);
}
