// A plugin that starts while sessions live, again or for the first time, is told who is up (after its stage 5, before all else).
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { peer, row } from '../bus/fixture.ts';
import { makeWorld, NO_NEEDS, script, settings, until, type World } from './support.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const UP = row({ kind: 'state', direction: 'unspecified', state: 'up' });

/** A plugin that subscribes with ready and notes its events; `die` ends its connection. */
function watcher(name: string, lines: string[], lives: { die: () => void }[]): void {
  script(name, async (plugin) => {
    await plugin.stages(4, { 'failure-policy': 'restart' });
    lives.push({ die: () => plugin.conn.destroy() });
    plugin.request('ready', { subscribe: { events: ['state'] } });
    for (;;) {
      const line = await plugin.next();
      const [id = '', verb = ''] = line.split(' ');
      if (verb === 'ok') lines.push('ok');
      else plugin.send(`${id} ok`);
      if (verb.endsWith('bye')) return;
      if (!verb.endsWith('deliver-batch')) continue;
      const { events } = JSON.parse(line.slice(line.indexOf('{'))) as { events: string[] };
      for (const text of events) {
        const { bgp, meta } = JSON.parse(text) as { bgp: { state: string }; meta: { seq: number; snapshot?: boolean } };
        lines.push(`${meta.seq} ${bgp.state}${meta.snapshot === true ? ' snapshot' : ''}`);
      }
    }
  });
}

test('started again, it is told of the peers that are up; then what happens', async () => {
  const made = (world = makeWorld());
  const lines: string[] = [];
  const lives: { die: () => void }[] = [];
  watcher('watch', lines, lives);
  made.bus.peers([peer(0), peer(1)]);
  await made.host.start([settings('watch')], [], NO_NEEDS);
  made.bus.event(UP);
  await until('the live event', () => lines.length === 2);
  lives[0]?.die();
  await until('it runs again', () => lives.length === 2 && made.state('watch') === 'running');
  made.bus.event({ ...UP, state: 'down', reason: 'x' });
  await until('all events', () => lines.length === 5);
  assert.deepEqual(lines, ['ok', '1 up', 'ok', '1 up snapshot', '2 down']);
});

test('added by a reload, it is told as well; one that goes on is not told twice', async () => {
  const made = (world = makeWorld());
  const [first, second]: string[][] = [[], []];
  assert(first !== undefined && second !== undefined);
  watcher('first', first, []);
  watcher('second', second, []);
  made.bus.peers([peer(0)]);
  await made.host.start([settings('first')], [], NO_NEEDS);
  made.bus.event(UP);
  await made.host.apply([settings('first'), settings('second')], [], NO_NEEDS);
  await until('the snapshot', () => second.length === 2);
  assert.deepEqual(second, ['ok', '1 up snapshot']);
  assert.deepEqual(first, ['ok', '1 up']);
});

test('a subscription made later is told nothing of the past', async () => {
  const made = (world = makeWorld());
  const lines: string[] = [];
  made.bus.peers([peer(0)]);
  made.bus.event(UP);
  script('late', async (plugin) => {
    await plugin.stages(5);
    plugin.request('subscribe-events', { events: ['state'] });
    for (;;) {
      const line = await plugin.next();
      lines.push(line.replace(/^#\d+ /, '').slice(0, 40));
      if (!line.endsWith(' ok')) plugin.send(`${line.split(' ')[0] ?? ''} ok`);
    }
  });
  await made.host.start([settings('late')], [], NO_NEEDS);
  await until('it has subscribed', () => lines.includes('ok'));
  assert.equal(lines.filter((line) => line.includes('deliver')).length, 0);
});
