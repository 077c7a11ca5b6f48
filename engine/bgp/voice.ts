/** What the reactor says to people: reports for the operator, lines for the log. What a flood would repeat is said once in a while. */
import type { Clock } from '../core/clock.ts';
import type { Peer } from './session/peer.ts';
import type { LogRecord, ReactorSink } from './port.ts';

/** ms between reports of one kind that a stranger or a full table could cause without end. */
const WINDOW = 10_000;

export class Voice {
  readonly #sink: ReactorSink;
  readonly #clock: Clock;
  #strangerAt = -Infinity;
  #strangersUntold = 0;
  #withheldAt = -Infinity;

  constructor(sink: ReactorSink, clock: Clock) {
    this.#sink = sink;
    this.#clock = clock;
  }

  report(
    severity: 'warning' | 'error',
    code: string,
    subject: string,
    message: string,
    detail?: Readonly<Record<string, unknown>>,
  ): void {
    this.#sink.report({ severity, code, source: 'bgp', subject, message, detail });
  }

  /** Takes a warning back. */
  clear(code: string, subject: string): void {
    this.#sink.report({ severity: 'warning', code, source: 'bgp', subject, message: '', clear: true });
  }

  log(level: LogRecord['level'], message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#sink.log({ level, subsystem: 'bgp.reactor', message, fields });
  }

  /** A connection from an address no peer has: a flood of them must not push everything else out of the list of errors. */
  stranger(remote: string): void {
    const now = this.#clock.now();
    if (now - this.#strangerAt < WINDOW) {
      this.#strangersUntold++;
      return;
    }
    const untold = this.#strangersUntold;
    this.#strangerAt = now;
    this.#strangersUntold = 0;
    this.report('error', 'connection-refused', remote, 'no peer has this address', { 'refused-before': untold });
  }

  listening(where: string, fault: string | undefined): void {
    if (fault !== undefined) {
      this.report('warning', 'listener', where, fault);
      return;
    }
    this.clear('listener', where);
    this.log('info', 'listening', { where });
  }

  congestion(peer: Peer, congested: boolean): void {
    const { remoteAddress } = peer.settings;
    const message = 'takes too little of what it is sent: the others are held back until it does, or it is given up';
    if (congested) this.report('warning', 'peer-congested', remoteAddress, message);
    else this.clear('peer-congested', remoteAddress);
  }

  /** Of a full table there may be many: one report in a while, the others are counted (`withheld` in the statistics). */
  withheld(peers: Iterable<Peer>, source: number): void {
    const now = this.#clock.now();
    if (now - this.#withheldAt < WINDOW) return;
    this.#withheldAt = now;
    for (const peer of peers) {
      if (peer.index === source) continue;
      const message = 'a route is withheld: no message of the allowed size holds it, or its next hop cannot be said';
      this.report('error', 'route-withheld', peer.settings.remoteAddress, message);
    }
  }
}
