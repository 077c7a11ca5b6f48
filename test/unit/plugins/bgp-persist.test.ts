// bgp-persist: routes to lines and back, and what a crash between any two writes leaves.
import assert from 'node:assert/strict';
import test from 'node:test';
import { CodecRegistry } from '../../../engine/codec/registry.ts';
import { RouteCommands } from '../../../engine/codec/route-command.ts';
import { Keeper } from '../../../plugins/bgp-persist/keeper.ts';
import { commandOf, entriesOf, lineOf, type Run, runOf } from '../../../plugins/bgp-persist/route-lines.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';

const run = (nlri: string, more: Partial<Run> = {}): Run => ({
  peer: '192.0.2.1',
  owner: 'operator',
  family: 'ipv4/unicast',
  'path-id': 0,
  attributes: '40010100',
  'next-hop': '',
  nlri,
  ...more,
});

const RUNS: readonly (readonly [name: string, run: Run, command: string | undefined])[] = [
  ['ours as next hop', run('100a01100a02'), 'update hex attr set 40010100 nhop set self nlri ipv4/unicast add 100a01100a02'],
  [
    'a next hop, and no attributes',
    run('100a01', { attributes: '', 'next-hop': 'c0000207' }),
    'update hex attr set 40010100 nhop set c0000207 nlri ipv4/unicast add 100a01',
  ],
  [
    'a path identifier',
    run('100a01100a02', { 'path-id': 5 }),
    'update hex attr set 40010100 nhop set self nlri ipv4/unicast addpath add 00000005100a0100000005100a02',
  ],
  [
    'IPv6',
    run('2020010db8', { family: 'ipv6/unicast', 'next-hop': '20010db8000000000000000000000001' }),
    'update hex attr set 40010100 nhop set 20010db8000000000000000000000001 nlri ipv6/unicast add 2020010db8',
  ],
  ['a path identifier of a family without prefixes', run('0501180a0000', { family: 'ipv4/flow', 'path-id': 5 }), undefined],
];
for (const [name, one, command] of RUNS) {
  test(`a run is a line, and the line is its command again: ${name}`, () => {
    const back = runOf(one.peer, lineOf(one));
    assert.deepEqual(back, { ...one, owner: '' });
    assert.equal(commandOf(back, entriesOf(back)), command);
    if (command === undefined) return;
    const parsed = new RouteCommands(new CodecRegistry()).parse(command);
    assert.ok(parsed.ok, parsed.ok ? '' : parsed.fault.message);
    const [section] = parsed.value.sections;
    assert.equal(Buffer.from(section!.announce).toString('hex'), one.nlri);
    assert.equal(section?.pathId, one['path-id']);
  });
}

test('what is no line is none', () => {
  for (const line of ['', 'ipv4/unicast', 'ipv4/unicast 0 - - 1', 'ipv4/unicast x - - 10', 'ipv4/unicast 0 - - 10 10', 'a b\nc'])
    assert.equal(runOf('p', line), undefined, line);
  assert.deepEqual(entriesOf(run('2001')), [], 'cut short');
});

/** The least of a daemon: a table, and a store that loses power after `writes` more writes. */
class Stage {
  readonly values = new Map<string, string>();
  readonly said: string[] = [];
  readonly warned: string[] = [];
  table: readonly Run[] = [];
  changes = 0;
  writes = Infinity;
  /** Keys whose bytes are damaged. */
  readonly damaged = new Set<string>();

  keeper(): Keeper {
    const write = (work: () => void): Promise<void> => {
      if (this.writes-- <= 0) return Promise.reject(new Error('no power'));
      work();
      return Promise.resolve();
    };
    const log = (_fields: object, message: string): void => {
      this.warned.push(`${message} ${JSON.stringify(_fields)}`);
    };
    return new Keeper({
      log: { debug: log, info: () => undefined, warn: log, error: log },
      state: {
        getText: (key) =>
          this.damaged.has(key) ? Promise.reject(new RpcError('corrupt', 'corrupt')) : Promise.resolve(this.values.get(key)),
        put: (key, value) => write(() => this.values.set(key, value as string)),
        remove: async (key) => {
          const held = this.values.has(key);
          await write(() => this.values.delete(key));
          return held;
        },
        list: (prefix) => Promise.resolve([...this.values.keys()].filter((key) => key.startsWith(prefix ?? '')).sort()),
      },
      announce: (peer, command) => {
        if (peer === '!*') return Promise.reject(new Error('no peer matches'));
        this.said.push(`${peer} ${command.split(' add ')[1] ?? ''}`);
        return Promise.resolve();
      },
      ask: () => Promise.resolve({ changes: this.changes }),
      rows: async function* (this: Stage) {
        yield* await Promise.resolve(this.table);
      }.bind(this),
    });
  }

  async holds(table: readonly Run[], keeper: Keeper): Promise<void> {
    this.table = table;
    this.changes++;
    await keeper.save();
  }

