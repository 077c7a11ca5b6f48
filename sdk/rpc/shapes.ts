/**
 * The shape of every method's input and output, for `decode.ts`.
 *
 * The compiler checks the tables against the types generated from YANG: a field added there and missing here does not build.
 */
import type { Method, Methods } from '../../yang/generated/methods.ts';

/** A shape: text number flag raw map, `?` behind an optional one; [X] a list, [X, '?'] an optional list; ['?', {…}] an optional object. */
export type Shape = string | readonly [Shape] | readonly [Shape, Shape] | { readonly [key: string]: Shape };

type OptionalKeys<T> = {
  [K in keyof T]-?: undefined extends Pick<T, K>[K] ? (Partial<Pick<T, K>> extends Pick<T, K> ? K : never) : never;
}[keyof T];
type ShapeOf<T> = unknown extends T
  ? 'raw'
  : [T] extends [string]
    ? 'text'
    : [T] extends [number]
      ? 'number'
      : [T] extends [boolean]
        ? 'flag'
        : [T] extends [readonly (infer E)[]]
          ? readonly [ShapeOf<E>]
          : string extends keyof T
            ? 'map'
            : {
                readonly [K in keyof T]-?: K extends OptionalKeys<T>
                  ? OptionalShape<ShapeOf<Exclude<T[K], undefined>>>
                  : ShapeOf<T[K]>;
              };
type OptionalShape<S> = S extends string ? `${S}?` : S extends readonly [infer E] ? readonly [E, '?'] : readonly ['?', S];
type WholeShape<T> = [T] extends [undefined] ? typeof NOTHING : ShapeOf<T>;

/** Methods that carry no value. */
const NOTHING = {} as const;
const SECTION = { root: 'text', data: 'text' } as const;
const DIFF = { root: 'text', added: 'text?', removed: 'text?', changed: 'text?' } as const;
const RESULT = { status: 'text', error: 'text?' } as const;
const RESOURCE = {
  kind: 'text',
  name: 'text?',
  interface: 'text?',
  address: 'text?',
  peer: 'text?',
  port: 'number?',
  prefix: 'text?',
  'next-hop': 'text?',
} as const;
const OPERATION_PARAMS = {
  name: 'text?',
  interface: 'text?',
  cidr: 'text?',
  address: 'text?',
  peer: 'text?',
  port: 'number?',
  prefix: 'text?',
  'next-hop': 'text?',
  metric: 'number?',
  property: 'text?',
  value: 'text?',
  'old-value': 'text?',
  'allow-dual': 'flag?',
  spec: 'raw?',
  config: 'raw?',
  'old-config': 'raw?',
  changed: 'raw?',
} as const;
const OPERATION = {
  id: 'text',
  root: 'text',
  owner: 'text',
  type: 'text',
  verb: 'text',
  target: RESOURCE,
  produces: [RESOURCE, '?'],
  consumes: [RESOURCE, '?'],
  params: ['?', OPERATION_PARAMS],
} as const;
const NLRI_DECODE = { family: 'text', hex: 'text', 'add-path': 'flag?', withdraw: 'flag?' } as const;
const NLRI_ENCODE = { family: 'text', args: ['text', '?'] } as const;
const OPEN = {
  asn: 'number',
  'router-id': 'text',
  'hold-time': 'number',
  capabilities: [{ code: 'number', hex: 'text' }, '?'],
} as const;
const SUBSCRIBE = {
  events: ['text', '?'],
  peers: ['text', '?'],
  format: 'text?',
  encoding: 'text?',
  namespace: 'text?',
  envelope: 'flag?',
} as const;
const COMMAND_RESULT = { status: 'text', data: 'raw?', error: 'text?' } as const;
const ROUTE_KEY = { protocol: 'text', afi: 'number', safi: 'number', prefix: 'text', instance: 'number' } as const;
const STATUS = { status: 'text' } as const;
const TRANSACTION = { 'transaction-id': 'text' } as const;
const HEX_ADD_PATH = { hex: 'text', 'add-path': 'flag?' } as const;

