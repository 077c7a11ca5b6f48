// Chains of filters against plugins that answer as told (plugin-lifecycle §9.1, §9.3), and OPENs put before plugins (§13).
import assert from 'node:assert/strict';
import test from 'node:test';
import type { PeerIdentity, ReactorAnswer, Report } from '../../../engine/bgp/port.ts';
import { ManualClock } from '../../../engine/core/clock.ts';
import { silentLog } from '../../../engine/core/log.ts';
import { FilterChain, type FilterQuestion } from '../../../engine/host/calls/filter-chain.ts';
import type { PluginLink } from '../../../engine/host/link.ts';
import { OpenValidation, type OpenQuestion } from '../../../engine/host/calls/open-validation.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import { toHex } from '../../../sdk/wire/bytes.ts';
import { HEADER_LENGTH } from '../../../sdk/wire/message.ts';
import type { FilterDecl, FilterUpdateInput, FilterUpdateOutput, ValidateOpenInput } from '../../../yang/generated/methods.ts';
import { attribute, MANDATORY, PREFIX, update, type UpdateParts } from '../../wire/build.ts';

const PEER: PeerIdentity = {
  index: 3,
  name: 'edge',
  group: '',
  remoteAddress: '192.0.2.77',
  remoteAs: 64512,
  localAddress: '192.0.2.1',
  localAs: 64500,
};

type Handler = (input: FilterUpdateInput) => FilterUpdateOutput | Promise<FilterUpdateOutput>;
interface Offered {
  readonly declaration?: Partial<FilterDecl>;
  /** Absent: the plugin is down. */
  readonly handler?: Handler | undefined;
}

const bodyOf = (parts: UpdateParts): Uint8Array => update(parts).subarray(HEADER_LENGTH);
const LOCAL_PREFERENCE = attribute('4005', '0000012c');

function question(filters: readonly string[], change: Partial<FilterQuestion> = {}): FilterQuestion {
  return {
    kind: 'filter',
    direction: 'import',
    peer: PEER,
    filters,
    body: bodyOf({ attributes: MANDATORY, nlri: PREFIX }),
    asn4: true,
    addPath: [],
    maxBody: 4077,
    ...change,
  };
}

class World {
  readonly clock = new ManualClock();
  readonly reports: Report[] = [];
  readonly seen: FilterUpdateInput[] = [];
  readonly offered: Map<string, Offered>;
  readonly chain: FilterChain;

  constructor(offered: Readonly<Record<string, Offered>>) {
    this.offered = new Map(Object.entries(offered));
    this.chain = new FilterChain({
      clock: this.clock,
      log: silentLog,
      report: (report) => this.reports.push(report),
      plugins: { link: (plugin) => this.#link(plugin), filters: (plugin) => this.#filters(plugin) },
    });
  }

  #filters(plugin: string): readonly FilterDecl[] | undefined {
    const own = [...this.offered].filter(([reference]) => reference.startsWith(`${plugin}:`));
    if (own.length === 0) return undefined;
    return own.map(([reference, { declaration }]) => ({
      name: reference.slice(plugin.length + 1),
      direction: 'both',
      ...declaration,
    }));
  }

  #link(plugin: string): Pick<PluginLink, 'call'> | undefined {
    if (![...this.offered].some(([reference, { handler }]) => reference.startsWith(`${plugin}:`) && handler !== undefined))
      return undefined;
    const call = async (_method: string, input: FilterUpdateInput, signal?: AbortSignal): Promise<FilterUpdateOutput> => {
      this.seen.push(input);
      const late = new Promise<never>((_resolve, reject) =>
        signal?.addEventListener('abort', () => reject(new RpcError('deadline', 'deadline exceeded'))),
      );
      return Promise.race([this.offered.get(`${plugin}:${input.filter}`)!.handler!(input), late]);
    };
    return { call: call as unknown as PluginLink['call'] };
  }

  /** Codes of what is reported now: errors, and warnings that were not cleared. */
  codes(): string[] {
    const lasting = new Map<string, Report>();
    for (const report of this.reports) {
      const key = `${report.code} ${report.subject}`;
      if (report.clear === true) lasting.delete(key);
      else lasting.set(key, report);
    }
    return [...lasting.keys()].sort();
  }
}

