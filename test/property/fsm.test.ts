// The state machine under any sequence of events: what it promises whoever performs its effects.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Event, State, TimerName } from '../../engine/bgp/session/fsm.ts';
import { connected, step } from '../../engine/bgp/session/fsm.ts';

const notice = fc
  .record({ code: fc.integer({ min: 1, max: 8 }), subcode: fc.integer({ min: 0, max: 11 }) })
  .map((one) => ({ ...one, data: new Uint8Array(0) }));
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('start' as const), passive: fc.boolean() }),
  fc.record({ kind: fc.constant('stop' as const), notice, reason: fc.constant('x'), damp: fc.boolean() }),
  fc
    .constantFrom(
      ...([
        'connect-retry-expired',
        'open-wait-expired',
        'hold-expired',
        'keepalive-due',
        'send-hold-expired',
        'connected',
        'mute',
      ] as const),
    )
    .map((kind): Event => ({ kind })),
  // The road to Established, often enough that it is walked.
  fc
    .constantFrom(...(['connected', 'open', 'keepalive', 'keepalive', 'update', 'refresh'] as const))
    .map((kind): Event => ({ kind })),
  fc.record({ kind: fc.constant('tcp-failed' as const), reason: fc.constant('x') }),
  fc.record({ kind: fc.constant('fault' as const), notice, reason: fc.constant('x') }),
  fc.record({ kind: fc.constant('notification' as const), code: fc.nat(8), subcode: fc.nat(11), reason: fc.constant('x') }),
  fc.record({ kind: fc.constant('collision' as const), notice }),
);

/** From Idle to Established without a hitch, so that what may happen there happens often. */
const road: readonly Event[] = [
  { kind: 'start', passive: false },
  { kind: 'connected' },
  { kind: 'open' },
  { kind: 'keepalive' },
];
const story = fc
  .array(fc.oneof({ weight: 4, arbitrary: event.map((one) => [one]) }, { weight: 1, arbitrary: fc.constant(road) }), {
    maxLength: 80,
    size: 'max',
  })
  .map((parts) => parts.flat());

test('up and down alternate, nothing is said without a connection, one NOTIFICATION at most, no timer outlives Idle', () => {
  let established = 0;
  fc.assert(
    fc.property(story, (events) => {
      let state = 'idle' as State;
      let up = false;
      let tcp = false;
      const timers = new Set<TimerName>();
      for (const one of events) {
        // TCP comes up only where somebody waits for it.
        if (one.kind === 'connected') tcp ||= state === 'connect' || state === 'active';
        const before = state;
        const { to, effects } = step(state, one);
        let notices = 0;
        let dropped = false;
        for (const effect of effects) {
          switch (effect.kind) {
            case 'send-open':
            case 'send-keepalive':
              assert(tcp && !dropped, `${effect.kind} without a connection`);
              break;
            case 'notify':
              assert(connected(before) && !dropped && ++notices === 1);
              break;
            case 'drop':
              dropped = true;
              tcp = false;
              timers.clear();
              break;
            case 'dial':
              assert.equal(to, 'connect');
              break;
            case 'up':
              assert(!up && to === 'established');
              up = true;
              established++;
              break;
            case 'down':
              assert(up && before === 'established' && to === 'idle');
              up = false;
              break;
            case 'arm':
              timers.add(effect.timer);
              break;
            case 'disarm':
              timers.delete(effect.timer);
              break;
            case 'deliver':
              assert.equal(before, 'established');
              break;
            case 'damp':
            case 'again':
              assert.equal(to, 'idle');
              break;
          }
        }
        state = to;
        assert.equal(up, state === 'established');
        assert.equal(tcp, connected(state));
        if (state === 'idle') assert.equal(timers.size, 0);
        if (state === 'open-sent') assert(timers.has('open-wait'));
        if (state === 'open-confirm' || state === 'established')
          assert(timers.has('hold') && timers.has('keepalive') && !timers.has('open-wait'));
      }
    }),
    { numRuns: 300 },
  );
  assert(established > 20, `the road to Established was walked ${established} times`);
});
