// RFC 4271 §8.2.2 as a table: every state crossed with every event, nothing left out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Effect, Event, State } from '../../../../engine/bgp/session/fsm.ts';
import { step } from '../../../../engine/bgp/session/fsm.ts';

const STATES: readonly State[] = ['idle', 'connect', 'active', 'open-sent', 'open-confirm', 'established'];
const notice = { code: 6, subcode: 2, data: new Uint8Array(0) };

const EVENTS: Readonly<Record<string, Event>> = {
  start: { kind: 'start', passive: false },
  'start passive': { kind: 'start', passive: true },
  stop: { kind: 'stop', notice, reason: 'removed', damp: false },
  'stop damped': { kind: 'stop', notice, reason: 'prefix-limit', damp: true },
  'connect-retry-expired': { kind: 'connect-retry-expired' },
  'open-wait-expired': { kind: 'open-wait-expired' },
  'hold-expired': { kind: 'hold-expired' },
  'keepalive-due': { kind: 'keepalive-due' },
  'send-hold-expired': { kind: 'send-hold-expired' },
  connected: { kind: 'connected' },
  'tcp-failed': { kind: 'tcp-failed', reason: 'tcp-failure' },
  open: { kind: 'open' },
  keepalive: { kind: 'keepalive' },
  update: { kind: 'update' },
  refresh: { kind: 'refresh' },
  fault: { kind: 'fault', notice: { code: 1, subcode: 1, data: new Uint8Array(0) }, reason: 'header-error' },
  notification: { kind: 'notification', code: 3, subcode: 1, reason: 'notification' },
  'notification version': { kind: 'notification', code: 2, subcode: 1, reason: 'notification' },
  'notification cease 2': { kind: 'notification', code: 6, subcode: 2, reason: 'notification' },
  mute: { kind: 'mute' },
  collision: { kind: 'collision', notice: { code: 6, subcode: 7, data: new Uint8Array(0) } },
};

/** Effects in short: `notify 5/3 01` is code, subcode and data, `drop x` and `down x` carry the reason. */
function short(effect: Effect): string {
  switch (effect.kind) {
    case 'arm':
      return `+${effect.timer}`;
    case 'disarm':
      return `-${effect.timer}`;
    case 'notify':
      return `notify ${effect.notice.code}/${effect.notice.subcode}${[...effect.notice.data].map((b) => ` 0${b}`).join('')}`;
    case 'drop':
    case 'down':
      return `${effect.kind} ${effect.reason}`;
    default:
      return effect.kind;
  }
}

const LATE = 'stay';
const GREET = 'open-sent: -connect-retry send-open +open-wait';
/** One row a (state, event); what is not listed stays and does nothing. */
const TABLE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  idle: {
    start: 'connect: +connect-retry dial',
    'start passive': 'active: +connect-retry',
  },
  connect: {
    stop: 'idle: drop removed',
    'stop damped': 'idle: drop prefix-limit damp again',
    'connect-retry-expired': 'connect: drop connect-timeout +connect-retry dial',
    connected: GREET,
    'tcp-failed': 'idle: drop tcp-failure again',
    collision: 'idle: drop collision',
  },
  active: {
    stop: 'idle: drop removed',
    'stop damped': 'idle: drop prefix-limit damp again',
    'connect-retry-expired': 'connect: +connect-retry dial',
    connected: GREET,
    'tcp-failed': 'idle: drop tcp-failure again',
    collision: 'idle: drop collision',
  },
  'open-sent': {
    stop: 'idle: notify 6/2 drop removed',
    'stop damped': 'idle: notify 6/2 drop prefix-limit damp again',
    'open-wait-expired': 'idle: notify 4/0 drop open-wait damp again',
    'send-hold-expired': 'idle: notify 8/0 drop send-hold-timer damp again',
    'tcp-failed': 'idle: drop tcp-failure again',
    open: 'open-confirm: -open-wait send-keepalive +hold +keepalive',
    keepalive: 'idle: notify 5/1 04 drop unexpected-keepalive damp again',
    update: 'idle: notify 5/1 02 drop unexpected-update damp again',
    refresh: 'idle: notify 5/1 05 drop unexpected-refresh damp again',
    fault: 'idle: notify 1/1 drop header-error damp again',
    notification: 'idle: drop notification damp again',
    'notification version': 'idle: drop notification again',
    'notification cease 2': 'idle: drop notification again',
    mute: 'idle: drop malformed-notification damp again',
    collision: 'idle: notify 6/7 drop collision',
  },
  'open-confirm': {
    stop: 'idle: notify 6/2 drop removed',
    'stop damped': 'idle: notify 6/2 drop prefix-limit damp again',
    'hold-expired': 'idle: notify 4/0 drop hold-timer damp again',
    'keepalive-due': 'open-confirm: send-keepalive +keepalive',
    'send-hold-expired': 'idle: notify 8/0 drop send-hold-timer damp again',
    'tcp-failed': 'idle: drop tcp-failure again',
    open: 'idle: notify 5/2 01 drop unexpected-open damp again',
    keepalive: 'established: +hold up',
    update: 'idle: notify 5/2 02 drop unexpected-update damp again',
    refresh: 'idle: notify 5/2 05 drop unexpected-refresh damp again',
    fault: 'idle: notify 1/1 drop header-error damp again',
    notification: 'idle: drop notification damp again',
    'notification version': 'idle: drop notification again',
    'notification cease 2': 'idle: drop notification again',
    mute: 'idle: drop malformed-notification damp again',
    collision: 'idle: notify 6/7 drop collision',
  },
  established: {
    stop: 'idle: notify 6/2 drop removed down removed',
    'stop damped': 'idle: notify 6/2 drop prefix-limit down prefix-limit damp again',
    'hold-expired': 'idle: notify 4/0 drop hold-timer down hold-timer damp again',
    'keepalive-due': 'established: send-keepalive +keepalive',
    'send-hold-expired': 'idle: notify 8/0 drop send-hold-timer down send-hold-timer damp again',
    'tcp-failed': 'idle: drop tcp-failure down tcp-failure again',
    open: 'idle: notify 5/3 01 drop unexpected-open down unexpected-open damp again',
    keepalive: 'established: +hold',
    update: 'established: +hold deliver',
    refresh: 'established: +hold deliver',
    fault: 'idle: notify 1/1 drop header-error down header-error damp again',
    notification: 'idle: drop notification down notification damp again',
    'notification version': 'idle: drop notification down notification again',
    'notification cease 2': 'idle: drop notification down notification again',
    mute: 'idle: drop malformed-notification down malformed-notification damp again',
    collision: 'idle: notify 6/7 drop collision down collision',
  },
};

for (const from of STATES) {
  for (const [name, event] of Object.entries(EVENTS)) {
    const expected = TABLE[from]?.[name] ?? LATE;
    test(`RFC 4271 §8.2.2: ${name} in ${from}`, () => {
      const { to, effects } = step(from, event);
      const seen = to === from && effects.length === 0 ? LATE : `${to}: ${effects.map(short).join(' ')}`;
      assert.equal(seen, expected);
    });
  }
}
