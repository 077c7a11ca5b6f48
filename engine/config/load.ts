// From a text to a running config, or to every fault in it. Order: parse against the schema, drop what is inactive, the schema's
// own rules, environment, plugins, then BGP with inheritance, then what holds between parts.
import { linkSchema } from '../../yang/compile/link.ts';
import { SchemaTree } from '../../yang/compile/tree.ts';
import { SCHEMA_ROWS } from '../../yang/generated/config.ts';
import { CONFIG_MODULES } from '../../yang/generated/modules.ts';
import { parseIpv4 } from '../../sdk/wire/address.ts';
import type { PeerSettings, ReactorSettings } from '../bgp/port.ts';
import {
  checkAddresses,
  checkBindings,
  checkFilters,
  checkLimitDates,
  checkListeners,
  checkMcp,
  checkProfiles,
} from './rules/cross-rules.ts';
import { type Branch, branchOf, entriesAt, Reader, type Value } from './tree/effective.ts';
import { type ConfigFault, type ConfigWarning, Findings, NOWHERE } from './fault.ts';
import { effectivePeers, type EffectivePeer, effectiveTree, peerTemplates } from './tree/inherit.ts';
import { withJoinedDefaults } from './tree/joined-defaults.ts';
import { singleBindings } from './settings/many-bindings.ts';
import { type GlobalBgp, peerSettings } from './settings/peer-settings.ts';
import { checkPolicies, PolicyBook } from './settings/policy.ts';
import { hubServers, inlinePlugins, pluginNotes, type PluginSettings, pluginSettings } from './settings/plugin-settings.ts';
import { RouteBook } from './settings/route-updates.ts';
import { type DaemonEnvironment, type ProcessBindings, RunningConfig } from './running.ts';
import { checkSchemaRules } from './rules/schema-rules.ts';
import { type Environment, Settings } from './settings/settings.ts';
import { readSyntax } from './set-format/index.ts';
import { checkTreeRules } from './rules/tree-rules.ts';
import type { SyntaxTree } from './text/syntax-tree.ts';
import { makeValidators, type Registered } from './rules/validators.ts';

export interface LoadOptions extends Registered {
  /** Name of the text in faults; a file's path, or `-`. */
  readonly path: string;
  /** The process environment. */
  readonly env?: Environment | undefined;
  /** Settings given on the command line, by dotted name. */
  readonly flags?: Readonly<Record<string, string>> | undefined;
  /** The schema, when plugins have added to it. */
  readonly schema?: SchemaTree | undefined;
  /** What was learned of plugins on the way here: faults when the text holds names that nobody knows, else warnings. */
  readonly notes?: readonly PluginNote[] | undefined;
  /** Names of built-in plugins: `process` may name them without a `plugin external` block. */
  readonly builtins?: readonly string[] | undefined;
  /** Names that `use` may give; not checked when absent. */
  readonly usable?: readonly string[] | undefined;
  /** What time it is, milliseconds since 1970: dates in the text are compared with it. */
  readonly now?: number | undefined;
  /** The text is judged, not run: a session that would lack a security feature refuses it with a warning instead of a fault. */
  readonly judged?: boolean | undefined;
  /** What a text came to under these options, when it was read on the way to them: it need not be read again. */
  readonly read?: ReadText | undefined;
}

export interface ReadText {
  readonly text: string;
  readonly judged: boolean;
  readonly result: LoadResult;
}

/** Something about a configured plugin. */
export interface PluginNote {
  readonly plugin: string;
  readonly message: string;
  /** Of no interest when every name of the text is known. */
  readonly idle: boolean;
}

export type LoadResult =
  | { readonly ok: true; readonly config: RunningConfig; readonly warnings: readonly ConfigWarning[] }
  | {
      readonly ok: false;
      readonly faults: readonly ConfigFault[];
      readonly warnings: readonly ConfigWarning[];
      /** Plugins as far as they could be read. */
      readonly plugins: readonly PluginSettings[];
      /** Some fault is a name that the schema does not know: a plugin may. */
      readonly unknownNames: boolean;
      readonly environment: DaemonEnvironment;
    };

