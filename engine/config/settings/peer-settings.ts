// An effective peer to `PeerSettings`: text becomes numbers and unions once, here; what a neighbour cannot run with is a fault,
// what makes it incomplete a warning.
import { addressBytes, formatAddress, parseIpv4 } from '../../../sdk/wire/address.ts';
import type { Role } from '../../../sdk/wire/capability/typed.ts';
import { NO_FAMILY, type Family } from '../../../sdk/wire/family.ts';
import type {
  AddPathDirection,
  CapabilityMode,
  FamilySettings,
  PeerSettings,
  ProcessBinding,
  StaticUpdate,
} from '../../bgp/port.ts';
import { VERSION } from '../../core/version.ts';
import { entriesAt, type Reader } from '../tree/effective.ts';
import type { ConfigFault, Findings, Place } from '../fault.ts';
import type { EffectivePeer } from '../tree/inherit.ts';
import type { PolicyBook } from './policy.ts';
import type { RouteBook } from './route-updates.ts';
import { familyOfName } from '../rules/validators.ts';

/** What every peer takes from the `bgp` block; zeros where it is absent. */
export interface GlobalBgp {
  readonly routerId: number;
  readonly localAs: number;
  readonly routeServerTransparent: boolean;
  readonly policies: PolicyBook;
  readonly routes: RouteBook;
  /** As the `system` block says; '' for what it does not. */
  readonly host: string;
  readonly domain: string;
  /** Leaves of the block whose values are no values, which is said already: what follows from it need not be. */
  readonly unread: readonly string[];
  /** Families of plugins by name. */
  readonly families?: ReadonlyMap<string, Family> | undefined;
}

const IGNORE_MISMATCH = 'ignore-mismatch';

/** The path up to its last name, the slash included. */
function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1);
}

type PeerFault = (leaf: string, message: string, place?: Place) => void;