const accept: Handler = () => ({ action: 'accept' });
const modify =
  (delta: string): Handler =>
  () => ({ action: 'modify', update: delta });
const b64 = (parts: UpdateParts): string => Buffer.from(bodyOf(parts)).toString('base64');

const show = (answer: ReactorAnswer): string => {
  if (answer.kind === 'replace') return toHex(answer.body);
  return answer.kind === 'teardown' ? `teardown ${answer.code}/${answer.subcode} ${answer.reason}` : answer.kind;
};
const shown = (parts: UpdateParts): string => toHex(bodyOf(parts));

interface Row {
  readonly name: string;
  readonly offered: Readonly<Record<string, Offered>>;
  /** The chain; absent: all that is offered. */
  readonly filters?: readonly string[];
  readonly change?: Partial<FilterQuestion>;
  readonly answer: string;
  readonly reports?: readonly string[];
}

const ROWS: readonly Row[] = [
  { name: 'accept', offered: { 'p:a': { handler: accept } }, answer: 'accept' },
  {
    name: 'reject stops the chain',
    offered: { 'p:a': { handler: () => ({ action: 'reject' }) }, 'p:b': { handler: modify('med 1') } },
    answer: 'reject',
  },
  {
    name: 'modify goes on with what it made',
    offered: {
      'p:a': { handler: modify('local-preference 300') },
      'q:b': {
        handler: ({ update: text }) => (text.includes('local-preference 300') ? { action: 'accept' } : { action: 'reject' }),
      },
    },
    answer: shown({ attributes: MANDATORY + LOCAL_PREFERENCE, nlri: PREFIX }),
  },
  {
    name: 'an empty modify changes nothing',
    offered: { 'p:a': { handler: modify('') }, 'p:b': { handler: () => ({ action: 'modify' }) } },
    answer: 'accept',
  },
  {
    name: 'changes that cancel out leave the message as it was',
    offered: { 'p:a': { handler: modify('med 5') }, 'p:b': { handler: modify('med-remove') } },
    answer: 'accept',
  },
  {
    name: 'a path is prepended by our AS of the session',
    offered: { 'p:a': { handler: modify('as-path-prepend 2') } },
    answer: shown({ attributes: MANDATORY.replace('40020602010000fc00', '40020e02030000fbf40000fbf40000fc00'), nlri: PREFIX }),
  },
  {
    name: 'all routes dropped is a rejection',
    offered: { 'p:a': { handler: modify('nlri ipv4/unicast add') } },
    answer: 'reject',
  },
  {
    name: 'raw ends the chain',
    offered: {
      'p:a': { handler: () => ({ action: 'modify', raw: b64({ withdrawn: PREFIX }) }) },
      'p:b': { handler: () => ({ action: 'reject' }) },
    },
    answer: shown({ withdrawn: PREFIX }),
  },
  {
    name: 'raw of an accept is not looked at',
    offered: { 'p:a': { handler: () => ({ action: 'accept', raw: 'AAAA' }) } },
    answer: 'accept',
  },
  {
    name: 'raw shorter than an UPDATE',
    offered: { 'p:a': { handler: () => ({ action: 'modify', raw: 'AAAA' }) } },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'raw that is no base64',
    offered: { 'p:a': { handler: () => ({ action: 'modify', raw: '$$$$$$$$' }) } },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'raw with sections that do not fit',
    offered: { 'p:a': { handler: () => ({ action: 'modify', raw: 'ABAAAAAA' }) } },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'raw larger than the session allows',
    offered: { 'p:a': { handler: () => ({ action: 'modify', raw: b64({ attributes: MANDATORY, nlri: PREFIX.repeat(50) }) }) } },
    change: { maxBody: 100 },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'raw of a filter bound to attributes',
    offered: {
      'p:a': { declaration: { attributes: ['med'] }, handler: () => ({ action: 'modify', raw: b64({ withdrawn: PREFIX }) }) },
    },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'teardown',
    offered: { 'p:a': { handler: () => ({ action: 'reject', teardown: true, 'notify-code': 6, 'notify-subcode': 2 }) } },
    answer: 'teardown 6/2 filter p:a',
  },
  {
    name: 'teardown without a code',
    offered: { 'p:a': { handler: () => ({ action: 'accept', teardown: true }) } },
    answer: 'teardown 0/0 filter p:a',
  },
  {
    name: 'teardown with a code that is none',
    offered: { 'p:a': { handler: () => ({ action: 'accept', teardown: true, 'notify-code': 777, 'notify-subcode': -1 }) } },
    answer: 'teardown 0/0 filter p:a',
  },
  {
    name: 'teardown of an export',
    offered: { 'p:a': { handler: () => ({ action: 'accept', teardown: true }) } },
    change: { direction: 'export' },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'an unknown action',
    offered: { 'p:a': { declaration: { 'on-error': 'accept' }, handler: () => ({ action: 'perhaps' as 'accept' }) } },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'an attribute that was not declared',
    offered: { 'p:a': { declaration: { attributes: ['med'], 'on-error': 'accept' }, handler: modify('local-preference 5') } },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'routes that were not declared',
    offered: { 'p:a': { declaration: { nlri: false }, handler: modify('nlri ipv4/unicast add') } },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'changes that make the message too large',
    offered: { 'p:a': { handler: modify('community-add 1:1 1:2 1:3 1:4 1:5 1:6') } },
    change: { maxBody: 50 },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'as many changes as are allowed',
    offered: { 'p:a': { handler: modify(`${'med 5 '.repeat(255)}med-remove`) } },
    answer: 'accept',
  },
  {
    name: 'more changes than any filter has reason for',
    offered: { 'p:a': { handler: modify('med 5 '.repeat(257)) } },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'a path that grows past every UPDATE stops growing',
    offered: { 'p:a': { handler: modify('as-path-prepend 32 '.repeat(256)) } },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'communities past every UPDATE, each looked at once',
    offered: {
      'p:a': {
        handler: modify(`community-add ${Array.from({ length: 60_000 }, (_, i) => `9:${i}`).join(' ')}`.slice(0, 524_280)),
      },
    },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'a text longer than any filter has reason for',
    offered: { 'p:a': { handler: modify(' '.repeat(512 * 1024 + 1)) } },
    answer: 'reject',
    reports: ['filter-answer p:a'],
  },
  {
    name: 'an error is rejected',
    offered: { 'p:a': { handler: () => Promise.reject(new RpcError('error', 'no idea')) } },
    answer: 'reject',
    reports: ['filter-unanswered p:a'],
  },
  {
    name: 'an error is passed over where the filter says so',
    offered: {
      'p:a': { declaration: { 'on-error': 'accept' }, handler: () => Promise.reject(new RpcError('error', 'no idea')) },
      'q:b': { handler: modify('local-preference 300') },
    },
    answer: shown({ attributes: MANDATORY + LOCAL_PREFERENCE, nlri: PREFIX }),
    reports: ['filter-unanswered p:a'],
  },
  { name: 'a plugin that is down rejects', offered: { 'p:a': {} }, answer: 'reject', reports: ['filter-unanswered p:a'] },
  {
    name: 'a plugin that is down accepts where its filter said so',
    offered: { 'p:a': { declaration: { 'on-error': 'accept' } } },
    answer: 'accept',
    reports: ['filter-unanswered p:a'],
  },
  {
    name: 'a filter nobody declared',
    offered: { 'p:a': { handler: accept } },
    filters: ['p:other'],
    answer: 'reject',
    reports: ['filter-undeclared import p:other'],
  },
  {
    name: 'a plugin nobody knows',
    offered: {},
    filters: ['nobody:other'],
    answer: 'reject',
    reports: ['filter-undeclared import nobody:other'],
  },
  {
    name: 'a filter of the other direction',
    offered: { 'p:a': { declaration: { direction: 'export', 'on-error': 'accept' }, handler: accept } },
    answer: 'reject',
    reports: ['filter-undeclared import p:a'],
  },
  {
    name: 'a filter of both directions',
    offered: { 'p:a': { handler: accept } },
    change: { direction: 'export' },
    answer: 'accept',
  },
  {
    name: 'an End-of-RIB passes without being asked about',
    offered: {},
    filters: ['nobody:other'],
    change: { body: bodyOf({}) },
    answer: 'accept',
  },
];

