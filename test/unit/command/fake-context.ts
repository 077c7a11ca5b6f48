// A command context without an engine: three peers, one plugin, events that a test pushes. What was asked of it is recorded.
import { AnswerReader } from '../../../sdk/rpc/answer.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import { records } from '../../../sdk/rpc/records.ts';
import type { ExecuteCommandInput } from '../../../yang/generated/methods.ts';
import type { PeerSettings, PeerSnapshot } from '../../../engine/bgp/port.ts';
import { builtInHandlers } from '../../../engine/command/builtin/index.ts';
import { Monitor } from '../../../engine/bus/monitor.ts';
import { PeerSelector } from '../../../engine/codec/peer-selector.ts';
import type { CommandContext } from '../../../engine/command/context.ts';
import { Dispatcher } from '../../../engine/command/dispatch.ts';
import { ManualClock, type Clock } from '../../../engine/core/clock.ts';
import { silentLog } from '../../../engine/core/log.ts';

const SETTINGS: PeerSettings = {
  name: 'edge',
  group: 'transit',
  description: '',
  localAddress: '192.0.2.254',
  localPort: 179,
  accept: true,
  remoteAddress: '192.0.2.1',
  remotePort: 179,
  connect: true,
  localAs: 64500,
  remoteAs: 65001,
  routerId: 0xc00002fe,
  localAsOptions: [],
  asOverride: false,
  communitySend: ['all'],
  routeReflectorClient: false,
  clusterId: 0,
  nextHop: 'auto',
  linkLocal: '',
  families: [
    {
      family: 0x101,
      mode: 'enable',
      prefixMaximum: 1000,
      prefixWarning: 900,
      prefixTeardown: true,
      idleTimeoutSeconds: 0,
      addPath: 'none',
    },
  ],
  ignoreFamilyMismatch: false,
  asn4: 'enable',
  routeRefresh: 'enable',
  extendedMessage: 'enable',
  extendedNextHop: [],
  holdTimeSeconds: 90,
  sendHoldTimeSeconds: 480,
  connectRetrySeconds: 0,
  groupUpdates: true,
  manualEor: false,
  routeServerTransparent: false,
  updates: [],
  processes: [],
  importFilters: [],
  exportFilters: [],
};

export function peerSnapshot(
  index: number,
  changes: Partial<PeerSettings>,
  state: PeerSnapshot['state'] = 'established',
): PeerSnapshot {
  const up = state === 'established';
  return {
    index,
    settings: { ...SETTINGS, ...changes },
    state,
    adminDown: false,
    paused: false,
    held: false,
    establishedAt: up ? Date.UTC(2026, 0, 1) - 3_723_000 : 0,
    lastDownReason: '',
    remoteRouterId: 0x01010101,
    localAddress: '192.0.2.254',
    localPort: 40000,
    remotePort: 179,
    flaps: 0,
    counters: {
      updatesReceived: 10 * index,
      updatesSent: 2,
      keepalivesReceived: 5,
      keepalivesSent: 6,
      notificationsReceived: 0,
      notificationsSent: 0,
      refreshesReceived: 0,
      refreshesSent: 0,
      opensReceived: 1,
      opensSent: 1,
      eorReceived: 1,
      eorSent: 1,
      bytesReceived: 1000,
      bytesSent: 900,
      importRejected: 0,
      importModified: 0,
      exportRejected: 0,
      exportModified: 0,
    },
    prefixes: [{ family: 'ipv4/unicast', received: 7, maximum: 1000 }],
    negotiated: up
      ? {
          holdTimeSeconds: 90,
          keepaliveSeconds: 30,
          asn4: true,
          extendedMessage: true,
          routeRefresh: true,
          enhancedRouteRefresh: false,
          families: ['ipv4/unicast'],
          addPathSend: ['ipv4/unicast'],
          addPathReceive: [],
          localCapabilities: [],
          remoteCapabilities: [],
        }
      : undefined,
    sendQueueBytes: 0,
    largestKeepaliveGapMs: 30_001.4,
  };
}