/** `undefined` for a peer that cannot be started: incomplete (a warning) or wrong (a fault). */
export function peerSettings(peer: EffectivePeer, bgp: GlobalBgp, findings: Findings): PeerSettings | undefined {
  const { fields } = peer;
  const path = `bgp/peer/${peer.name}`;
  const before = findings.faults.length;
  const levels = [
    path,
    ...(peer.group === '' ? [] : [`bgp/group/${peer.group}/peer/${peer.name}`, `bgp/group/${peer.group}`]),
    'bgp',
  ];
  const fault: PeerFault = (leaf, message, place = fields.place(leaf)) => {
    // A value that could not be read, here or where it is inherited from, is not missing as well; nor is one whose name is misspelt.
    const block = parentOf(leaf);
    const read = (level: string, one: ConfigFault): boolean =>
      one.path === `${level}/${leaf}` || (one.message.startsWith('unknown field') && parentOf(one.path) === `${level}/${block}`);
    if (levels.some((level) => findings.faults.some((one) => read(level, one)))) return;
    // What several peers inherit is said of the first.
    const same = findings.faults.some(
      (one) => one.line === place.line && one.column === place.column && one.message.endsWith(`: ${message}`),
    );
    if (!same) findings.fault(place, `${path}/${leaf}`, `peer ${peer.name}: ${message}`);
  };
  const warn = (place: Place, leaf: string, message: string): void => findings.warn(place, `${path}/${leaf}`, message);
  const families = familySettings(fields, bgp.families, fault);
  const defaults = defaultRoutes(fields, families, bgp, warn);
  const hostname = hostnameOf(fields, bgp, fault, warn);
  const softwareVersion = fields.text('session/capability/software-version') as '' | CapabilityMode;
  checkRefresh(fields, fault);
  const missing = incomplete(fields);
  // What is missing beside keeps the peer from starting no less; what is wrong is said.
  if (missing === undefined && fields.text('connection/local/ip') === '') fault('connection/local/ip', 'local ip is required');
  if (!fields.flag('connection/local/accept') && !fields.flag('connection/remote/connect')) {
    fault('connection/local/accept', 'accept false together with connect false leaves the connection no way to come up');
  }
  if (missing !== undefined) {
    findings.warn(fields.branch.place, path, `incomplete peer ${peer.name}: ${missing} is missing; the peer is not started`);
    return undefined;
  }
  for (const leaf of ['connection/remote/ip', 'connection/local/ip']) {
    const wrong = noHost(fields.text(leaf), leaf === 'connection/local/ip');
    if (wrong !== '') fault(leaf, `${fields.text(leaf)} is ${wrong}, not the address of a host`);
  }
  const local = fields.text('connection/local/ip');
  const remote = fields.text('connection/remote/ip');
  if (local !== '' && local !== 'auto' && local.includes(':') !== remote.includes(':')) {
    const message = `peer ${peer.name}: local ip ${local} and remote ip ${remote} are of different families: there is no way between them`;
    warn(fields.place('connection/local/ip'), 'connection/local/ip', message);
  }
  const routerId = address4(fields.text('session/router-id')) || bgp.routerId;
  const localAs = fields.number('session/asn/local') || bgp.localAs;
  if (routerId === 0 && !bgp.unread.includes('router-id'))
    fault('session/router-id', 'router-id is required (in bgp, or in session)');
  if (localAs === 0) fault('session/asn/local', 'a local AS is required (session asn local)');
  const extendedNextHop = nextHopEncodings(fields, bgp.families);
  const updates = bgp.routes.updates(entriesAt(fields.branch, 'update'), { path, nextHops: extendedNextHop });
  if (findings.faults.length > before) return undefined;
  const localIp = fields.text('connection/local/ip');
  const sides = { localAs, remoteAs: fields.number('session/asn/remote') };
  const loopDetection = bgp.policies.loopDetection(fields);
  const role = fields.text('role/import') as '' | Role;
  return {
    name: peer.name,
    group: peer.group,
    description: fields.text('description'),
    localAddress: localIp === 'auto' ? '' : canonicalAddress(localIp),
    localPort: fields.number('connection/local/port'),
    accept: fields.flag('connection/local/accept'),
    remoteAddress: canonicalAddress(fields.text('connection/remote/ip')),
    remotePort: fields.number('connection/remote/port'),
    connect: fields.flag('connection/remote/connect'),
    localAs,
    remoteAs: fields.number('session/asn/remote'),
    routerId,
    localAsOptions: fields.list('session/asn/local-options') as PeerSettings['localAsOptions'],
    asOverride: fields.flag('session/as-override'),
    communitySend: fields.list('session/community/send') as PeerSettings['communitySend'],
    routeReflectorClient: fields.flag('session/route-reflector-client'),
    clusterId: address4(fields.text('session/cluster-id')),
    nextHop: nextHop(fields.text('session/next-hop')),
    linkLocal: fields.has('session/link-local') ? canonicalAddress(fields.text('session/link-local')) : '',
    families,
    ignoreFamilyMismatch: fields
      .entries('session/family')
      .some((one) => one.key === IGNORE_MISMATCH && one.text('mode') !== 'disable'),
    ...(fields.has('session/enforce-first-as') ? { enforceFirstAs: fields.flag('session/enforce-first-as') } : {}),
    asn4: fields.text('session/capability/asn4') as CapabilityMode,
    routeRefresh: capability(fields, 'route-refresh'),
    extendedMessage: capability(fields, 'extended-message'),
    ...(hostname === undefined ? {} : { hostname }),
    ...(softwareVersion === '' ? {} : { softwareVersion: { mode: softwareVersion, version: `zest/${VERSION}` } }),
    extendedNextHop,
    holdTimeSeconds: fields.number('timer/receive-hold-time'),
    sendHoldTimeSeconds: fields.number('timer/send-hold-time'),
    connectRetrySeconds: fields.number('timer/connect-retry'),
    groupUpdates: fields.flag('behavior/group-updates') && fields.flag('rib/out/group-updates'),
    manualEor: fields.flag('behavior/manual-eor'),
    routeServerTransparent: bgp.routeServerTransparent,
    updates: [...defaults, ...updates],
    processes: bindings(fields),
    importFilters: bgp.policies.chain(fields, 'import', sides),
    exportFilters: bgp.policies.chain(fields, 'export', sides),
    ...(loopDetection === undefined ? {} : { loopDetection }),
    ...(role === '' ? {} : { role: { local: role, strict: fields.flag('role/strict') } }),
  };
}