let base: SchemaTree | undefined;

/** The schema of the modules this release ships. */
export function configSchema(): SchemaTree {
  base ??= SchemaTree.of(linkSchema(SCHEMA_ROWS), () => CONFIG_MODULES);
  return base;
}

/** Parses and checks a text; runs nothing, touches no file. Never throws for any text. */
export function loadConfig(text: string, options: LoadOptions): LoadResult {
  const { read } = options;
  if (read?.text === text && read.judged === (options.judged === true)) return read.result;
  const findings = new Findings();
  const schema = (options.schema ?? configSchema()).root;
  const syntax = readSyntax(text, options.path, schema, makeValidators(options), findings);
  return loadTree(syntax, options, findings);
}

/** As `loadConfig`, for a tree that is there already (an edited candidate). */
export function loadTree(syntax: SyntaxTree, options: LoadOptions, findings = new Findings()): LoadResult {
  findings.follow();
  const root = branchOf(syntax.schema, syntax.children);
  if (syntax.children.length === 0 && !findings.failed)
    findings.warn(NOWHERE, '', 'the configuration is empty: there is nothing to do');
  checkSchemaRules(root, findings, options.judged);
  findings.follow();
  const environment = readEnvironment(root, options, findings);
  const plugins = pluginSettings(root, environment.stageTimeoutMs, findings, options.usable);
  pluginNotes(root, options.notes ?? [], findings);
  const hub = hubServers(root, findings);
  findings.follow();
  const bgp = root.children.get('bgp');
  const stated = bgp?.kind === 'branch' ? effectivePeers(bgp, findings) : [];
  inlinePlugins(stated, plugins, environment.stageTimeoutMs, findings);
  const external = entriesAt(root, 'plugin/external').map((entry) => entry.key);
  const names = [...new Set([...external, ...plugins.map((plugin) => plugin.name), ...(options.builtins ?? [])])];
  const templates = bgp?.kind === 'branch' ? peerTemplates(bgp) : [];
  const holders = singleBindings([...stated, ...templates], names, findings);
  const peers = holders.slice(0, stated.length);
  checkLimitDates(peers, options.now, findings);
  checkAddresses(peers, findings);
  checkBindings(holders, names, findings);
  const policies = new PolicyBook(root);
  checkFilters(policies, holders, names, findings, options.filters);
  checkPolicies(root, holders, findings);
  checkProfiles(root, findings);
  checkMcp(root, findings);
  const effective = effectiveTree(root, peers);
  checkTreeRules(effective, findings);
  findings.follow();
  const reactor = reactorSettings(
    bgp,
    peers,
    policies,
    environment,
    namesOf(root, options.env ?? {}),
    options.families,
    findings,
  );
  checkListeners(root, findings);
  if (findings.failed) {
    const unknownNames = findings.unknownNames > 0;
    return { ok: false, faults: findings.sorted(), warnings: findings.warnings, plugins, unknownNames, environment };
  }
  const config = new RunningConfig({
    syntax,
    tree: withJoinedDefaults(effective),
    reactor,
    plugins,
    hub,
    environment,
    processBindings: bindingsOf(reactor.peers),
    hasBgp: bgp !== undefined,
  });
  return { ok: true, config, warnings: findings.warnings };
}

