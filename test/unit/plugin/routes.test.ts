import assert from 'node:assert/strict';
import test from 'node:test';
import { attributeText, type RouteAttributes, type RouteDone, RouteSender } from '../../../sdk/plugin/index.ts';

const texts: readonly (readonly [attributes: RouteAttributes, text: string])[] = [
  [{ nextHop: 'self' }, 'next-hop self'],
  [
    {
      nextHop: '192.0.2.1',
      origin: 'igp',
      asPath: [65001, 65002],
      med: 0,
      localPreference: 200,
      communities: ['65001:1', 'no-export'],
      largeCommunities: ['1:2:3'],
      extendedCommunities: ['target:65001:9'],
    },
    'next-hop 192.0.2.1 origin igp as-path [65001 65002] med 0 local-preference 200 community [65001:1 no-export] large-community [1:2:3] extended-community [target:65001:9]',
  ],
];
for (const [attributes, text] of texts) {
  test(`writes ${text.slice(0, 40)}`, () => assert.equal(attributeText(attributes), text));
}

test('a value that is no word is refused', () => {
  for (const nextHop of ['', 'a b', '1]', 'x"y', 'a\nb', 'a,b'])
    assert.throws(() => attributeText({ nextHop }), TypeError, nextHop);
  assert.throws(() => attributeText({ nextHop: 'self', communities: ['1:1] nlri'] }), TypeError);
});

interface Target {
  readonly commands: string[];
  readonly waiting: (() => void)[];
  sendRoute(selector: string, command: string, done: RouteDone): void;
}

function target(fail: (command: string) => boolean = () => false): Target {
  const commands: string[] = [];
  const waiting: (() => void)[] = [];
  return {
    commands,
    waiting,
    sendRoute(selector, command, done) {
      commands.push(`${selector} ${command}`);
      waiting.push(() => {
        const prefixes = command.split('/').length - 2;
        const announced = command.includes(' add ') ? prefixes : 0;
        if (fail(command)) done.refused(new Error('refused'));
        else done.accepted({ announced, withdrawn: prefixes - announced, peersAffected: 1, routesSent: prefixes });
      });
    },
  };
}

const answerAll = (peer: Target): void => {
  for (const answer of peer.waiting.splice(0)) answer();
};

test('prefixes with equal attributes share commands, of two changes to one prefix the later counts', async () => {
  const peer = target();
  const routes = new RouteSender(peer, { selector: 'edge', prefixesPerCommand: 2 });
  const a: RouteAttributes = { nextHop: 'self' };
  routes.announce('ipv4/unicast', '10.0.0.0/24', a);
  routes.announce('ipv4/unicast', '10.0.1.0/24', { nextHop: '192.0.2.1' });
  routes.announce('ipv4/unicast', '10.0.2.0/24', a);
  routes.announce('ipv4/unicast', '10.0.3.0/24', 'next-hop self');
  routes.withdraw('ipv4/unicast', '10.0.4.0/24');
  routes.announce('ipv6/unicast', '2001:db8::/32', a);
  routes.announce('ipv4/unicast', '10.0.5.0/24', a);
  routes.withdraw('ipv4/unicast', '10.0.5.0/24');
  const done = routes.finish();
  assert.deepEqual(peer.commands, [
    'edge update text next-hop self nlri ipv4/unicast add 10.0.0.0/24 10.0.2.0/24',
    'edge update text next-hop self nlri ipv4/unicast add 10.0.3.0/24',
    'edge update text next-hop 192.0.2.1 nlri ipv4/unicast add 10.0.1.0/24',
    'edge update text nlri ipv4/unicast del 10.0.4.0/24 10.0.5.0/24',
    'edge update text next-hop self nlri ipv6/unicast add 2001:db8::/32',
  ]);
  answerAll(peer);
  const sent = await done;
  assert.deepEqual({ ...sent, routesSent: 0 }, { announced: 5, withdrawn: 2, routesSent: 0, failed: 0, faults: [] });
});

test('paths of one prefix are routes of their own', async () => {
  const peer = target();
  const routes = new RouteSender(peer);
  routes.announce('ipv4/unicast', '10.0.0.0/24', { nextHop: 'self', pathId: 1 });
  routes.announce('ipv4/unicast', '10.0.0.0/24', { nextHop: 'self', pathId: 4_294_967_295 });
  routes.withdraw('ipv4/unicast', '10.0.0.0/24', 7);
  const done = routes.finish();
  assert.deepEqual(peer.commands, [
    '* update text next-hop self path-information 1 nlri ipv4/unicast add 10.0.0.0/24',
    '* update text next-hop self path-information 4294967295 nlri ipv4/unicast add 10.0.0.0/24',
    '* update text nlri ipv4/unicast path-information 7 del 10.0.0.0/24',
  ]);
  answerAll(peer);
  await done;
  for (const pathId of [-1, 1.5, 4_294_967_296]) {
    assert.throws(() => routes.announce('ipv4/unicast', '10.0.0.0/24', { nextHop: 'self', pathId }), TypeError);
    assert.throws(() => routes.withdraw('ipv4/unicast', '10.0.0.0/24', pathId), TypeError);
  }
});

test('what one turn gathers leaves at its end', async () => {
  const peer = target();
  const routes = new RouteSender(peer);
  routes.announce('ipv4/unicast', '10.0.0.0/24', { nextHop: 'self' });
  assert.deepEqual(peer.commands, []);
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.deepEqual(peer.commands, ['* update text next-hop self nlri ipv4/unicast add 10.0.0.0/24']);
});

test('the window holds back, faults are counted', async () => {
  const peer = target((command) => command.includes('10.0.1.'));
  const routes = new RouteSender(peer, { windowBytes: 100, prefixesPerCommand: 1 });
  for (let i = 0; i < 4; i++) routes.announce('ipv4/unicast', `10.0.${i}.0/24`, { nextHop: 'self' });
  await new Promise((resolve) => setTimeout(resolve, 0));
  let ready = false;
  const wait = routes.ready().then(() => (ready = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(ready, false);
  answerAll(peer);
  await wait;
  const sent = await routes.finish();
  assert.deepEqual([sent.announced, sent.failed, String(sent.faults[0])], [3, 1, 'Error: refused']);
  assert.deepEqual((await routes.finish()).announced, 0);
});

test('a prefix that is none is refused', () => {
  const routes = new RouteSender(target());
  for (const prefix of ['10.0.0.0', '10.0.0.0/24 nlri', 'x/8', '10.0.0.0/24\n']) {
    assert.throws(() => routes.announce('ipv4/unicast', prefix, { nextHop: 'self' }), TypeError, prefix);
    assert.throws(() => routes.withdraw('ipv4/unicast', prefix), TypeError, prefix);
  }
  assert.throws(() => routes.withdraw('ipv4 unicast', '10.0.0.0/8'), TypeError);
});