export interface Fake {
  readonly dispatcher: Dispatcher;
  readonly context: CommandContext;
  /** `method argument argument`, in order. */
  readonly asked: string[];
  /** Pushes an event to every monitor. */
  readonly push: (text: string) => void;
  readonly taps: Set<Monitor>;
  /** Rows the plugin command `rib routes` was asked for so far. */
  readonly produced: () => number;
  readonly cancelled: () => number;
}

export function fakeContext(clock: Clock = new ManualClock()): Fake {
  const asked: string[] = [];
  const peers = [
    peerSnapshot(1, {}),
    peerSnapshot(2, { name: 'core', group: '', remoteAddress: '2001:db8::2', remoteAs: 64500 }),
    peerSnapshot(
      3,
      { name: 'lab', group: '', remoteAddress: '198.51.100.7', remoteAs: 65003, description: 'a\u001b[31m"name' },
      'active',
    ),
  ];
  const taps: Fake['taps'] = new Set();
  let produced = 0;
  let cancelled = 0;
  const note = (text: string): Promise<string | undefined> => {
    asked.push(text);
    return Promise.resolve(text.startsWith('teardown 3') ? 'session is not established' : undefined);
  };
  const reports = [
    {
      severity: 'warning',
      code: 'prefix-threshold',
      source: 'bgp',
      subject: '192.0.2.1/ipv4/unicast',
      message: 'near',
      detail: undefined,
      raised: '2026-01-01T00:00:00.000Z',
      updated: '2026-01-01T00:00:01.000Z',
    },
  ] as const;
  const context: CommandContext = {
    version: '0.1.0',
    config: undefined,
    clock,
    reactor: {
      snapshot: (wanted) => Promise.resolve(peers.filter((peer) => wanted === undefined || wanted.includes(peer.index))),
      teardown: (peer, subcode, text) => note(`teardown ${peer} ${subcode} ${text}`),
      setPaused: (peer, paused) => note(`paused ${peer} ${paused}`),
      refresh: (peer, family, subtype) => note(`refresh ${peer} ${family} ${subtype}`),
      flush: (peer) => note(`flush ${peer}`),
      raw: (peer, bytes) => note(`raw ${peer} ${Buffer.from(bytes).toString('hex')}`),
      sessionReady: (_peer, _process, token) => Promise.resolve(token === '81' ? undefined : 'no session has the token'),
      statistics: () => Promise.resolve({}),
      cached: () => Promise.resolve([{ id: 7, peer: 1, length: 59, ageMs: 2500, retained: 1, consumers: ['slow'] }]),
      manageCached: (ids, deed, destinations) => {
        asked.push(`${deed} ${ids.join(',')} ${destinations.join(',')}`);
        return Promise.resolve(ids.filter((id) => id > 100));
      },
    },
    peers: {
      list: () =>
        peers.map(({ index, settings }) => ({
          index,
          name: settings.name,
          group: settings.group,
          remoteAddress: settings.remoteAddress,
          remoteAs: settings.remoteAs,
          localAddress: settings.localAddress,
          localAs: settings.localAs,
        })),
    },
    routes: {
      prepare: () => undefined,
      update: (owner, indices, text) => {
        asked.push(`update ${owner} ${indices.join(',')} ${text}`);
        const bad = text.indexOf('bogus');
        if (bad >= 0) return Promise.resolve({ ok: false, fault: { message: 'unknown attribute: bogus', column: bad + 1 } });
        const announced = text.includes(' add ') ? 1 : 0;
        return Promise.resolve({
          ok: true,
          value: {
            announced,
            withdrawn: 0,
            peersAffected: indices.length,
            routesSent: indices.length,
            warnings: announced === 0 ? ['nothing to do'] : [],
            eor: [],
          },
        });
      },
    },
    plugins: {
      declared: () => [],
      list: () => [
        {
          name: 'bgp-rib',
          kind: 'built-in',
          placement: 'reactor',
          stage: 'running',
          state: 'running',
          policy: 'ignore',
          restarts: 0,
          pid: 0,
          'queue-batches': 0,
          'queue-bytes': 0,
          events: 0,
          dropped: 0,
          commands: 2,
          since: '2026-01-01T00:00:00.000Z',
          'last-error': '',
        },
      ],
      declarations: () => Promise.resolve([]),
      modules: () => [],
      execute: (plugin, input: ExecuteCommandInput, signal) => {
        asked.push(`execute ${plugin} ${JSON.stringify(input)}`);
        if (input.command === 'rib down')
          return new AnswerReader(Promise.reject(new RpcError('error', 'plugin process not running')));
        const total = Number(input.args?.[0] ?? 3);
        async function* rows(): AsyncGenerator {
          for (let i = 0; i < total && !signal.aborted; i++) {
            produced++;
            if (i % 1000 === 0) await Promise.resolve();
            yield { prefix: `10.${(i >> 8) & 255}.${i & 255}.0/24`, 'as-path': [65001, 65002 + i] };
          }
        }
        return new AnswerReader(Promise.resolve(records(rows(), { envelope: 'routes', onCancel: () => cancelled++ })));
      },
      complete: () => Promise.resolve([{ word: 'received', help: 'Received routes' }]),
      enrichers: () => [],
      enrich: () => Promise.resolve(undefined),
      granted: (plugin, send) => plugin === 'trusted' || (plugin === 'half' && send === 'update'),
      subscribe: (plugin, words) => void asked.push(`subscribe ${plugin} ${words.join(' ')}`),
      unsubscribe: (plugin, words) => void asked.push(`unsubscribe ${plugin} ${words.join(' ')}`),
    },
    events: {
      list: () => [
        { namespace: 'bgp', type: 'update', count: 5, subscribers: ['bgp-rib'] },
        { namespace: 'bgp', type: 'state', count: 2, subscribers: [] },
        { namespace: 'config', type: 'committed', count: 1, subscribers: [] },
      ],
      recent: {
        list: () => [
          { time: '2026-01-01T00:00:00.000Z', namespace: 'bgp', type: 'state', direction: '', peer: 'edge', id: 0 },
          { time: '2026-01-01T00:00:01.000Z', namespace: 'bgp', type: 'update', direction: 'received', peer: 'edge', id: 7 },
        ],
      },
      monitor: (filter) => {
        const monitor = new Monitor(
          {
            peers: PeerSelector.all,
            include: [],
            exclude: [],
            direction: undefined,
            format: 'parsed',
            encoding: 'json',
            ...filter,
          },
          () => taps.delete(monitor),
          { events: 4, bytes: 10_000 },
        );
        taps.add(monitor);
        return monitor;
      },
    },
    reports: {
      warnings: () => reports,
      errors: () => [],
      health: () => [
        { name: 'reactor', status: 'healthy', reason: '' },
        { name: 'plugins', status: 'degraded', reason: 'watch is down' },
      ],
    },
    doctor: { checks: () => [], hasConfig: () => true },
    daemon: {
      pid: 4711,
      startedAt: Date.UTC(2026, 0, 1) - 65_000,
      configPath: '/etc/zest.conf',
      state: () => 'running',
      routerId: () => '192.0.2.254',
      localAs: () => 64500,
      reload: () => Promise.resolve({ ok: false, errors: ['line 3: unknown field'] }),
      stop: (reason) => void asked.push(`stop ${reason}`),
    },
    logs: {
      levels: () => ({ 'bgp.session': 'info', plugin: 'warn' }),
      subsystems: () => ['bgp.session', 'plugin'],
      set: (subsystem, level) =>
        subsystem === 'plugin' ? void asked.push(`log ${subsystem} ${level}`) : `unknown subsystem: ${subsystem}`,
      recent: () => [
        { level: 'info', subsystem: 'bgp.session', message: 'session up', fields: { peer: 'edge' }, at: 0 },
        { level: 'debug', subsystem: 'plugin', message: 'stage', fields: {}, at: 1 },
      ],
    },
  };
  const dispatcher = new Dispatcher(context, builtInHandlers(), silentLog);
  dispatcher.add('bgp-rib', [
    {
      name: 'rib routes',
      'short-help': 'Routes',
      args: ['family', 'prefix'],
      completable: true,
      'deprecated-names': ['bgp rib show'],
    },
    { name: 'rib status', 'short-help': 'Counts' },
    { name: 'rib down', hidden: true },
  ]);
  return {
    dispatcher,
    context,
    asked,
    taps,
    push: (text) => {
      for (const tap of taps) tap.push(text, 0);
    },
    produced: () => produced,
    cancelled: () => cancelled,
  };
}