const REGISTRATION = {
  families: [{ name: 'text', mode: 'text?', afi: 'number?', safi: 'number?' }, '?'],
  commands: [
    {
      name: 'text',
      'short-help': 'text?',
      description: 'text?',
      args: ['text', '?'],
      completable: 'flag?',
      hidden: 'flag?',
      'deprecated-names': ['text', '?'],
      shape: 'text?',
      columns: ['text', '?'],
      'address-fields': ['text', '?'],
    },
    '?',
  ],
  dependencies: ['text', '?'],
  'wants-config': ['text', '?'],
  'config-operations': [{ root: 'text', decompose: 'flag?', operations: ['text', '?'] }, '?'],
  'verify-budget': 'number?',
  'apply-budget': 'number?',
  schema: ['?', { module: 'text', namespace: 'text?', 'yang-text': 'text?', handlers: ['text', '?'] }],
  'wants-validate-open': 'flag?',
  'cache-consumer': 'flag?',
  'cache-consumer-unordered': 'flag?',
  filters: [
    {
      name: 'text',
      direction: 'text',
      attributes: ['text', '?'],
      nlri: 'flag?',
      raw: 'flag?',
      'on-error': 'text?',
      overrides: ['text', '?'],
    },
    '?',
  ],
  'doctor-checks': [
    { name: 'text', phase: 'text', order: 'number?', dependencies: ['text', '?'], platforms: ['text', '?'], codes: ['text'] },
    '?',
  ],
  enrichers: [{ command: 'text', key: 'text' }, '?'],
  pipes: [{ command: 'text', name: 'text', description: 'text?', expansion: 'text' }, '?'],
  claims: ['text', '?'],
  'failure-policy': 'text?',
  'signals-session-ready': 'flag?',
} as const;

const INSTALL = {
  ...ROUTE_KEY,
  'next-hop': 'text?',
  interface: 'text?',
  weight: 'number?',
  'route-type': 'number?',
  distance: 'number',
  'admin-distance': 'number?',
  metric: 'number',
  labels: ['number', '?'],
  'is-ebgp': 'flag?',
  ecmp: [{ 'next-hop': 'text?', interface: 'text?', weight: 'number?' }, '?'],
  'backup-next-hop': 'text?',
  'backup-repair-labels': ['number', '?'],
} as const;