  /** What a new start announces. */
  async restored(): Promise<readonly string[]> {
    this.said.length = 0;
    this.table = [];
    this.writes = Infinity;
    await this.keeper().restore();
    return [...this.said].sort();
  }
}

const OLD = [run('100a01'), run('100a02', { peer: '192.0.2.2' })];
const NEW = [run('100a03'), run('100a04', { 'next-hop': 'c0000207' })];

test('a crash between any two writes leaves the routes of a peer as they were, or as they are', async () => {
  const seen = new Set<string>();
  for (let writes = 0; writes < 20; writes++) {
    const stage = new Stage();
    const keeper = stage.keeper();
    await keeper.restore();
    await stage.holds(OLD, keeper);
    stage.writes = writes;
    await stage.holds(NEW, keeper);
    const restored = (await stage.restored()).filter((line) => line.startsWith('192.0.2.1')).join(', ');
    assert.ok(['192.0.2.1 100a01', '192.0.2.1 100a03, 192.0.2.1 100a04'].includes(restored), `${writes}: ${restored}`);
    seen.add(restored);
  }
  assert.equal(seen.size, 2);
});

test('a peer that has no routes any more is forgotten, and so is what nobody names', async () => {
  const stage = new Stage();
  const keeper = stage.keeper();
  await keeper.restore();
  await stage.holds(OLD, keeper);
  await stage.holds([OLD[0]!], keeper);
  assert.deepEqual([...stage.values.keys()], ['meta/routes/192.0.2.1/1/0', 'meta/index/192.0.2.1']);
  stage.values.set('meta/routes/192.0.2.1/7/0', 'left by a crash');
  assert.deepEqual(await stage.restored(), ['192.0.2.1 100a01']);
  assert.equal(stage.values.has('meta/routes/192.0.2.1/7/0'), false);
});

test('routes of the configuration are not kept, and nothing is written while nothing changes', async () => {
  const stage = new Stage();
  const keeper = stage.keeper();
  await keeper.restore();
  await stage.holds([run('100a01', { owner: 'config' }), run('100a02', { owner: 'plugin:bgp-watchdog' })], keeper);
  assert.equal(stage.values.size, 0);
  await stage.holds(OLD, keeper);
  stage.writes = 0;
  await stage.holds(OLD, keeper);
  await keeper.save();
  assert.deepEqual(stage.warned, []);
});

test('a table that could not be read to its end is not taken for the whole', async () => {
  const stage = new Stage();
  const keeper = stage.keeper();
  await keeper.restore();
  await stage.holds(OLD, keeper);
  Object.defineProperty(stage, 'table', {
    get: () => {
      throw new Error('cut short');
    },
    configurable: true,
  });
  stage.changes++;
  await keeper.save();
  Object.defineProperty(stage, 'table', { value: [], writable: true });
  assert.equal((await stage.restored()).length, 2);
  assert.match(stage.warned.join(), /could not be kept: cut short/);
});

test('damage loses that peer alone, with a warning', async () => {
  for (const damaged of ['meta/index/192.0.2.1', 'meta/routes/192.0.2.1/1/0']) {
    const stage = new Stage();
    const keeper = stage.keeper();
    await keeper.restore();
    await stage.holds(OLD, keeper);
    stage.damaged.add(damaged);
    assert.deepEqual(await stage.restored(), ['192.0.2.2 100a02']);
    assert.match(stage.warned.join(), /kept routes of 192\.0\.2\.1 are lost/);
  }
  for (const rubbish of ['', '{', '{"generation":-1,"values":1,"routes":1}', '{"generation":1,"values":1e9,"routes":1}']) {
    const stage = new Stage();
    stage.values.set('meta/index/192.0.2.1', rubbish);
    assert.deepEqual(await stage.restored(), []);
    assert.match(stage.warned.join(), /are lost/);
  }
});

test('many routes are several values, and all of them come back', async () => {
  const stage = new Stage();
  const keeper = stage.keeper();
  await keeper.restore();
  const community = 'c0080400010002'.padEnd(4000, '0');
  const many = Array.from({ length: 600 }, (_, n) => run(`180a${n.toString(16).padStart(4, '0')}`, { attributes: community }));
  await stage.holds(many, keeper);
  assert.equal(
    [...stage.values.values()].every((value) => value.length <= 1_000_000),
    true,
  );
  assert.equal((keeper.status() as { 'routes-stored': number })['routes-stored'], 600);
  assert.equal((await stage.restored()).length, 600);
});

test('without a state store it says so once, and goes on', async () => {
  const stage = new Stage();
  const keeper = stage.keeper();
  await keeper.restore();
  stage.writes = 0;
  await stage.holds(OLD, keeper);
  await stage.holds(NEW, keeper);
  assert.equal(stage.warned.length, 1);
});