function incomplete(fields: Reader): string | undefined {
  if (fields.text('connection/remote/ip') === '') return 'remote ip';
  return fields.number('session/asn/remote') === 0 ? 'remote AS' : undefined;
}

/** Why no session can be with this address; '' for one that may do. `any`: the unspecified address means every one of ours. */
function noHost(text: string, any: boolean): string {
  const bytes = addressBytes(text);
  if (bytes === undefined) return '';
  if (bytes.every((byte) => byte === 0)) return any ? '' : 'unspecified';
  const [first = 0] = bytes;
  if (bytes.length === 16) return first === 0xff ? 'multicast' : '';
  if (first >= 224 && first < 240) return 'multicast';
  return bytes.every((byte) => byte === 0xff) ? 'broadcast' : '';
}

/** Shortest form, so that two spellings of an address are one neighbour. */
export function canonicalAddress(text: string): string {
  const bytes = addressBytes(text);
  return bytes === undefined ? text : (formatAddress(bytes, 0, bytes.length) ?? text);
}

function nextHop(text: string): string {
  return text.includes('.') || text.includes(':') ? canonicalAddress(text) : text;
}

function address4(text: string): number {
  return text === '' ? 0 : Math.max(0, parseIpv4(text));
}

/** A presence container with a mode: absent is off. */
function capability(fields: Reader, name: string): CapabilityMode {
  return fields.has(`session/capability/${name}`)
    ? (fields.text(`session/capability/${name}/mode`) as CapabilityMode)
    : 'disable';
}

function isOn(mode: string): boolean {
  return mode === 'enable' || mode === 'require';
}

function familySettings(fields: Reader, names: GlobalBgp['families'], fault: PeerFault): readonly FamilySettings[] {
  const out: FamilySettings[] = [];
  const everywhere = addPathOf(fields, 'session/capability/add-path');
  const single = new Map(fields.entries('session/add-path').map((one) => [familyOfName(one.key, names), one]));
  for (const entry of fields.entries('session/family')) {
    if (entry.key === IGNORE_MISMATCH) continue;
    const maximum = entry.number('prefix/maximum');
    const stated = entry.number('prefix/warning');
    const leaf = `session/family/${entry.key}/prefix/maximum`;
    if (maximum === 0) fault(leaf, `${entry.key}: prefix maximum is mandatory`, entry.place('prefix'));
    else if (stated >= maximum) {
      const message = `${entry.key}: prefix warning ${stated} must be below prefix maximum ${maximum}`;
      fault(leaf, message, entry.place('prefix/warning'));
    }
    const family = familyOfName(entry.key, names);
    const mode = entry.text('mode');
    if (family === NO_FAMILY || mode === 'disable') continue;
    const own = single.get(family);
    out.push({
      family,
      mode: mode as FamilySettings['mode'],
      prefixMaximum: maximum,
      prefixWarning: stated === 0 ? Math.floor(maximum * 0.9) : stated,
      prefixTeardown: entry.flag('prefix/teardown'),
      idleTimeoutSeconds: entry.number('prefix/idle-timeout'),
      addPath: own === undefined ? everywhere : isOn(own.text('mode')) ? (own.text('direction') as AddPathDirection) : 'none',
    });
  }
  return out;
}

type PeerWarning = (place: Place, leaf: string, message: string) => void;