export const INPUTS: { readonly [M in Method]: WholeShape<Methods[M]['input']> } = {
  'ze-plugin-callback:configure': { sections: [SECTION], claims: ['text', '?'] },
  'ze-plugin-callback:share-registry': { commands: [{ name: 'text', plugin: 'text', encoding: 'text?' }] },
  'ze-plugin-callback:deliver-event': { event: 'text' },
  'ze-plugin-callback:deliver-batch': { events: ['text'] },
  'ze-plugin-callback:execute-command': { serial: 'text?', command: 'text', args: ['text', '?'], peer: 'text?' },
  'ze-plugin-callback:encode-nlri': NLRI_ENCODE,
  'ze-plugin-callback:decode-nlri': NLRI_DECODE,
  'ze-plugin-callback:decode-capability': { code: 'number', hex: 'text' },
  'ze-plugin-callback:config-verify': { sections: [SECTION] },
  'ze-plugin-callback:config-apply': { sections: [DIFF] },
  'ze-plugin-callback:config-rollback': TRANSACTION,
  'ze-plugin-callback:config-committed': TRANSACTION,
  'ze-plugin-callback:config-operation-decompose': {
    ...TRANSACTION,
    root: 'text',
    active: SECTION,
    candidate: SECTION,
    diff: DIFF,
  },
  'ze-plugin-callback:config-operation-verify': { ...TRANSACTION, operation: OPERATION },
  'ze-plugin-callback:config-operation-apply': { ...TRANSACTION, operation: OPERATION },
  'ze-plugin-callback:config-operation-rollback': { ...TRANSACTION, operations: [OPERATION, '?'] },
  'ze-plugin-callback:config-operation-commit': TRANSACTION,
  'ze-plugin-callback:validate-open': { peer: 'text', group: 'text?', local: OPEN, remote: OPEN },
  'ze-plugin-callback:filter-update': {
    filter: 'text',
    direction: 'text',
    peer: 'text',
    'peer-as': 'number',
    update: 'text',
    raw: 'text?',
  },
  'ze-plugin-callback:doctor-check': { name: 'text' },
  'ze-plugin-callback:enrich-show': { command: 'text', key: 'text', mode: 'text', base: 'map' },
  'ze-plugin-callback:post-startup': NOTHING,
  'ze-plugin-callback:bye': { reason: 'text?' },
  'ze-plugin-engine:declare-registration': REGISTRATION,
  'ze-plugin-engine:declare-capabilities': {
    capabilities: [{ code: 'number', encoding: 'text?', payload: 'text?', peers: ['text', '?'] }],
  },
  'ze-plugin-engine:ready': { subscribe: ['?', SUBSCRIBE], transport: 'text?' },
  'ze-plugin-engine:update-route': { 'peer-selector': 'text?', command: 'text', meta: 'map?' },
  'ze-plugin-engine:forward-cached': { ids: ['number'], destinations: ['text'] },
  'ze-plugin-engine:release-cached': { ids: ['number'] },
  'ze-plugin-engine:relay-stored-route': {
    destination: 'text',
    routes: [
      {
        'source-peer': 'text',
        family: 'text',
        'attr-hex': 'text',
        'next-hop-hex': 'text',
        'nlri-hex': 'text',
        'path-id': 'number?',
        'nlri-framing': 'text?',
      },
    ],
  },
  'ze-plugin-engine:route-install': { routes: [INSTALL] },
  'ze-plugin-engine:route-remove': { routes: [ROUTE_KEY] },
  'ze-plugin-engine:inject-wire-route': { protocol: 'text', 'peer-key': 'text', 'update-body': 'text' },
  'ze-plugin-engine:batch-validate': {
    decisions: [{ Accept: 'flag', PeerAddr: 'text', Family: 'text', Prefix: 'text', PathID: 'number', ValState: 'number' }],
  },
  'ze-plugin-engine:dispatch-command': { command: 'text' },
  'ze-plugin-engine:dispatch-command-args': { command: 'text', args: ['text', '?'], peer: 'text?' },
  'ze-plugin-engine:emit-event': {
    namespace: 'text',
    'event-type': 'text',
    direction: 'text?',
    'peer-address': 'text?',
    event: 'text',
  },
  'ze-plugin-engine:subscribe-events': SUBSCRIBE,
  'ze-plugin-engine:unsubscribe-events': NOTHING,
  'ze-plugin-engine:decode-nlri': NLRI_DECODE,
  'ze-plugin-engine:encode-nlri': NLRI_ENCODE,
  'ze-plugin-engine:decode-mp-reach': HEX_ADD_PATH,
  'ze-plugin-engine:decode-mp-unreach': HEX_ADD_PATH,
  'ze-plugin-engine:decode-update': HEX_ADD_PATH,
  'ze-plugin-engine:resolve-dns': { name: 'text', type: 'number' },
  'ze-plugin-engine:state-get': { key: 'text' },
  'ze-plugin-engine:state-put': { key: 'text', data: 'text' },
  'ze-plugin-engine:state-remove': { key: 'text' },
  'ze-plugin-engine:state-list': { key: 'text' },
  'ze-plugin-engine:state-increment': { key: 'text' },
};

