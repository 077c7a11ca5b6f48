/**
 * The filter step that asks the other side (`ReactorSink.question`): a copy of the UPDATE's body goes, an answer comes. A body that
 * comes in its place is judged like one from the wire before anybody uses it; what RFC 7606 would withdraw or reset is no route, so
 * such an answer counts as a rejection, and is reported.
 */
import { MP_REACH_NLRI, MP_UNREACH_NLRI } from '../../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../../sdk/wire/attribute/cursor.ts';
import { viewOf } from '../../../sdk/wire/bytes.ts';
import type { WireContext } from '../../../sdk/wire/context.ts';
import { NO_FAMILY } from '../../../sdk/wire/family.ts';
import { BAD_NEXT_HOP, outcomeName, reasonText, RESET, WITHDRAW } from '../../../sdk/wire/fault.ts';
import { HEADER_LENGTH, UPDATE, writeHeader } from '../../../sdk/wire/message.ts';
import { CEASE, CONNECTION_REJECTED, notification } from '../../../sdk/wire/notification.ts';
import { UpdateView } from '../../../sdk/wire/update.ts';
import { cease } from '../session/cease.ts';
import type { Notice } from '../session/fsm.ts';
import type { Peer } from '../session/peer.ts';
import { copyOf } from './pipeline.ts';
import type { FilterStep, Passage, Verdict } from './pipeline.ts';
import type { ReactorAnswer, ReactorQuestion } from '../port.ts';
import { identityOf } from '../snapshot.ts';

const ACCEPT: Verdict = { kind: 'accept' };
const REJECT: Verdict = { kind: 'reject' };

export interface QuestionHost {
  /** Never rejects. */
  ask(question: ReactorQuestion): Promise<ReactorAnswer>;
  /** A replacement was no good. */
  badReplacement(peer: Peer, direction: 'import' | 'export', reason: string): void;
}

export class FilterQuestion implements FilterStep {
  readonly name: string;
  readonly #peer: Peer;
  readonly #direction: 'import' | 'export';
  readonly #filters: readonly string[];
  /** How a replacement is read. */
  readonly #context: WireContext;
  readonly #host: QuestionHost;

  constructor(peer: Peer, direction: 'import' | 'export', filters: readonly string[], context: WireContext, host: QuestionHost) {
    this.name = `${direction} filters`;
    this.#peer = peer;
    this.#direction = direction;
    this.#filters = filters;
    this.#context = context;
    this.#host = host;
  }

  run({ bytes, at, length }: Passage): Promise<Verdict> {
    const peer = this.#peer;
    const direction = this.#direction;
    const { asn4, addPathFamilies: addPath, maxMessage } = this.#context;
    return this.#host
      .ask({
        kind: 'filter',
        direction,
        peer: identityOf(peer),
        filters: this.#filters,
        body: copyOf(bytes, at + HEADER_LENGTH, length - HEADER_LENGTH),
        asn4,
        addPath,
        maxBody: maxMessage - HEADER_LENGTH,
      })
      .then((answer) => this.#verdict(answer));
  }

  #verdict(answer: ReactorAnswer): Verdict {
    switch (answer.kind) {
      case 'accept':
        return ACCEPT;
      case 'reject':
        return REJECT;
      case 'replace':
        return this.#replacement(answer.body);
      case 'teardown':
        if (this.#direction === 'export') return REJECT;
        return { kind: 'teardown', notice: noticeOf(answer), reason: answer.reason === '' ? 'filter' : answer.reason };
    }
  }

  #replacement(body: Uint8Array): Verdict {
    const length = HEADER_LENGTH + body.length;
    if (length > this.#context.maxMessage) return this.#refuse(`${length} octets fit no message`);
    const message = new Uint8Array(length);
    message.set(body, writeHeader(message, 0, length, UPDATE));
    const view = new UpdateView();
    const outcome = view.read(message, viewOf(message), 0, length, this.#context);
    if (outcome === RESET || (outcome === WITHDRAW && !this.#sayable(view))) return this.#refuse(faultText(view));
    if (view.endOfRib !== NO_FAMILY) return REJECT;
    return { kind: 'replace', message: view.faults.total === 0 && !ignores(view) ? message : cleaned(view) };
  }

  /** On the way out a next hop may be one that we would not take ourselves, as without filters. */
  #sayable(view: UpdateView): boolean {
    if (this.#direction === 'import') return false;
    for (let i = 0; i < view.faults.count; i++) {
      if (view.faults.approach(i) === WITHDRAW && view.faults.reason(i) !== BAD_NEXT_HOP) return false;
    }
    return true;
  }

  #refuse(reason: string): Verdict {
    this.#host.badReplacement(this.#peer, this.#direction, reason);
    return REJECT;
  }
}

/** The NOTIFICATION an answer asks for: Cease / Connection Rejected when it names none; words only where RFC 9003 has a place for them. */
export function noticeOf(answer: { readonly code: number; readonly subcode: number; readonly reason: string }): Notice {
  if (answer.code === 0) return cease(CONNECTION_REJECTED);
  return answer.code === CEASE ? cease(answer.subcode, answer.reason) : notification(answer.code, answer.subcode);
}

/** Something is announced or withdrawn in a negotiated family: there is something to ask about. */
export function speaks(view: UpdateView): boolean {
  return (
    (view.withdrawnLength + view.nlriLength > 0 && !view.classicIgnored) ||
    (view.reachLength > 0 && !view.reachIgnored) ||
    (view.unreachLength > 0 && !view.unreachIgnored)
  );
}

/** The message holds NLRI that nobody is to look at. */
export function ignores(view: UpdateView): boolean {
  return (
    (view.classicIgnored && view.withdrawnLength + view.nlriLength > 0) ||
    (view.reachIgnored && view.reachFamily !== NO_FAMILY) ||
    (view.unreachIgnored && view.unreachFamily !== NO_FAMILY)
  );
}

/** A validated message without what was discarded or is to be ignored: what its view says, as bytes. */
export function cleaned(view: UpdateView): Uint8Array {
  const { bytes, block } = view;
  const out = new Uint8Array(view.length);
  let at = HEADER_LENGTH;
  const put = (from: Uint8Array, start: number, length: number): void => {
    out.set(from.subarray(start, start + length), at);
    at += length;
  };
  const section = (write: () => void): void => {
    const start = at;
    at += 2;
    write();
    out[start] = (at - start - 2) >>> 8;
    out[start + 1] = (at - start - 2) & 0xff;
  };
  section(() => {
    if (!view.classicIgnored) put(bytes, view.withdrawnAt, view.withdrawnLength);
  });
  section(() => {
    const cursor = new AttributeCursor().over(view.view, view.attributesAt, view.attributesLength);
    while (cursor.next()) {
      const kept = cursor.code === MP_REACH_NLRI ? !view.reachIgnored : cursor.code === MP_UNREACH_NLRI && !view.unreachIgnored;
      if (kept) put(bytes, cursor.startAt, cursor.at - cursor.startAt);
    }
    put(block.bytes, block.at, block.length);
  });
  if (!view.classicIgnored) put(bytes, view.nlriAt, view.nlriLength);
  writeHeader(out, 0, at, UPDATE);
  return out.subarray(0, at);
}

function faultText(view: UpdateView): string {
  for (let i = 0; i < view.faults.count; i++) {
    if (view.faults.approach(i) !== view.outcome) continue;
    return `attribute ${view.faults.code(i)}: ${reasonText(view.faults.reason(i))}, ${outcomeName(view.outcome)}`;
  }
  return `malformed, ${outcomeName(view.outcome)}`;
}