const DEFAULT_ROUTES: Readonly<Record<string, string>> = { 'ipv4/unicast': '0.0.0.0/0', 'ipv6/unicast': '::/0' };

/** `default-originate`: a route like those of `update` blocks. */
function defaultRoutes(
  fields: Reader,
  families: readonly FamilySettings[],
  { families: names, policies }: Pick<GlobalBgp, 'families' | 'policies'>,
  warn: PeerWarning,
): readonly StaticUpdate[] {
  const out: StaticUpdate[] = [];
  for (const entry of fields.entries('session/family')) {
    if (!entry.flag('default-originate')) continue;
    const leaf = `session/family/${entry.key}/default-originate`;
    const family = familyOfName(entry.key, names);
    const route = DEFAULT_ROUTES[entry.key];
    if (route === undefined) warn(entry.place('default-originate'), leaf, `${entry.key} has no default route: none is sent`);
    else if (families.some((one) => one.family === family && one.mode !== 'ignore')) {
      const text = entry.text('default-originate-filter');
      // A name that stands for nothing is a fault (cross-rules).
      const filter = text === '' ? undefined : policies.filter(text);
      const command = `update text next-hop self nlri ${entry.key} add ${route}`;
      if (text === '') out.push({ command });
      else if (filter !== undefined) out.push({ command, filter });
    }
  }
  return out;
}

/** Capability 73. Its length has one octet, so both names together have at most 253. */
function hostnameOf(fields: Reader, bgp: GlobalBgp, fault: PeerFault, warn: PeerWarning): PeerSettings['hostname'] {
  const path = 'session/capability/hostname';
  if (!fields.has(path)) return undefined;
  const mode = fields.text(`${path}/mode`) as CapabilityMode;
  const host = fields.text(`${path}/host`) || bgp.host;
  const domain = fields.text(`${path}/domain`) || bgp.domain;
  if (new TextEncoder().encode(host + domain).length > 253)
    fault(`${path}/host`, 'host and domain have more than 253 octets together');
  if (host === '' && isOn(mode)) warn(fields.place(path), path, 'hostname is not advertised: neither it nor system names a host');
  return host === '' && isOn(mode) ? undefined : { mode, host, domain };
}

function addPathOf(fields: Reader, path: string): AddPathDirection {
  const direction = fields.text(`${path}/direction`);
  const send = direction.includes('send') || fields.flag(`${path}/send`);
  const receive = direction.includes('receive') || fields.flag(`${path}/receive`);
  if (direction === 'disable') return 'none';
  return send ? (receive ? 'send/receive' : 'send') : receive ? 'receive' : 'none';
}

function nextHopEncodings(
  fields: Reader,
  names: GlobalBgp['families'],
): readonly { readonly family: Family; readonly nextHopAfi: number }[] {
  return fields
    .entries('session/capability/nexthop')
    .filter((entry) => isOn(entry.text('mode')))
    .map((entry) => {
      const [family = '', afi = ''] = entry.key.split(' ');
      return { family: familyOfName(family, names), nextHopAfi: afi === 'ipv6' ? 2 : 1 };
    });
}

/** Whoever asks for routes again needs somebody who resends them. */
function checkRefresh(fields: Reader, fault: PeerFault): void {
  if (fields.entries('process').some((process) => process.list('send').includes('update'))) return;
  for (const capabilityName of ['route-refresh', 'graceful-restart']) {
    if (isOn(capability(fields, capabilityName))) {
      fault(`session/capability/${capabilityName}`, `${capabilityName} requires process with send [ update ]`);
    }
  }
}

function bindings(fields: Reader): readonly ProcessBinding[] {
  return fields.entries('process').map((process) => ({
    process: process.key,
    receive: process.list('receive'),
    send: process.list('send'),
    ...(process.has('content/encoding') ? { encoding: process.text('content/encoding') as 'json' | 'text' } : {}),
    ...(process.has('content/format') ? { format: process.text('content/format') } : {}),
  }));
}
