/**
 * Processes that say when a session has its first routes (plugin-lifecycle §5, `signals-session-ready`). Each session whose peer lets
 * some of them announce gets a token, which its up event carries; a report counts for the session whose token it names.
 */
import type { Peer } from '../session/peer.ts';
import type { ProcessBinding } from '../port.ts';

interface Awaiting {
  readonly token: number;
  /** Who was waited for, and who has not reported. */
  readonly asked: ReadonlySet<string>;
  readonly left: Set<string>;
}

export class Announcers {
  #names: ReadonlySet<string> = new Set();
  readonly #sessions = new Map<Peer, Awaiting>();
  #lastToken = 0;

  /** The session came up: the token of its up event, 0 when nobody is waited for. */
  begin(peer: Peer): number {
    const asked = new Set(peer.settings.processes.filter((one) => this.#announces(one)).map((one) => one.process));
    if (asked.size === 0) return 0;
    const token = ++this.#lastToken;
    this.#sessions.set(peer, { token, asked, left: new Set(asked) });
    return token;
  }

  end(peer: Peer): void {
    this.#sessions.delete(peer);
  }

  /** Somebody has not reported yet. */
  awaits(peer: Peer): boolean {
    return (this.#sessions.get(peer)?.left.size ?? 0) > 0;
  }

  /** Text when the report is for no session there is. */
  report(peer: Peer, process: string, token: string): string | undefined {
    const session = this.#sessions.get(peer);
    if (token === '')
      return session?.asked.has(process) === true ? 'the token of the up event (initial-replay) is missing' : undefined;
    if (session === undefined) return stale(token, 'no session of this peer that is reported on is up');
    if (token !== String(session.token))
      return stale(token, 'the last up event of the peer (initial-replay) has the one that counts');
    session.left.delete(process);
    return undefined;
  }

  /** Time is up: who was waited for in vain. */
  giveUp(peer: Peer): readonly string[] {
    const left = this.#sessions.get(peer)?.left;
    const names = [...(left ?? [])];
    left?.clear();
    return names;
  }

  /** Who reports from now on. Those that no longer do are waited for no longer: returns the peers that concerns. */
  set(names: ReadonlySet<string>): readonly Peer[] {
    this.#names = names;
    const freed: Peer[] = [];
    for (const [peer, { left }] of this.#sessions) {
      if (left.size === 0) continue;
      for (const name of left) if (!names.has(name)) left.delete(name);
      if (left.size === 0) freed.push(peer);
    }
    return freed;
  }

  #announces({ process, send, receive }: ProcessBinding): boolean {
    return this.#names.has(process) && receive.includes('state') && (send.includes('update') || send.includes('raw'));
  }
}

function stale(token: string, why: string): string {
  return `no session has the token ${token.slice(0, 32)} now: ${why}`;
}
