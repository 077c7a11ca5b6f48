/**
 * The BGP finite state machine of one connection (RFC 4271 §8.2.2) as a value: no socket, no timer, no clock. `peer.ts` turns
 * what happened into an event, applies `step`, and performs the effects in order.
 *
 * A neighbour normally has one machine; while two TCP connections exist (§6.8) it has two. DelayOpen, TrackTcpState and the
 * confederation of optional session attributes are left out (§8.2.1.3 allows it). Where we leave the RFC: a connection that
 * fails in OpenSent goes to Idle, not Active, so that every end of a TCP connection takes the same road back.
 */

export type State = 'idle' | 'connect' | 'active' | 'open-sent' | 'open-confirm' | 'established';

/** NOTIFICATION to be sent: `data` is owned by the event. */
export interface Notice {
  readonly code: number;
  readonly subcode: number;
  readonly data: Uint8Array;
}

/** Messages that a state may find out of place. */
export type MessageKind = 'open' | 'update' | 'refresh' | 'keepalive';

export type Event =
  /** Events 1, 3–7: begin; passive waits for the peer to connect. */
  | { readonly kind: 'start'; readonly passive: boolean }
  /** Events 2 and 8: the operator, the config or a limit ends the session; the notice is a Cease. `damp` counts it as an error. */
  | { readonly kind: 'stop'; readonly notice: Notice; readonly reason: string; readonly damp: boolean }
  /** Event 9 */
  | { readonly kind: 'connect-retry-expired' }
  /** The OPEN did not come in time: event 10 while the large hold value runs. */
  | { readonly kind: 'open-wait-expired' }
  /** Event 10 */
  | { readonly kind: 'hold-expired' }
  /** Event 11 */
  | { readonly kind: 'keepalive-due' }
  /** RFC 9687: nothing could be written for too long. */
  | { readonly kind: 'send-hold-expired' }
  /** Events 16 and 17 */
  | { readonly kind: 'connected' }
  /** Event 18 */
  | { readonly kind: 'tcp-failed'; readonly reason: string }
  /** Event 19: a good OPEN that negotiated, and any collision is already settled in this connection's favour. */
  | { readonly kind: 'open' }
  /** Event 26 */
  | { readonly kind: 'keepalive' }
  /** Event 27 */
  | { readonly kind: 'update' }
  /** RFC 2918 */
  | { readonly kind: 'refresh' }
  /** Events 21, 22, 28 and RFC 7313 §5: the peer sent something malformed or refused. */
  | { readonly kind: 'fault'; readonly notice: Notice; readonly reason: string }
  /** Events 24 and 25. `code` 2, `subcode` 1 is the version error. */
  | { readonly kind: 'notification'; readonly code: number; readonly subcode: number; readonly reason: string }
  /** A NOTIFICATION that is itself malformed: closed without a word (RFC 4271 §6.4). */
  | { readonly kind: 'mute' }
  /** Event 23 */
  | { readonly kind: 'collision'; readonly notice: Notice };

export type TimerName = 'connect-retry' | 'open-wait' | 'hold' | 'keepalive';

export type Effect =
  | { readonly kind: 'dial' }
  /** Start or restart from its initial value. A zero hold time arms nothing. */
  | { readonly kind: 'arm'; readonly timer: TimerName }
  | { readonly kind: 'disarm'; readonly timer: TimerName }
  | { readonly kind: 'send-open' }
  | { readonly kind: 'send-keepalive' }
  | { readonly kind: 'notify'; readonly notice: Notice }
  /** Routes, timers and the TCP connection of this machine go; `reason` is what the operator reads. */
  | { readonly kind: 'drop'; readonly reason: string }
  /** ConnectRetryCounter and peer oscillation damping: the next start is held back. */
  | { readonly kind: 'damp' }
  /** Start again by itself after the retry or damping time. Absent after an operator's stop. */
  | { readonly kind: 'again' }
  | { readonly kind: 'up' }
  | { readonly kind: 'down'; readonly reason: string }
  /** The message may be processed. */
  | { readonly kind: 'deliver' };

export interface Step {
  readonly to: State;
  readonly effects: readonly Effect[];
}

const FSM_ERROR = 5;
const HOLD_TIMER_EXPIRED = 4;
const SEND_HOLD_TIMER_EXPIRED = 8;
const NOTHING: readonly Effect[] = [];
const NO_DATA = new Uint8Array(0);

/** Steps that need no data of their event are made once: the established ones run per message. */
const STAY: Readonly<Record<State, Step>> = {
  idle: { to: 'idle', effects: NOTHING },
  connect: { to: 'connect', effects: NOTHING },
  active: { to: 'active', effects: NOTHING },
  'open-sent': { to: 'open-sent', effects: NOTHING },
  'open-confirm': { to: 'open-confirm', effects: NOTHING },
  established: { to: 'established', effects: NOTHING },
};
const ALIVE: Step = { to: 'established', effects: [{ kind: 'arm', timer: 'hold' }] };
const DELIVER: Step = { to: 'established', effects: [{ kind: 'arm', timer: 'hold' }, { kind: 'deliver' }] };
const BEAT: readonly Effect[] = [{ kind: 'send-keepalive' }, { kind: 'arm', timer: 'keepalive' }];
const DIAL: Step = { to: 'connect', effects: [{ kind: 'arm', timer: 'connect-retry' }, { kind: 'dial' }] };
const LISTEN: Step = { to: 'active', effects: [{ kind: 'arm', timer: 'connect-retry' }] };
const GREET: Step = {
  to: 'open-sent',
  effects: [{ kind: 'disarm', timer: 'connect-retry' }, { kind: 'send-open' }, { kind: 'arm', timer: 'open-wait' }],
};
const CONFIRM: Step = {
  to: 'open-confirm',
  effects: [
    { kind: 'disarm', timer: 'open-wait' },
    { kind: 'send-keepalive' },
    { kind: 'arm', timer: 'hold' },
    { kind: 'arm', timer: 'keepalive' },
  ],
};
const ESTABLISH: Step = { to: 'established', effects: [{ kind: 'arm', timer: 'hold' }, { kind: 'up' }] };

