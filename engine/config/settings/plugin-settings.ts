// The `plugin` block, and plugins that a `process` binding defines in place.
import { entriesAt, Reader, type Branch } from '../tree/effective.ts';
import { clamp, type Findings, NOWHERE } from '../fault.ts';
import type { EffectivePeer } from '../tree/inherit.ts';
import type { PluginNote } from '../load.ts';
import { parseDuration } from '../rules/validators.ts';
import { didYouMean } from '../text/values.ts';

export type Overflow = 'hold-peer' | 'drop-with-gap' | 'disconnect';

export interface PluginSettings {
  readonly name: string;
  /** Shell command of an external process; '' for a plugin in process. */
  readonly run: string;
  /** Name of a built-in plugin or path of a module; '' for an external process. */
  readonly use: string;
  readonly encoder: 'json' | 'text';
  /** Unstated leaves it to the plugin's failure policy. */
  readonly respawn: boolean | undefined;
  /** Limit of each start-up stage. */
  readonly timeoutMs: number;
  readonly queue: { readonly batches: number; readonly bytes: number; readonly onOverflow: Overflow | undefined };
  readonly isolation: 'main' | 'thread';
}

export interface HubClient {
  readonly name: string;
  readonly secret: string;
}

export interface HubServer {
  readonly name: string;
  readonly ip: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** '' when only clients have secrets. */
  readonly secret: string;
  readonly clients: readonly HubClient[];
}

/** Built-in plugins of Ze that this release lacks: a configuration may name them, and runs without what they do. */
const LACKING: readonly string[] = [
  'bgp-aigp',
  'bgp-bmp',
  'bgp-gr',
  'bgp-hostname',
  'bgp-llnh',
  'bgp-persist',
  'bgp-redistribute',
  'bgp-redistribute-egress',
  'bgp-rpki',
  'bgp-rpki-decorator',
  'bgp-rr',
  'bgp-softver',
];
/** The address families are part of the engine. */
const BUILT_IN_FAMILIES = /^bgp-nlri-(?:evpn|flowspec|labeled|ls|mup|mvpn|rtc|vpls|vpn)$/;

export const MINIMUM_SECRET = 32;
const DEFAULT_QUEUE = { batches: 64, bytes: 4 << 20, onOverflow: undefined };

/** `usable`: the built-in plugins that `use` may name; not checked when absent. What this release lacks is left out, with a warning. */
export function pluginSettings(
  root: Branch,
  stageTimeoutMs: number,
  findings: Findings,
  usable?: readonly string[],
): PluginSettings[] {
  return entriesAt(root, 'plugin/external').flatMap((entry) => {
    const fields = new Reader(entry);
    const run = fields.text('run');
    const use = fields.text('use');
    const lacking = usable?.includes(use) === false && run === '' ? lackingNote(use) : undefined;
    if (lacking !== undefined) {
      findings.warn(fields.place('use'), `plugin/external/${entry.key}/use`, `plugin external ${entry.key}: ${lacking}`);
      return [];
    }
    if (run === '' && use === '') {
      findings.fault(entry.place, `plugin/external/${entry.key}`, `plugin external ${entry.key} needs run or use`);
    }
    if (use !== '' && usable?.includes(use) === false && !/^(?:\.{1,2})?\//.test(use)) {
      const message = `plugin external ${entry.key}: no built-in plugin is called "${clamp(use)}" (a module's path begins with ./, ../ or /)`;
      findings.fault(fields.place('use'), `plugin/external/${entry.key}/use`, message, { hint: didYouMean(use, usable) });
    }
    const overflow = fields.text('queue/on-overflow');
    return {
      name: entry.key,
      run,
      use,
      encoder: fields.text('encoder') as 'json' | 'text',
      respawn: fields.has('respawn') ? fields.flag('respawn') : undefined,
      timeoutMs: fields.has('timeout') ? parseDuration(fields.text('timeout')) : stageTimeoutMs,
      queue: {
        batches: fields.number('queue/batches') || DEFAULT_QUEUE.batches,
        bytes: fields.number('queue/bytes') || DEFAULT_QUEUE.bytes,
        onOverflow: overflow === '' ? undefined : (overflow as Overflow),
      },
      isolation: fields.text('isolation') === 'thread' ? 'thread' : 'main',
    };
  });
}

