// Every setting of the daemon that has one dotted name: `ze.log.bgp` may also be written `ze_log_bgp` or `ZE_LOG_BGP` in the
// environment. Precedence: environment, then command-line flag, then config file, then default.
import { nearest } from '../../core/nearest.ts';
import { clamp } from '../fault.ts';
import { parseDuration, parseLogLevel } from '../rules/validators.ts';

export type SettingKind = 'text' | 'flag' | 'number' | 'duration' | 'level' | 'port';

export interface SettingSpec {
  /** Dotted, without the leading `ze.`. */
  readonly name: string;
  readonly kind: SettingKind;
  readonly default: string;
  /** Path below `environment` in the config, or '' when only environment and flags set it. */
  readonly path: string;
  readonly description: string;
}

const row = (name: string, kind: SettingKind, fallback: string, path: string, description: string): SettingSpec => ({
  name,
  kind,
  default: fallback,
  path,
  description,
});

export const SETTINGS: readonly SettingSpec[] = [
  row('log.level', 'level', 'warn', 'log/level', 'level of every subsystem that has none of its own'),
  row('log.backend', 'text', 'stderr', 'log/backend', 'where log lines go: stderr, stdout, syslog'),
  row('log.format', 'text', 'text', '', 'log lines for people (text) or for machines (json)'),
  row('log.destination', 'text', '', 'log/destination', "host:port of a syslog collector, a socket's path; empty is /dev/log"),
  row('log.file', 'text', '', 'log/file', 'file for log lines, opened anew at SIGHUP'),
  row('log.relay', 'level', 'warn', 'log/relay', "lowest level of plugins' lines that is passed on"),
  row('pid.file', 'text', '', 'daemon/pid', 'file that holds the process id'),
  row('daemon.user', 'text', '', 'daemon/user', 'user to become once every port is bound'),
  row('ready.file', 'text', '', 'ready/file', 'file written when the daemon is up'),
  row('control.socket', 'text', '', 'control/socket', 'path of the Unix socket of the command line'),
  row('state.dir', 'text', '', 'state/dir', 'folder for certificates and state'),
  row('reactor.thread', 'flag', 'true', 'reactor/thread', 'run sockets and sessions in a thread of their own'),
  row('reactor.cache-ttl', 'number', '60', 'reactor/cache-ttl', 'seconds an UPDATE stays in the cache'),
  row('reactor.cache-max', 'number', '1000000', 'reactor/cache-max', 'UPDATEs in the cache at most'),
  row('reactor.update-groups', 'flag', 'true', 'reactor/update-groups', 'share encoding across peers'),
  row('bgp.openwait', 'number', '120', 'bgp/openwait', 'seconds to wait for OPEN after connect'),
  row('bgp.announce-delay', 'duration', '0s', 'bgp/announce-delay', 'pause before the first UPDATE'),
  row('plugin.stage.timeout', 'duration', '5s', '', 'limit of a plugin start-up stage'),
  row('plugin.query.timeout', 'duration', '5s', '', 'limit of asking a plugin what it declares'),
  row('plugin.delivery.timeout', 'duration', '5s', '', 'limit of an event delivery'),
  row('cache.safety.valve', 'duration', '5m', '', 'longest time a consumer may hold a cached UPDATE'),
  row('fwd.dest.cap', 'number', '4096', '', 'destinations of one forward-cached call'),
  row('fwd.write.deadline', 'duration', '30s', '', 'limit of a socket write'),
  row('metrics.interval', 'duration', '10s', '', 'refresh of gauges'),
  row('config.revisions', 'number', '100', '', 'revisions of the configuration kept'),
  row('report.warnings.max', 'number', '1024', '', 'warnings kept'),
  row('report.errors.max', 'number', '256', '', 'errors kept'),
  row('test.bgp.port', 'port', '0', '', 'overrides every BGP port; 0 is off'),
];

export type SettingSource = 'environment' | 'flag' | 'config' | 'default';

export interface Setting {
  /** `ze.log.bgp` */
  readonly name: string;
  readonly value: string;
  readonly source: SettingSource;
  readonly kind: SettingKind;
  readonly description: string;
}

export interface SettingFault {
  readonly message: string;
  /** Path below `environment` of a value that the config gave. */
  readonly path?: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Letters and digits of a name; every separator is the same. */
function folded(name: string): string {
  return name.toLowerCase().replaceAll(/[._-]/g, '_');
}

/** Names of the protocol and of older releases that begin alike and are no settings of ours. */
const FOREIGN =
  /^ze_(?:plugin_(?:hub|ca|cert|name|mode|mtls)|ssh|storage|config_dir|buf|rs|fwd_(?:chan|batch|pool|teardown))(?:_|$)/;

export class Settings {
  readonly #settings = new Map<string, Setting>();
  /** Faults of values and of names nobody knows. */
  readonly faults: SettingFault[] = [];
  readonly warnings: string[] = [];

