import assert from 'node:assert/strict';
import test from 'node:test';
import type { Report } from '../../../engine/bgp/port.ts';
import { ReportBus } from '../../../engine/bus/reports.ts';

const report = (more: Partial<Report>): Report => ({
  severity: 'warning',
  code: 'prefix-threshold',
  source: 'bgp',
  subject: '192.0.2.1/ipv4/unicast',
  message: 'm',
  ...more,
});

test('a warning is raised once, updated while it lasts, and clears', () => {
  let now = 0;
  const bus = new ReportBus(() => now);
  const heard: string[] = [];
  bus.listen((entry, cleared) => {
    heard.push(`${entry.code} ${cleared}`);
  });
  bus.report(report({}));
  now = 5000;
  bus.report(report({ message: 'again' }));
  bus.report(report({ subject: 'other' }));
  assert.deepEqual(
    bus.warnings().map(({ subject, message, raised, updated }) => ({ subject, message, raised, updated })),
    [
      {
        subject: '192.0.2.1/ipv4/unicast',
        message: 'again',
        raised: '1970-01-01T00:00:00.000Z',
        updated: '1970-01-01T00:00:05.000Z',
      },
      { subject: 'other', message: 'm', raised: '1970-01-01T00:00:05.000Z', updated: '1970-01-01T00:00:05.000Z' },
    ],
  );
  bus.report(report({ clear: true }));
  bus.report(report({ clear: true }));
  assert.deepEqual(
    bus.warnings().map((entry) => entry.subject),
    ['other'],
  );
  assert.deepEqual(heard, [
    'prefix-threshold false',
    'prefix-threshold false',
    'prefix-threshold false',
    'prefix-threshold true',
  ]);
});

test('errors are a ring: at its limit the oldest goes', () => {
  const bus = new ReportBus(() => 0, { errors: 3, warnings: 2 });
  for (let i = 1; i <= 3; i++) bus.report(report({ severity: 'error', code: 'session-dropped', subject: `${i}` }));
  assert.equal(bus.errors().length, 3);
  assert.equal(bus.forgotten, 0);
  bus.report(report({ severity: 'error', code: 'session-dropped', subject: '4' }));
  assert.deepEqual(
    bus.errors().map((entry) => entry.subject),
    ['2', '3', '4'],
  );
  assert.equal(bus.forgotten, 1);
});

test('warnings past their limit push out the one updated longest ago', () => {
  const bus = new ReportBus(() => 0, { errors: 1, warnings: 2 });
  for (const subject of ['a', 'b', 'a', 'c']) bus.report(report({ subject }));
  assert.deepEqual(
    bus.warnings().map((entry) => entry.subject),
    ['a', 'c'],
  );
});

test('code and subject cannot be confused by what they hold', () => {
  const bus = new ReportBus(() => 0);
  bus.report(report({ code: 'a', subject: 'b","c' }));
  bus.report(report({ code: 'a","b', subject: 'c' }));
  assert.equal(bus.warnings().length, 2);
});