for (const { name, offered, filters = Object.keys(offered), change, answer, reports = [] } of ROWS) {
  test(name, async () => {
    const world = new World(offered);
    assert.equal(show(await world.chain.run(question(filters, change))), answer);
    assert.deepEqual(world.codes(), reports);
  });
}

test('what a filter is told', async () => {
  const world = new World({
    'p:a': { handler: accept },
    'p:b': { declaration: { nlri: false, raw: true, direction: 'import' }, handler: accept },
  });
  await world.chain.run(question(['p:a', 'p:b']));
  const base = { direction: 'import', peer: '192.0.2.77', 'peer-as': 64512 };
  const attributes = 'origin igp as-path 64512 next-hop 192.0.2.1';
  assert.deepEqual(world.seen, [
    { ...base, filter: 'a', update: `${attributes} nlri ipv4/unicast add 198.51.100.0/24` },
    { ...base, filter: 'b', update: attributes, raw: b64({ attributes: MANDATORY, nlri: PREFIX }) },
  ]);
});

test('withdrawals are asked about too', async () => {
  const world = new World({ 'p:a': { handler: accept } });
  await world.chain.run(question(['p:a'], { body: bodyOf({ withdrawn: PREFIX }) }));
  assert.equal(world.seen[0]?.update, 'nlri ipv4/unicast del 198.51.100.0/24');
});

