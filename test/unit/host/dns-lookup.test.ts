// The engine's resolver, with questions answered by the test: forms of records, statuses, limits.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ManualClock } from '../../../engine/core/clock.ts';
import { DnsLookup, MAX_RUNNING, MAX_WAITING, type Questions } from '../../../engine/host/services/dns-lookup.ts';

const failing = (code: string) => (): Promise<never> => Promise.reject(Object.assign(new Error(code), { code }));

const ANSWERS: Partial<Record<keyof Questions, (name: string) => Promise<unknown>>> = {
  resolve4: () =>
    Promise.resolve([
      { address: '192.0.2.1', ttl: 300 },
      { address: '192.0.2.2', ttl: 60 },
    ]),
  resolve6: () => Promise.resolve([{ address: '2001:db8::1', ttl: 5 }]),
  resolveNs: () => Promise.resolve(['ns1.example']),
  resolveCname: () => Promise.resolve(['real.example']),
  resolvePtr: (name) => Promise.resolve([`ptr of ${name}`]),
  reverse: (name) => Promise.resolve([`reverse of ${name}`]),
  resolveTxt: () => Promise.resolve([['v=spf1 ', '-all'], ['two']]),
  resolveMx: () => Promise.resolve([{ priority: 10, exchange: 'mail.example' }]),
  resolveSrv: () => Promise.resolve([{ priority: 1, weight: 2, port: 179, name: 'bgp.example' }]),
  resolveSoa: () => Promise.resolve({ nsname: 'ns', hostmaster: 'root', serial: 1, refresh: 2, retry: 3, expire: 4, minttl: 5 }),
  resolveNaptr: () =>
    Promise.resolve([{ order: 1, preference: 2, flags: 's', service: 'SIP', regexp: '', replacement: 'r.example' }]),
  resolveCaa: () => Promise.resolve([{ critical: 0, issue: 'ca.example', type: 'CAA' }]),
};

const lookup = (answers: typeof ANSWERS = ANSWERS, clock = new ManualClock()): DnsLookup =>
  new DnsLookup({ clock, questions: () => answers as unknown as Questions });

for (const [type, name, records, ttl] of [
  [1, 'a.example', ['192.0.2.1', '192.0.2.2'], 60],
  [28, 'a.example.', ['2001:db8::1'], 5],
  [2, 'a.example', ['ns1.example'], 0],
  [5, 'a.example', ['real.example'], 0],
  [6, 'a.example', ['ns root 1 2 3 4 5'], 0],
  [12, '1.2.0.192.in-addr.arpa', ['ptr of 1.2.0.192.in-addr.arpa'], 0],
  [12, '2001:db8::1', ['reverse of 2001:db8::1'], 0],
  [15, 'a.example', ['10 mail.example'], 0],
  [16, 'a.example', ['v=spf1 -all', 'two'], 0],
  [33, '_bgp._tcp.a.example', ['1 2 179 bgp.example'], 0],
  [35, 'a.example', ['1 2 "s" "SIP" "" r.example'], 0],
  [257, 'a.example', ['0 issue "ca.example"'], 0],
] as const) {
  test(`type ${type} of ${name}`, async () =>
    assert.deepEqual(await lookup().resolve(name, type), { records: [...records], ttl, status: 'NOERROR' }));
}

for (const [code, status] of [
  ['ENODATA', 'NOERROR'],
  ['ENOTFOUND', 'NXDOMAIN'],
  ['EREFUSED', 'REFUSED'],
  ['ESERVFAIL', 'SERVFAIL'],
  ['ETIMEOUT', 'SERVFAIL'],
  ['ECONNREFUSED', 'SERVFAIL'],
] as const) {
  test(`${code} is ${status}`, async () =>
    assert.deepEqual(await lookup({ resolve4: failing(code) }).resolve('a.example', 1), { records: [], ttl: 0, status }));
}

for (const [name, type, fault] of [
  ['', 1, 'no name given'],
  ['a.example', 0, 'record type 0 is not supported'],
  ['a..example', 1, 'bad name: "a..example"'],
  ['a b', 1, 'bad name: "a b"'],
  [`${'x'.repeat(64)}.example`, 1, `bad name: "${'x'.repeat(64)}"`],
] as const) {
  test(`refused: ${fault}`, async () => assert.equal(await lookup().resolve(name, type), fault));
}

test('a question without an answer is over after 10 s, or when its asker goes', async () => {
  const clock = new ManualClock();
  const silent = lookup({ resolve4: () => new Promise(() => undefined) }, clock);
  const late = silent.resolve('a.example', 1);
  clock.advance(9_999);
  assert.equal(await Promise.race([late, Promise.resolve('waiting')]), 'waiting');
  clock.advance(1);
  assert.deepEqual(await late, { records: [], ttl: 0, status: 'SERVFAIL' });
  const gone = new AbortController();
  const left = silent.resolve('a.example', 1, gone.signal);
  gone.abort();
  assert.deepEqual(await left, { records: [], ttl: 0, status: 'SERVFAIL' });
  assert.equal(clock.pending, 0);
});

test('so many questions run, so many wait, the next is refused; places are taken over', async () => {
  const answers: (() => void)[] = [];
  const held = lookup({ resolve4: () => new Promise((resolve) => answers.push(() => resolve([]))) });
  const all = Array.from({ length: MAX_RUNNING + MAX_WAITING }, () => held.resolve('a.example', 1));
  assert.equal(answers.length, MAX_RUNNING);
  assert.equal(await held.resolve('a.example', 1), 'busy: too many questions wait for the resolver');
  for (let round = 0; round <= MAX_WAITING / MAX_RUNNING; round++) {
    for (const answer of answers.splice(0)) answer();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await Promise.all(all)).length, MAX_RUNNING + MAX_WAITING);
});
