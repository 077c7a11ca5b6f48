// The protocol as a table: one row a method, direction and field, with a value that only this field carries. `engine.test.ts` sends each row
// to the engine, `sdk.test.ts` to the SDK, both over a pipe and over TLS; `complete.test.ts` holds the table against the protocol's text and
// against the YANG modules. A path names a member by dots, the first element of a list by `[0]`.

/** Path and value. */
export type Field = readonly [path: string, value: unknown];

export interface Part {
  /** The least that is valid beside the field. */
  readonly base: Readonly<Record<string, unknown>>;
  readonly fields: readonly Field[];
}

export interface MethodRows {
  readonly input?: Part;
  readonly output?: Part;
}

const part = (base: Part['base'], ...fields: readonly (Field | readonly Field[])[]): Part => ({
  base,
  fields: fields.flatMap((entry) => (typeof entry[0] === 'string' ? [entry as Field] : (entry as readonly Field[]))),
});
const under = (prefix: string, fields: readonly Field[]): Field[] =>
  fields.map(([path, value]) => [`${prefix}.${path}`, value] as const);

const RESOURCE: readonly Field[] = [
  ['kind', 'listener'],
  ['name', 'lo0'],
  ['interface', 'eth0'],
  ['address', '192.0.2.1'],
  ['peer', 'edge1'],
  ['port', 179],
  ['prefix', '10.0.0.0/8'],
  ['next-hop', '192.0.2.9'],
];
const OPERATION: readonly Field[] = [
  ['id', 'op-1'],
  ['root', 'acme'],
  ['owner', 'probe'],
  ['type', 'acme-listener'],
  ['verb', 'create'],
  ...under('target', RESOURCE),
  ...under('produces[0]', RESOURCE),
  ...under('consumes[0]', RESOURCE),
  ...under('params', [
    ['name', 'n'],
    ['interface', 'eth1'],
    ['cidr', '192.0.2.0/24'],
    ['address', '192.0.2.2'],
    ['peer', 'edge2'],
    ['port', 1179],
    ['prefix', '10.1.0.0/16'],
    ['next-hop', '192.0.2.8'],
    ['metric', -1],
    ['property', 'mtu'],
    ['value', '9000'],
    ['old-value', '1500'],
    ['allow-dual', true],
    ['spec', { deep: [1, null, 'ü'] }],
    ['config', ['x']],
    ['old-config', 'text'],
    ['changed', 3.5],
  ]),
];
const operation = { id: 'o', root: 'acme', owner: 'probe', type: 't', verb: 'modify', target: { kind: 'peer' } };
const SECTION: readonly Field[] = [
  ['root', 'acme'],
  ['data', '{"acme":{"speed":10}}'],
];
const DIFF: readonly Field[] = [
  ['root', 'acme'],
  ['added', '{"acme/a":1}'],
  ['removed', '{"acme/b":2}'],
  ['changed', '{"acme/c":{"old":1,"new":2}}'],
];
const RESULT = part({ status: 'ok' }, ['status', 'error'], ['error', 'speed 11 is too fast']);
const OPEN: readonly Field[] = [
  ['asn', 4_200_000_000],
  ['router-id', '192.0.2.1'],
  ['hold-time', 90],
  ['capabilities[0].code', 65],
  ['capabilities[0].hex', '0000fde9'],
];
const open = { asn: 65001, 'router-id': '10.0.0.1', 'hold-time': 180 };
const SUBSCRIBE: readonly Field[] = [
  ['events', ['update direction received', 'state']],
  ['peers', ['192.0.2.1']],
  ['format', 'full'],
  ['encoding', 'text'],
  ['namespace', 'acme'],
  ['envelope', true],
];
const COMMAND_RESULT = part({ status: 'done' }, ['status', 'error'], ['data', { rows: [1, 2] }], ['error', 'no such peer']);
const ROUTE: readonly Field[] = [
  ['protocol', 'static'],
  ['afi', 2],
  ['safi', 1],
  ['prefix', '2001:db8::/32'],
  ['instance', 7],
];
const route = { protocol: 'static', afi: 1, safi: 1, prefix: '10.0.0.0/8', instance: 0 };
const status = (...more: readonly Field[]): Part => part({ status: 'ok' }, ['status', 'absent'], ...more);