test('a filter has five seconds; the next one is still asked, and an answer takes the warning back', async () => {
  let answers = false;
  const world = new World({
    'p:slow': {
      declaration: { 'on-error': 'accept' },
      handler: () => (answers ? { action: 'accept' } : new Promise<never>(() => undefined)),
    },
    'q:b': { handler: modify('local-preference 300') },
  });
  const asked = world.chain.run(question(['p:slow', 'q:b']));
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await turn();
  world.clock.advance(4999);
  await turn();
  assert.equal(world.seen.length, 1);
  world.clock.advance(1);
  assert.equal((await asked).kind, 'replace');
  assert.match(world.reports[0]?.message ?? '', /no answer within 5 s; its routes are accepted \(on-error accept\)/);
  assert.deepEqual(world.codes(), ['filter-unanswered p:slow']);
  answers = true;
  await world.chain.run(question(['p:slow', 'q:b']));
  assert.deepEqual(world.codes(), []);
});

test('a plugin has 64 calls at once, the rest follow in their order', async () => {
  const release: (() => void)[] = [];
  const world = new World({
    'p:a': { handler: () => new Promise((resolve) => release.push(() => resolve({ action: 'accept' }))) },
  });
  const answers = Array.from({ length: 200 }, (_, index) =>
    world.chain.run(question(['p:a'], { peer: { ...PEER, index, remoteAddress: `192.0.2.${index}` } })),
  );
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await turn();
  assert.equal(world.seen.length, 64);
  release.shift()?.();
  await turn();
  assert.equal(world.seen.length, 65);
  while (world.seen.length < 200 || release.length > 0) {
    release.shift()?.();
    await turn();
  }
  assert.deepEqual(
    world.seen.map(({ peer }) => peer),
    Array.from({ length: 200 }, (_, index) => `192.0.2.${index}`),
  );
  assert.ok((await Promise.all(answers)).every(({ kind }) => kind === 'accept'));
});

test('filters that nobody declared are reported before a route comes, and taken back when they are there', () => {
  const world = new World({ 'p:a': { declaration: { direction: 'import' }, handler: accept } });
  const chains = [
    { direction: 'import' as const, filters: ['p:a', 'p:b'] },
    { direction: 'export' as const, filters: ['p:a'] },
  ];
  world.chain.check(chains);
  assert.deepEqual(world.codes(), ['filter-undeclared export p:a', 'filter-undeclared import p:b']);
  assert.match(
    world.reports[0]?.message ?? '',
    /no import filter "b": plugin p offers a \(import\); routes of its chains are rejected/,
  );
  world.chain.check(chains);
  assert.equal(world.reports.length, 2, 'said once');
  assert.deepEqual(world.chain.check(chains).length, 2, 'and again to whoever asks');
  assert.match(world.chain.check(chains)[0] ?? '', /no import filter "b": plugin p offers a \(import\)/);
  assert.deepEqual(world.chain.check([{ direction: 'import', filters: ['p:a'] }]), []);
  assert.deepEqual(world.codes(), []);
});