/** Why nothing is started for a plugin that Ze ships. */
function lackingNote(use: string): string | undefined {
  if (BUILT_IN_FAMILIES.test(use)) return `${use} is part of Zest itself, nothing is started`;
  return LACKING.includes(use) ? `the built-in plugin ${use} is not available in this version, nothing is started` : undefined;
}

/** Says of plugins what was learned of them: a fault where the text holds names that nobody knows, since one of them may be theirs. */
export function pluginNotes(root: Branch, notes: readonly PluginNote[], findings: Findings): void {
  if (notes.length === 0) return;
  const entries = new Map(entriesAt(root, 'plugin/external').map((entry) => [entry.key, entry]));
  for (const { plugin, message, idle } of notes) {
    if (idle && findings.unknownNames === 0) continue;
    const place = entries.get(plugin)?.place ?? NOWHERE;
    const path = `plugin/external/${plugin}`;
    if (findings.unknownNames > 0) findings.fault(place, path, `plugin ${plugin}: ${message}`);
    else findings.warn(place, path, `plugin ${plugin}: ${message}`);
  }
}

/** Adds the plugins that `process NAME { run … }` defines in place: text encoding, nothing else stated. */
export function inlinePlugins(
  peers: readonly EffectivePeer[],
  plugins: PluginSettings[],
  timeoutMs: number,
  findings: Findings,
): void {
  const known = new Map(plugins.map((plugin) => [plugin.name, plugin]));
  for (const peer of peers) {
    for (const process of peer.fields.entries('process')) {
      const run = process.text('run');
      if (run === '') continue;
      const before = known.get(process.key);
      if (before === undefined) {
        const plugin: PluginSettings = {
          name: process.key,
          run,
          use: '',
          encoder: 'text',
          respawn: undefined,
          timeoutMs,
          queue: DEFAULT_QUEUE,
          isolation: 'main',
        };
        known.set(plugin.name, plugin);
        plugins.push(plugin);
      } else if (before.run !== run) {
        findings.fault(
          process.place('run'),
          `bgp/peer/${peer.name}/process/${process.key}/run`,
          `process ${process.key} is defined twice, with different commands`,
        );
      }
    }
  }
}

export function hubServers(root: Branch, findings: Findings): HubServer[] {
  for (const client of entriesAt(root, 'plugin/hub/client')) {
    const fields = new Reader(client);
    if (fields.text('secret').length >= MINIMUM_SECRET) continue;
    const message = `hub client ${client.key}: the secret needs at least ${MINIMUM_SECRET} characters`;
    findings.fault(fields.place('secret'), `plugin/hub/client/${client.key}/secret`, message);
  }
  return entriesAt(root, 'plugin/hub/server').map((entry) => {
    const fields = new Reader(entry);
    const path = `plugin/hub/server/${entry.key}`;
    const secret = (reader: Reader, of: string): string => {
      const value = reader.text('secret');
      if (value.length < MINIMUM_SECRET && (value !== '' || reader !== fields || fields.entries('client').length === 0)) {
        findings.fault(reader.place('secret'), `${path}/secret`, `${of}: the secret needs at least ${MINIMUM_SECRET} characters`);
      }
      return value;
    };
    return {
      name: entry.key,
      ip: fields.text('host') || fields.text('ip'),
      port: fields.number('port'),
      secret: secret(fields, `hub server ${entry.key}`),
      clients: fields
        .entries('client')
        .map((client) => ({ name: client.key, secret: secret(client, `hub client ${client.key}`) })),
    };
  });
}