const MODULE = 'module acme-conf { namespace "urn:acme"; prefix acme; container acme { leaf speed { type uint8; } } }';

export const PROTOCOL: Readonly<Record<string, MethodRows>> = {
  'ze-plugin-engine:declare-registration': {
    input: part(
      {
        families: [{ name: 'ipv4/acme', afi: 2, safi: 251 }],
        commands: [{ name: 'acme status', shape: 'tab' }],
        'config-operations': [{ root: 'acme' }],
        schema: { module: 'acme-conf', 'yang-text': MODULE },
        filters: [{ name: 'any', direction: 'import' }],
        'doctor-checks': [{ name: 'any', phase: 'post-config', codes: ['doctor-any'] }],
        enrichers: [{ command: 'peer', key: 'any' }],
        pipes: [{ command: 'acme status', name: 'any', expansion: 'count' }],
      },
      ['families[0].name', 'ipv4/acme'],
      ['families[0].mode', 'decode'],
      ['families[0].afi', 1],
      ['families[0].safi', 250],
      ['commands[0].name', 'acme status'],
      ['commands[0].short-help', 'Show the state of acme'],
      ['commands[0].description', 'Two lines\nof help.'],
      ['commands[0].args', ['count', 'name']],
      ['commands[0].completable', true],
      ['commands[0].hidden', true],
      ['commands[0].deprecated-names', ['acme old-status']],
      ['commands[0].shape', 'map'],
      ['commands[0].columns', ['address', 'state']],
      ['commands[0].address-fields', ['address']],
      ['dependencies', ['friend']],
      ['wants-config', ['bgp', 'bgp/peer', '*']],
      ['config-operations[0].root', 'acme'],
      ['config-operations[0].decompose', true],
      ['config-operations[0].operations', ['acme-listener']],
      ['verify-budget', 3],
      ['apply-budget', 600],
      ['schema.module', 'acme-conf'],
      ['schema.namespace', 'urn:acme'],
      ['schema.yang-text', MODULE.replace('uint8', 'uint16')],
      ['schema.handlers', ['acme']],
      ['wants-validate-open', true],
      ['cache-consumer', true],
      ['cache-consumer-unordered', true],
      ['filters[0].name', 'tidy'],
      ['filters[0].direction', 'export'],
      ['filters[0].attributes', ['med']],
      ['filters[0].nlri', false],
      ['filters[0].raw', true],
      ['filters[0].on-error', 'accept'],
      ['filters[0].overrides', ['loop-detection']],
      ['doctor-checks[0].name', 'disk-space'],
      ['doctor-checks[0].phase', 'pre-config'],
      ['doctor-checks[0].order', 9999],
      ['doctor-checks[0].dependencies', ['other-check']],
      ['doctor-checks[0].platforms', ['linux']],
      ['doctor-checks[0].codes', ['doctor-disk-full']],
      ['enrichers[0].command', 'peer'],
      ['enrichers[0].key', 'acme-rank'],
      ['pipes[0].command', 'acme status'],
      ['pipes[0].name', 'brief'],
      ['pipes[0].description', 'Only the state'],
      ['pipes[0].expansion', 'count'],
      ['claims', ['bgp-peer-up-replay']],
      ['failure-policy', 'restart'],
      ['signals-session-ready', true],
    ),
  },
  'ze-plugin-callback:configure': {
    input: part({}, under('sections[0]', SECTION), ['claims', ['bgp-peer-up-replay']]),
  },
  'ze-plugin-engine:declare-capabilities': {
    input: part(
      { capabilities: [{ code: 71 }] },
      ['capabilities[0].code', 64],
      ['capabilities[0].encoding', 'b64'],
      ['capabilities[0].payload', 'AHg='],
      ['capabilities[0].peers', ['192.168.1.1']],
    ),
  },
  'ze-plugin-callback:share-registry': {
    input: part(
      {},
      ['commands[0].name', 'rib adjacent status'],
      ['commands[0].plugin', 'bgp-adj-rib-in'],
      ['commands[0].encoding', 'json'],
    ),
  },
  'ze-plugin-engine:ready': { input: part({}, under('subscribe', SUBSCRIBE), ['transport', 'bridge']) },
  'ze-plugin-callback:deliver-event': { input: part({}, ['event', '{"type":"state","state":"up"}']) },
  'ze-plugin-callback:deliver-batch': { input: part({}, ['events', ['{"type":"state"}', '{"type":"eor"}']]) },
  'ze-plugin-callback:execute-command': {
    input: part(
      { command: 'probe run' },
      ['serial', '17'],
      ['command', 'probe other'],
      ['args', ['a b', '<&>']],
      ['peer', '192.0.2.1'],
    ),
    output: part({ status: 'done' }, ['status', 'error'], ['data', { running: true }]),
  },
  'ze-plugin-callback:encode-nlri': {
    input: part({}, ['family', 'ipv4/flow'], ['args', ['destination', '10.1.0.0/16']]),
    output: part({}, ['hex', '0501180a01']),
  },
  'ze-plugin-callback:decode-nlri': {
    input: part({}, ['family', 'ipv4/flow'], ['hex', '0501180a01'], ['add-path', true], ['withdraw', true]),
    output: part({}, ['json', { destination: ['10.1.0.0/16'] }]),
  },
  'ze-plugin-callback:decode-capability': {
    input: part({}, ['code', 73], ['hex', '0a7265']),
    output: part({}, ['json', { name: 'router-1' }]),
  },
  'ze-plugin-callback:config-verify': { input: part({}, under('sections[0]', SECTION)), output: RESULT },
  'ze-plugin-callback:config-apply': { input: part({}, under('sections[0]', DIFF)), output: RESULT },
  'ze-plugin-callback:config-rollback': { input: part({}, ['transaction-id', 'tx-1']) },
  'ze-plugin-callback:config-committed': { input: part({}, ['transaction-id', 'tx-2']) },
  'ze-plugin-callback:config-operation-decompose': {
    input: part(
      {},
      ['transaction-id', 'tx-3'],
      ['root', 'acme'],
      under('active', SECTION),
      under('candidate', SECTION),
      under('diff', DIFF),
    ),
    output: part({ status: 'ok' }, ['status', 'error'], ['error', 'cannot'], under('operations[0]', OPERATION)),
  },
  'ze-plugin-callback:config-operation-verify': {
    input: part({ operation }, ['transaction-id', 'tx-4'], under('operation', OPERATION)),
    output: RESULT,
  },
  'ze-plugin-callback:config-operation-apply': {
    input: part({ operation }, ['transaction-id', 'tx-5'], under('operation', OPERATION)),
    output: part(
      { status: 'ok' },
      ['status', 'error'],
      ['error', 'no'],
      ['readiness[0].namespace', 'acme'],
      ['readiness[0].event-type', 'up'],
      ['readiness[0].resource', 'eth0'],
    ),
  },
  'ze-plugin-callback:config-operation-rollback': {
    input: part({ operations: [operation] }, ['transaction-id', 'tx-6'], under('operations[0]', OPERATION)),
    output: RESULT,
  },
  'ze-plugin-callback:config-operation-commit': { input: part({}, ['transaction-id', 'tx-7']), output: RESULT },
  'ze-plugin-callback:validate-open': {
    input: part(
      { local: { ...open }, remote: { ...open } },
      ['peer', 'edge1'],
      ['group', 'edges'],
      under('local', OPEN),
      under('remote', OPEN),
    ),
    output: part({ accept: false }, ['accept', true], ['notify-code', 2], ['notify-subcode', 5], ['reason', 'not on the list']),
  },
  'ze-plugin-callback:filter-update': {
    input: part(
      {},
      ['filter', 'tidy'],
      ['direction', 'import'],
      ['peer', '192.0.2.1'],
      ['peer-as', 4_200_000_001],
      ['update', 'origin igp next-hop 192.0.2.1 nlri ipv4/unicast add 10.0.0.0/8'],
      ['raw', 'AAAABA=='],
    ),
    output: part(
      { action: 'modify' },
      ['action', 'reject'],
      ['update', 'local-preference 200'],
      ['raw', 'AAAAAA=='],
      ['teardown', true],
      ['notify-code', 6],
      ['notify-subcode', 5],
    ),
  },
  'ze-plugin-callback:doctor-check': {
    input: part({}, ['name', 'disk-space']),
    output: part(
      {},
      ['diagnostics[0].code', 'doctor-disk-full'],
      ['diagnostics[0].severity', 'warning'],
      ['diagnostics[0].message', '3 % left'],
    ),
  },
  'ze-plugin-callback:enrich-show': {
    input: part({}, ['command', 'peer'], ['key', 'acme-rank'], ['mode', 'brief'], ['base', { peer: '192.0.2.1' }]),
    output: part({}, ['data', { rank: 3 }]),
  },
  'ze-plugin-callback:post-startup': {},
  'ze-plugin-callback:bye': { input: part({}, ['reason', 'shutdown']) },

  'ze-plugin-engine:update-route': {
    input: part(
      { command: 'update text nlri ipv4/unicast eor' },
      ['peer-selector', 'as65001'],
      ['command', 'update text x'],
      ['meta', { tag: 7 }],
    ),
    output: part({}, ['announced', 1], ['withdrawn', 2], ['peers-affected', 3], ['routes-sent', 4]),
  },
  'ze-plugin-engine:forward-cached': {
    input: part({}, ['ids', [1, 9007199254740991]], ['destinations', ['192.0.2.1', '[2001:db8::1]:179']]),
  },
  'ze-plugin-engine:release-cached': { input: part({}, ['ids', [5]]) },
  'ze-plugin-engine:relay-stored-route': {
    input: part(
      {},
      ['destination', '192.0.2.1'],
      ['routes[0].source-peer', '192.0.2.2'],
      ['routes[0].family', 'ipv4/unicast'],
      ['routes[0].attr-hex', '40010100'],
      ['routes[0].next-hop-hex', 'c0000201'],
      ['routes[0].nlri-hex', '080a'],
      ['routes[0].path-id', 4_294_967_295],
      ['routes[0].nlri-framing', 'prefix-only'],
    ),
  },
  'ze-plugin-engine:route-install': {
    input: part(
      { routes: [{ ...route, distance: 1, metric: 0 }] },
      under('routes[0]', ROUTE),
      ['routes[0].next-hop', '192.0.2.1'],
      ['routes[0].interface', 'eth0'],
      ['routes[0].weight', 10],
      ['routes[0].route-type', 6],
      ['routes[0].distance', 200],
      ['routes[0].admin-distance', 30],
      ['routes[0].metric', 4_294_967_295],
      ['routes[0].labels', [16, 17]],
      ['routes[0].is-ebgp', true],
      ['routes[0].ecmp[0].next-hop', '192.0.2.2'],
      ['routes[0].ecmp[0].interface', 'eth1'],
      ['routes[0].ecmp[0].weight', 1],
      ['routes[0].backup-next-hop', '192.0.2.3'],
      ['routes[0].backup-repair-labels', [18]],
    ),
    output: part({}, ['installed', 2]),
  },
  'ze-plugin-engine:route-remove': {
    input: part({ routes: [route] }, under('routes[0]', ROUTE)),
    output: part({}, ['removed', 3]),
  },
  'ze-plugin-engine:inject-wire-route': {
    input: part({}, ['protocol', 'bmp'], ['peer-key', 'r1'], ['update-body', 'AAAAAA==']),
  },
  'ze-plugin-engine:batch-validate': {
    input: part(
      {},
      ['decisions[0].Accept', true],
      ['decisions[0].PeerAddr', '192.0.2.1'],
      ['decisions[0].Family', 'ipv4/unicast'],
      ['decisions[0].Prefix', '10.0.0.0/8'],
      ['decisions[0].PathID', 9],
      ['decisions[0].ValState', 2],
    ),
    output: part({}, ['accepted', 1], ['rejected', 2], ['early', 3]),
  },
  'ze-plugin-engine:dispatch-command': { input: part({}, ['command', 'peer list']), output: COMMAND_RESULT },
  'ze-plugin-engine:dispatch-command-args': {
    input: part({ command: 'peer list' }, ['command', 'rib routes'], ['args', ['a b', '"']], ['peer', '192.0.2.1']),
    output: COMMAND_RESULT,
  },
  'ze-plugin-engine:emit-event': {
    input: part(
      { namespace: 'acme', 'event-type': 'up', event: '{}' },
      ['namespace', 'other'],
      ['event-type', 'down'],
      ['direction', 'sent'],
      ['peer-address', '192.0.2.1'],
      ['event', '{"a":"<&>"}'],
    ),
    output: part({}, ['delivered', 4]),
  },
  'ze-plugin-engine:subscribe-events': { input: part({}, SUBSCRIBE) },
  'ze-plugin-engine:unsubscribe-events': {},
  'ze-plugin-engine:decode-nlri': {
    input: part({}, ['family', 'ipv4/unicast'], ['hex', '080a'], ['add-path', true], ['withdraw', true]),
    output: part({}, ['json', ['10.0.0.0/8']]),
  },
  'ze-plugin-engine:encode-nlri': {
    input: part({}, ['family', 'ipv4/unicast'], ['args', ['10.0.0.0/8']]),
    output: part({}, ['hex', '080a']),
  },
  'ze-plugin-engine:decode-mp-reach': {
    input: part({ hex: '00' }, ['hex', '000101'], ['add-path', true]),
    output: part({}, ['family', 'ipv6/unicast'], ['next-hop', '2001:db8::1'], ['nlri', ['2001:db8::/32', { rd: '1:1' }]]),
  },
  'ze-plugin-engine:decode-mp-unreach': {
    input: part({ hex: '00' }, ['hex', '000101'], ['add-path', true]),
    output: part({}, ['family', 'ipv6/unicast'], ['nlri', ['2001:db8::/32']]),
  },
  'ze-plugin-engine:decode-update': {
    input: part({ hex: '00' }, ['hex', '00000000'], ['add-path', true]),
    output: part({}, ['json', '{"update":{"nlri":{}}}']),
  },
  'ze-plugin-engine:resolve-dns': {
    input: part({}, ['name', 'example.net'], ['type', 28]),
    output: part({}, ['records', ['2001:db8::1']], ['ttl', 300], ['status', 'NXDOMAIN']),
  },
  'ze-plugin-engine:state-get': { input: part({}, ['key', 'meta/a']), output: status(['data', 'AQI='], ['message', 'sector 7']) },
  'ze-plugin-engine:state-put': { input: part({}, ['key', 'meta/a'], ['data', 'AQI=']), output: status(['message', 'no space']) },
  'ze-plugin-engine:state-remove': { input: part({}, ['key', 'meta/a']), output: status() },
  'ze-plugin-engine:state-list': { input: part({}, ['key', 'meta/']), output: status(['keys', ['meta/a']]) },
  'ze-plugin-engine:state-increment': { input: part({}, ['key', 'meta/n']), output: status(['value', 12]) },
};

type Json = Record<string, unknown>;

/** A copy of `base` with the value at the path; objects and lists on the way are made. */
export function withField(base: Readonly<Json>, path: string, value: unknown): Json {
  const copy = structuredClone(base) as Json;
  let at: Json = copy;
  const steps = path.replaceAll('[0]', '.0').split('.');
  for (const [index, step] of steps.entries()) {
    if (index === steps.length - 1) at[step] = value;
    else at = (at[step] ??= steps[index + 1] === '0' ? [] : {}) as Json;
  }
  return copy;
}

export function fieldAt(value: unknown, path: string): unknown {
  let at = value;
  for (const step of path.replaceAll('[0]', '.0').split('.')) at = (at as Json | undefined)?.[step];
  return at;
}