test('a filter that answers nonsense for every route is reported once in ten seconds', async () => {
  const world = new World({ 'p:a': { handler: () => ({ action: '' as 'accept' }) } });
  for (let i = 0; i < 100; i++) await world.chain.run(question(['p:a']));
  assert.equal(world.reports.length, 1);
  world.clock.advance(10_000);
  await world.chain.run(question(['p:a']));
  assert.equal(world.reports.length, 2);
});

const OPEN: OpenQuestion = {
  kind: 'open',
  peer: { ...PEER, group: 'edges' },
  local: { asn: 64500, routerId: 0xc0000201, holdTimeSeconds: 90, capabilities: [] },
  remote: {
    asn: 4_200_000_000,
    routerId: 0xc000024d,
    holdTimeSeconds: 30,
    capabilities: [
      { code: 65, value: Uint8Array.of(0xfa, 0x56, 0xea, 0) },
      { code: 2, value: new Uint8Array(0) },
    ],
  },
};

type OpenHandler = (input: ValidateOpenInput) => unknown;

const OPENS: readonly (readonly [
  name: string,
  handlers: Readonly<Record<string, OpenHandler>>,
  answer: string,
  asked: string,
  reports?: readonly string[],
])[] = [
  ['nobody wants to see it', {}, 'accept', ''],
  ['all accept', { a: () => ({ accept: true }), b: () => ({ accept: true }) }, 'accept', 'a b'],
  [
    'the first refusal wins',
    {
      a: () => ({ accept: true }),
      b: () => ({ accept: false, 'notify-code': 2, 'notify-subcode': 2, reason: 'not you' }),
      c: () => ({ accept: true }),
    },
    'teardown 2/2 not you',
    'a b',
  ],
  ['a refusal without a code', { a: () => ({ accept: false }) }, 'teardown 0/0 refused by a', 'a'],
  [
    'a failure is passed over',
    { a: () => Promise.reject(new RpcError('error', 'no idea')), b: () => ({ accept: false, reason: 'b' }) },
    'teardown 0/0 b',
    'a b',
    ['open-unvalidated'],
  ],
  ['a plugin that never answers', { a: () => new Promise(() => undefined) }, 'accept', 'a', ['open-unvalidated']],
];

for (const [name, handlers, answer, asked, codes = []] of OPENS) {
  test(`OPEN: ${name}`, async () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    const reports: Report[] = [];
    const validation = new OpenValidation({
      clock,
      log: silentLog,
      report: (report) => reports.push(report),
      validators: () => Object.keys(handlers),
      link: (plugin) => {
        const call = (_method: string, input: ValidateOpenInput, signal?: AbortSignal): Promise<unknown> => {
          seen.push(plugin);
          return new Promise((resolve, reject) => {
            signal?.addEventListener('abort', () => reject(new RpcError('deadline', 'deadline exceeded')));
            Promise.resolve(handlers[plugin]!(input)).then(resolve, reject);
          });
        };
        return { call: call as unknown as PluginLink['call'] };
      },
    });
    const pending = validation.ask(OPEN);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(5000);
    assert.equal(show(await pending), answer);
    assert.equal(seen.join(' '), asked);
    assert.deepEqual(
      reports.map(({ code }) => code),
      codes,
    );
  });
}

test('OPEN: what a plugin is told', async () => {
  let told: ValidateOpenInput | undefined;
  const call = (_method: string, input: ValidateOpenInput): Promise<unknown> => {
    told = input;
    return Promise.resolve({ accept: true });
  };
  const validation = new OpenValidation({
    clock: new ManualClock(),
    log: silentLog,
    report: () => undefined,
    validators: () => ['a'],
    link: () => ({ call: call as unknown as PluginLink['call'] }),
  });
  await validation.ask(OPEN);
  assert.deepEqual(told, {
    peer: 'edge',
    group: 'edges',
    local: { asn: 64500, 'router-id': '192.0.2.1', 'hold-time': 90 },
    remote: {
      asn: 4_200_000_000,
      'router-id': '192.0.2.77',
      'hold-time': 30,
      capabilities: [
        { code: 65, hex: 'fa56ea00' },
        { code: 2, hex: '' },
      ],
    },
  });
});