  /** `config` maps paths below `environment` to texts. Names of `flags` are dotted, with or without `ze.`. */
  constructor(environment: Environment, flags: Readonly<Record<string, string>>, config: ReadonlyMap<string, string>) {
    const byName = new Map(SETTINGS.map((spec) => [folded(`ze.${spec.name}`), spec]));
    for (const spec of SETTINGS) this.#put(spec, spec.default, 'default');
    for (const [path, value] of config) {
      const spec = SETTINGS.find((one) => one.path === path);
      if (spec !== undefined) this.#put(spec, value, 'config');
      else if (path.startsWith('log/')) this.#put(logSpec(path.slice('log/'.length), path), value, 'config');
    }
    const take = (name: string, value: string, source: 'flag' | 'environment'): void => {
      const known = byName.get(folded(name));
      if (known !== undefined) this.#put(known, value, source, name);
      else if (folded(name).startsWith('ze_log_')) this.#put(logSpec(subsystem(name)), value, source, name);
      else if (source === 'flag') this.faults.push({ message: `unknown setting ${clamp(name)}${this.#guess(name)}` });
      else if (!FOREIGN.test(folded(name)))
        this.warnings.push(`unknown setting ${clamp(name)} in the environment${this.#guess(name)}`);
    };
    for (const [name, value] of Object.entries(flags)) take(name.startsWith('ze.') ? name : `ze.${name}`, value, 'flag');
    for (const [name, value] of Object.entries(environment)) {
      if (value !== undefined && /^ze[._]/i.test(name)) take(name, value, 'environment');
    }
  }

  #guess(name: string): string {
    const guess = nearest(
      name.toLowerCase().replaceAll('_', '.'),
      SETTINGS.map((spec) => `ze.${spec.name}`),
    );
    return guess === undefined ? '' : `: did you mean ${guess}?`;
  }

  #put(spec: SettingSpec, value: string, source: SettingSource, written = `ze.${spec.name}`): void {
    const refuse = (why: string): void => {
      const message = `${written}: "${clamp(value)}" is ${why}`;
      this.faults.push(source === 'config' ? { message, path: spec.path } : { message });
    };
    const read = readSetting(spec.kind, value);
    if (read === undefined) {
      refuse(`not ${EXPECTED[spec.kind]}`);
      return;
    }
    const choices = CHOICES[spec.name];
    if (choices !== undefined && value !== '' && !choices.includes(value)) {
      const guess = nearest(value.toLowerCase(), choices);
      const hint = guess === undefined ? '' : ` (did you mean "${guess}"?)`;
      refuse(`none of ${choices.join(', ')}${hint}`);
      return;
    }
    const name = `ze.${spec.name}`;
    this.#settings.set(name, { name, value: read, source, kind: spec.kind, description: spec.description });
  }

  /** Every setting, by name. */
  all(): readonly Setting[] {
    return [...this.#settings.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The setting of a dotted name, `ze.` included, in any spelling. */
  find(name: string): Setting | undefined {
    return this.#settings.get(name) ?? this.all().find((setting) => folded(setting.name) === folded(name));
  }

  text(name: string): string {
    return this.#settings.get(`ze.${name}`)?.value ?? '';
  }

  number(name: string): number {
    return Number(this.text(name));
  }

  flag(name: string): boolean {
    return this.text(name) === 'true';
  }

  milliseconds(name: string): number {
    return parseDuration(this.text(name));
  }

  /** Levels by subsystem; '' is the level of every other. */
  logLevels(): Readonly<Record<string, string>> {
    const own = ['backend', 'format', 'destination', 'file', 'relay', 'level'].map((name) => `ze.log.${name}`);
    const named = this.all().filter((setting) => setting.name.startsWith('ze.log.') && !own.includes(setting.name));
    const rows = named.map((setting): [string, string] => [setting.name.slice('ze.log.'.length), setting.value]);
    return Object.fromEntries<string>([['', this.text('log.level')], ...rows]);
  }
}

function logSpec(name: string, path = ''): SettingSpec {
  return row(`log.${name}`, 'level', '', path, `level of ${name}`);
}

/** `ze_log_bgp_session` and `ze.log.bgp.session` both mean bgp.session. */
function subsystem(name: string): string {
  const rest = name.slice('ze.log.'.length);
  return (name.includes('.') ? rest : rest.replaceAll('_', '.')).toLowerCase();
}

/** Texts that are one of a few words; an empty one is the default. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  'log.backend': ['stderr', 'stdout', 'syslog'],
  'log.format': ['text', 'json'],
};

const EXPECTED: Readonly<Record<SettingKind, string>> = {
  text: 'a text',
  flag: 'true or false',
  number: 'a number',
  duration: 'a duration such as 500ms, 30s or 5m',
  level: 'a log level',
  port: 'a port',
};

const TRUE = ['true', 'yes', 'on', 'enable', '1'];
const FALSE = ['false', 'no', 'off', 'disable', '0'];

/** The value in its canonical spelling, or `undefined`. */
function readSetting(kind: SettingKind, value: string): string | undefined {
  switch (kind) {
    case 'text':
      return value;
    case 'flag':
      return TRUE.includes(value.toLowerCase()) ? 'true' : FALSE.includes(value.toLowerCase()) ? 'false' : undefined;
    case 'number':
      return /^\d{1,15}$/.test(value) ? value : undefined;
    case 'duration':
      return parseDuration(value) >= 0 ? value : undefined;
    case 'level':
      return parseLogLevel(value);
    case 'port':
      return /^\d{1,5}$/.test(value) && Number(value) <= 65535 ? value : undefined;
  }
}