/** True where a TCP connection carries the machine and the peer may be spoken to. */
export function connected(state: State): boolean {
  return state === 'open-sent' || state === 'open-confirm' || state === 'established';
}

const ORDER: readonly State[] = ['idle', 'active', 'connect', 'open-sent', 'open-confirm', 'established'];

/** Of two connections' states the one the operator sees. */
export function furthest(a: State, b: State): State {
  return ORDER.indexOf(b) > ORDER.indexOf(a) ? b : a;
}

/** What `event` does in state `from`. Total: every pair has an answer, and no answer keeps anything of `from` alive twice. */
export function step(from: State, event: Event): Step {
  switch (event.kind) {
    case 'start':
      return from !== 'idle' ? STAY[from] : event.passive ? LISTEN : DIAL;
    case 'stop':
      return from === 'idle' ? STAY.idle : end(from, event.reason, event.notice, event.damp ? ['damp', 'again'] : []);
    case 'connect-retry-expired':
      return from === 'connect' || from === 'active' ? redial(from) : STAY[from];
    case 'open-wait-expired':
      return from === 'open-sent' ? end(from, 'open-wait', notice(HOLD_TIMER_EXPIRED, 0), ['damp', 'again']) : STAY[from];
    case 'hold-expired':
      return from === 'open-confirm' || from === 'established'
        ? end(from, 'hold-timer', notice(HOLD_TIMER_EXPIRED, 0), ['damp', 'again'])
        : STAY[from];
    case 'keepalive-due':
      return from === 'open-confirm' || from === 'established' ? { to: from, effects: BEAT } : STAY[from];
    case 'send-hold-expired':
      return connected(from) ? end(from, 'send-hold-timer', notice(SEND_HOLD_TIMER_EXPIRED, 0), ['damp', 'again']) : STAY[from];
    case 'connected':
      return from === 'connect' || from === 'active' ? GREET : STAY[from];
    case 'tcp-failed':
      return from === 'idle' ? STAY.idle : end(from, event.reason, undefined, ['again']);
    case 'open':
      return from === 'open-sent' ? CONFIRM : outOfPlace(from, 'open');
    case 'keepalive':
      return from === 'established' ? ALIVE : from === 'open-confirm' ? ESTABLISH : outOfPlace(from, 'keepalive');
    case 'update':
      return from === 'established' ? DELIVER : outOfPlace(from, 'update');
    case 'refresh':
      return from === 'established' ? DELIVER : outOfPlace(from, 'refresh');
    case 'fault':
      return connected(from) ? end(from, event.reason, event.notice, ['damp', 'again']) : STAY[from];
    case 'notification':
      return connected(from) ? end(from, event.reason, undefined, forgives(event) ? ['again'] : ['damp', 'again']) : STAY[from];
    case 'mute':
      return connected(from) ? end(from, 'malformed-notification', undefined, ['damp', 'again']) : STAY[from];
    case 'collision':
      // The other connection carries the peer on: nothing is damped and nothing starts again.
      return connected(from)
        ? end(from, 'collision', event.notice, [])
        : from === 'idle'
          ? STAY.idle
          : end(from, 'collision', undefined, []);
  }
}

/** Numbers of the messages on the wire, which RFC 6608 §4 puts into the data of an FSM error. */
const MESSAGE_NUMBERS: Readonly<Record<MessageKind, number>> = { open: 1, update: 2, keepalive: 4, refresh: 5 };

/** RFC 6608: the subcode names the state, the data the unexpected message. */
function outOfPlace(from: State, message: MessageKind): Step {
  const subcode = from === 'open-sent' ? 1 : from === 'open-confirm' ? 2 : from === 'established' ? 3 : 0;
  if (subcode === 0) return STAY[from];
  const data = Uint8Array.of(MESSAGE_NUMBERS[message]);
  return end(from, `unexpected-${message}`, { code: FSM_ERROR, subcode, data }, ['damp', 'again']);
}

/** Event 9: the attempt under way, if any, is given up for a new one. */
function redial(from: State): Step {
  return from === 'active' ? DIAL : { to: 'connect', effects: [{ kind: 'drop', reason: 'connect-timeout' }, ...DIAL.effects] };
}

/** To Idle from anywhere: say why, let go, tell those who knew the session. */
function end(from: State, reason: string, word: Notice | undefined, then: readonly ('damp' | 'again')[]): Step {
  const effects: Effect[] = [];
  if (word !== undefined && connected(from)) effects.push({ kind: 'notify', notice: word });
  effects.push({ kind: 'drop', reason });
  if (from === 'established') effects.push({ kind: 'down', reason });
  for (const kind of then) effects.push({ kind });
  return { to: 'idle', effects };
}

/**
 * A peer that ends the session by an administrative Cease, or cannot speak our version, has not misbehaved: it is not damped
 * (RFC 4271 event 24; RFC 4486 subcodes 2–4, 6, 7).
 */
function forgives(event: { readonly code: number; readonly subcode: number }): boolean {
  return (event.code === 2 && event.subcode === 1) || (event.code === 6 && event.subcode !== 1 && event.subcode !== 8);
}

function notice(code: number, subcode: number): Notice {
  return { code, subcode, data: NO_DATA };
}