function readEnvironment(root: Branch, options: LoadOptions, findings: Findings): DaemonEnvironment {
  const branch = root.children.get('environment');
  const texts = new Map<string, string>();
  const places = new Map<string, Value>();
  const walk = (value: Value, path: string): void => {
    if (value.kind === 'leaf') {
      texts.set(path, value.text);
      places.set(path, value);
    }
    if (value.kind === 'branch') for (const [name, child] of value.children) walk(child, path === '' ? name : `${path}/${name}`);
  };
  if (branch !== undefined) walk(branch, '');
  const settings = new Settings(options.env ?? {}, options.flags ?? {}, texts);
  for (const { path, message } of settings.faults) {
    const value = path === undefined ? undefined : places.get(path);
    // A value that its type refuses is known already.
    if (value === undefined || !findings.faultAt(value.place)) findings.fault(value?.place ?? NOWHERE, 'environment', message);
  }
  for (const warning of settings.warnings) findings.warn(NOWHERE, 'environment', warning);
  return {
    settings,
    logLevels: settings.logLevels(),
    logBackend: settings.text('log.backend'),
    logDestination: settings.text('log.destination'),
    logFile: settings.text('log.file'),
    logRelay: settings.text('log.relay'),
    pidFile: settings.text('pid.file'),
    readyFile: settings.text('ready.file'),
    user: settings.text('daemon.user'),
    controlSocket: settings.text('control.socket'),
    stateDir: settings.text('state.dir'),
    reactorThread: settings.flag('reactor.thread'),
    cacheTtlSeconds: settings.number('reactor.cache-ttl'),
    cacheMaximum: settings.number('reactor.cache-max'),
    stageTimeoutMs: settings.milliseconds('plugin.stage.timeout'),
    deliveryTimeoutMs: settings.milliseconds('plugin.delivery.timeout'),
  };
}

/** What the system is called; `$NAME` stands for something of the environment. */
function namesOf(root: Branch, env: Environment): Pick<GlobalBgp, 'host' | 'domain'> {
  const system = root.children.get('system');
  const text = (leaf: string): string => {
    const value = system?.kind === 'branch' ? new Reader(system).text(leaf) : '';
    return value.startsWith('$') ? (env[value.slice(1)] ?? '') : value;
  };
  return { host: text('host'), domain: text('domain') };
}

function reactorSettings(
  bgp: Value | undefined,
  effective: readonly EffectivePeer[],
  policies: PolicyBook,
  environment: DaemonEnvironment,
  names: Pick<GlobalBgp, 'host' | 'domain'>,
  families: Registered['families'],
  findings: Findings,
): ReactorSettings {
  const { settings } = environment;
  const fields = bgp?.kind === 'branch' ? new Reader(bgp) : undefined;
  const global: GlobalBgp = {
    routerId: Math.max(0, parseIpv4(fields?.text('router-id') ?? '')),
    localAs: fields?.number('session/asn/local') ?? 0,
    routeServerTransparent: fields?.flag('route-server/transparent') ?? false,
    policies,
    routes: new RouteBook(findings, families),
    ...names,
    families,
    unread: ['router-id', 'session/asn/local'].filter((leaf) => findings.faults.some((one) => one.path === `bgp/${leaf}`)),
  };
  if (fields !== undefined) {
    if (global.routerId === 0 && !global.unread.includes('router-id'))
      findings.warn(fields.branch.place, 'bgp/router-id', 'no router-id in bgp');
    if (global.localAs === 0 && !global.unread.includes('session/asn/local'))
      findings.warn(fields.branch.place, 'bgp/session/asn/local', 'no global local AS (bgp session asn local)');
  }
  const peers = effective.flatMap((peer) => peerSettings(peer, global, findings) ?? []);
  if (fields !== undefined) global.routes.checkRest(fields.branch);
  return {
    routerId: global.routerId,
    localAs: global.localAs,
    peers,
    openWaitSeconds: settings.number('bgp.openwait'),
    announceDelayMs: settings.milliseconds('bgp.announce-delay'),
    multipathMaximum: fields?.number('multipath/maximum-paths') ?? 1,
    multipathRelax: fields?.flag('multipath/relax-as-path') ?? false,
    routeServerBestPath: fields?.flag('route-server/best-path') ?? false,
    routeServerTransparent: global.routeServerTransparent,
    capabilities: [],
    portOverride: settings.number('test.bgp.port'),
    cacheValveMs: settings.milliseconds('cache.safety.valve'),
    // Read last: the peers' chains have filled it.
    policies: policies.policies,
  };
}

function bindingsOf(peers: readonly PeerSettings[]): ProcessBindings {
  const out = new Map<string, { peer: string; binding: PeerSettings['processes'][number] }[]>();
  for (const peer of peers) {
    for (const binding of peer.processes) {
      const list = out.get(binding.process);
      if (list === undefined) out.set(binding.process, [{ peer: peer.name, binding }]);
      else list.push({ peer: peer.name, binding });
    }
  }
  return out;
}