export const OUTPUTS: { readonly [M in Method]: WholeShape<Methods[M]['output']> } = {
  'ze-plugin-callback:configure': NOTHING,
  'ze-plugin-callback:share-registry': NOTHING,
  'ze-plugin-callback:deliver-event': NOTHING,
  'ze-plugin-callback:deliver-batch': NOTHING,
  'ze-plugin-callback:execute-command': { status: 'text', data: 'raw?' },
  'ze-plugin-callback:encode-nlri': { hex: 'text' },
  'ze-plugin-callback:decode-nlri': { json: 'raw' },
  'ze-plugin-callback:decode-capability': { json: 'raw' },
  'ze-plugin-callback:config-verify': RESULT,
  'ze-plugin-callback:config-apply': RESULT,
  'ze-plugin-callback:config-rollback': NOTHING,
  'ze-plugin-callback:config-committed': NOTHING,
  'ze-plugin-callback:config-operation-decompose': { ...RESULT, operations: [OPERATION, '?'] },
  'ze-plugin-callback:config-operation-verify': RESULT,
  'ze-plugin-callback:config-operation-apply': {
    ...RESULT,
    readiness: [{ namespace: 'text', 'event-type': 'text', resource: 'text?' }, '?'],
  },
  'ze-plugin-callback:config-operation-rollback': RESULT,
  'ze-plugin-callback:config-operation-commit': RESULT,
  'ze-plugin-callback:validate-open': { accept: 'flag', 'notify-code': 'number?', 'notify-subcode': 'number?', reason: 'text?' },
  'ze-plugin-callback:filter-update': {
    action: 'text',
    update: 'text?',
    raw: 'text?',
    teardown: 'flag?',
    'notify-code': 'number?',
    'notify-subcode': 'number?',
  },
  'ze-plugin-callback:doctor-check': { diagnostics: [{ code: 'text', severity: 'text', message: 'text' }] },
  'ze-plugin-callback:enrich-show': { data: 'map?' },
  'ze-plugin-callback:post-startup': NOTHING,
  'ze-plugin-callback:bye': NOTHING,
  'ze-plugin-engine:declare-registration': NOTHING,
  'ze-plugin-engine:declare-capabilities': NOTHING,
  'ze-plugin-engine:ready': NOTHING,
  'ze-plugin-engine:update-route': {
    announced: 'number?',
    withdrawn: 'number?',
    'peers-affected': 'number?',
    'routes-sent': 'number?',
  },
  'ze-plugin-engine:forward-cached': NOTHING,
  'ze-plugin-engine:release-cached': NOTHING,
  'ze-plugin-engine:relay-stored-route': NOTHING,
  'ze-plugin-engine:route-install': { installed: 'number' },
  'ze-plugin-engine:route-remove': { removed: 'number' },
  'ze-plugin-engine:inject-wire-route': NOTHING,
  'ze-plugin-engine:batch-validate': { accepted: 'number', rejected: 'number', early: 'number' },
  'ze-plugin-engine:dispatch-command': COMMAND_RESULT,
  'ze-plugin-engine:dispatch-command-args': COMMAND_RESULT,
  'ze-plugin-engine:emit-event': { delivered: 'number' },
  'ze-plugin-engine:subscribe-events': NOTHING,
  'ze-plugin-engine:unsubscribe-events': NOTHING,
  'ze-plugin-engine:decode-nlri': { json: 'raw' },
  'ze-plugin-engine:encode-nlri': { hex: 'text' },
  'ze-plugin-engine:decode-mp-reach': { family: 'text', 'next-hop': 'text?', nlri: ['raw'] },
  'ze-plugin-engine:decode-mp-unreach': { family: 'text', nlri: ['raw'] },
  'ze-plugin-engine:decode-update': { json: 'text' },
  'ze-plugin-engine:resolve-dns': { records: ['text', '?'], ttl: 'number', status: 'text' },
  'ze-plugin-engine:state-get': { ...STATUS, data: 'text?', message: 'text?' },
  'ze-plugin-engine:state-put': { ...STATUS, message: 'text?' },
  'ze-plugin-engine:state-remove': STATUS,
  'ze-plugin-engine:state-list': { ...STATUS, keys: ['text', '?'] },
  'ze-plugin-engine:state-increment': { ...STATUS, value: 'number?' },
};
