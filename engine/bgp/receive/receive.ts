/**
 * The way of a received UPDATE: located in place, judged (RFC 7606) unless its attributes are known to be good, checked for
 * loops, passed through the peer's filter steps, given an id, kept for those who forward by id, shown to the plugins of the route
 * path, counted against the prefix limits, told to the bus. Each message either goes the whole way or says why not.
 */
import type { WireContext } from '../../../sdk/wire/context.ts';
import { familyName } from '../../../sdk/wire/family.ts';
import { DISCARD, OK, RESET, UPDATE_MESSAGE_ERROR, WITHDRAW, outcomeName, reasonText } from '../../../sdk/wire/fault.ts';
import type { Outcome } from '../../../sdk/wire/fault.ts';
import { toHex, viewOf } from '../../../sdk/wire/bytes.ts';
import { IPV4_UNICAST, NO_FAMILY } from '../../../sdk/wire/family.ts';
import { notification } from '../../../sdk/wire/notification.ts';
import { UpdateView } from '../../../sdk/wire/update.ts';
import { Announced, withdrawalsOf } from '../filter/announced.ts';
import { ceasePrefixes } from '../session/cease.ts';
import { cleaned, ignores, speaks } from '../filter/filter-question.ts';
import { KnownBlocks } from './known-blocks.ts';
import { LoopCheck } from './loop-check.ts';
import type { Self } from './loop-check.ts';
import type { Peer } from '../session/peer.ts';
import { HELD_BY_PIPELINE } from '../session/peer.ts';
import { Pipeline } from '../filter/pipeline.ts';
import type { Changes, FilterStep } from '../filter/pipeline.ts';
import { PrefixLimits } from './prefix-limit.ts';
import type { Notice } from '../session/fsm.ts';

/** Beside the codec's facts of a block: our AS or cluster is in it. */
const LOOPS = 1 << 16;
/** Bytes of a malformed message that its report shows. */
const REPORT_BYTES = 4096;
/** Reports of malformed messages a peer may cause in `REPORT_WINDOW` ms; the rest is counted. */
const REPORT_LIMIT = 10;
const REPORT_WINDOW = 10_000;

export interface ReceiveHost {
  readonly area: { readonly bytes: Uint8Array; readonly view: DataView };
  now(): number;
  nextMessageId(): number;
  self(peer: Peer): Self;
  /** How messages are read once filters of ours had them. */
  filtered(peer: Peer): WireContext;
  steps(peer: Peer): readonly FilterStep[];
  /** Whoever keeps routes and can count them; undefined: nobody does. */
  counter(): ((peer: number, family: number) => number) | undefined;
  /** The view is positioned on an accepted message. */
  accepted(peer: Peer, id: number, view: UpdateView, treatAsWithdraw: boolean): void;
  endOfRib(peer: Peer, family: number): void;
  /** For the cache and the bus: a whole message as it counts. `id` 0: none yet, take one. */
  publish(peer: Peer, context: WireContext, id: number, bytes: Uint8Array, at: number, length: number): void;
  wantsPublish(): boolean;
  report(
    severity: 'warning' | 'error',
    code: string,
    peer: Peer,
    message: string,
    detail?: Readonly<Record<string, unknown>>,
  ): void;
  clear(code: string, peer: Peer, family: number): void;
  /** Work outside a read callback was done: flush. */
  flushLater(): void;
  filterFailed(peer: Peer, step: string, error: unknown): void;
}

/** What a session keeps of its incoming side. */
class Intake {
  readonly pipeline: Pipeline;
  limits: PrefixLimits;
  /** What went through: where filters ask for it, or nobody else counts. */
  announced: Announced | undefined;
  self: Self;
  /** How a message is read that filters let pass. */
  readonly filtered: WireContext;
  /** Families whose excess is dropped, and that was said. */
  readonly full = new Set<number>();
  reports = 0;
  reportsSince = 0;
  suppressed = 0;

  constructor(pipeline: Pipeline, self: Self, filtered: WireContext, announced: Announced | undefined) {
    this.pipeline = pipeline;
    this.limits = new PrefixLimits([], () => 0);
    this.self = self;
    this.filtered = filtered;
    this.announced = announced;
  }
}

export class Receiver {
  readonly #host: ReceiveHost;
  readonly #view = new UpdateView();
  /** For messages that waited: the other view may be in use below us. */
  readonly #lateView = new UpdateView();
  /** For what filters took out, and for what that leaves to be withdrawn. */
  readonly #originalView = new UpdateView();
  readonly #owedView = new UpdateView();
  readonly #loop = new LoopCheck();
  readonly #intakes = new Map<Peer, Intake>();
  /** The one asked for last: messages come in runs. */
  #lastPeer: Peer | undefined;
  #lastIntake: Intake | undefined;
  known = new KnownBlocks();

  constructor(host: ReceiveHost) {
    this.#host = host;
  }

  /** The session came up. */
  open(peer: Peer): void {
    const host = this.#host;
    const steps = host.steps(peer);
    const pipeline = new Pipeline(
      {
        passed: (bytes, at, length, late, changes) => this.#passed(peer, bytes, at, length, late, changes),
        rejected: (bytes, at, length, removed) => {
          peer.counters.importRejected++;
          this.#rejected(peer, bytes, at, length, removed);
        },
        teardown: (notice, reason) => peer.fault(notice, reason),
        stepFailed: (step, error) => host.filterFailed(peer, step, error),
        hold: (held) => peer.hold(HELD_BY_PIPELINE, held),
        late: (release) => {
          release();
          host.flushLater();
        },
      },
      peer.index,
      steps,
    );
    const announced = steps.length > 0 || host.counter() === undefined ? new Announced(familiesOf(peer), true) : undefined;
    const intake = new Intake(pipeline, host.self(peer), host.filtered(peer), announced);
    this.#intakes.set(peer, intake);
    this.#lastPeer = undefined;
    this.configure(peer);
  }

  /** The peer's limits or filters changed, or are set for the first time. */
  configure(peer: Peer): void {
    const intake = this.#intakes.get(peer);
    if (intake === undefined) return;
    intake.limits = new PrefixLimits(peer.settings.families, (family) => this.count(peer, family));
    const steps = this.#host.steps(peer);
    intake.pipeline.steps = steps;
    intake.self = this.#host.self(peer);
    if (steps.length > 0) intake.announced ??= new Announced(familiesOf(peer), false);
  }

  /** How messages of the session are read once filters had them. */
  filtered(peer: Peer): WireContext {
    return this.#intakes.get(peer)?.filtered ?? this.#host.filtered(peer);
  }

  /** Runs `action` when the UPDATEs that came before have passed the filters, or at once. */
  inOrder(peer: Peer, action: () => void): void {
    this.#intakes.get(peer)?.pipeline.after(action);
  }

  /** The session went down. */
  close(peer: Peer): void {
    this.#intakes.get(peer)?.pipeline.clear();
    this.#intakes.delete(peer);
    this.#lastPeer = undefined;
    peer.hold(HELD_BY_PIPELINE, false);
  }

  /** Prefixes the peer has announced and not withdrawn. */
  count(peer: Peer, family: number): number {
    return this.#host.counter()?.(peer.index, family) ?? this.#intakes.get(peer)?.announced?.size(family) ?? 0;
  }

  /** An UPDATE of an established session, `length` bytes at `at` of the read area. */
  update(peer: Peer, at: number, length: number): void {
    peer.counters.updatesReceived++;
    const intake = this.#intakeOf(peer);
    if (intake === undefined) return;
    const { bytes, view: bytesView } = this.#host.area;
    const view = this.#view;
    const outcome = this.#judge(view, bytes, bytesView, at, length, peer, intake, peer.receive, true);
    if (outcome === RESET) {
      this.#reset(peer, view, intake);
      return;
    }
    if (view.faults.total > 0) this.#note(peer, view, intake);
    if (view.endOfRib !== NO_FAMILY) peer.counters.eorReceived++;
    if (intake.pipeline.direct) this.#accept(peer, intake, view);
    else this.#submit(intake, view, bytes, at, length);
  }

  /** To the filters, as it counts: what was discarded or is ignored is not in it, what is treated as withdraw is a withdrawal. */
  #submit(intake: Intake, view: UpdateView, bytes: Uint8Array, at: number, length: number): void {
    const { pipeline } = intake;
    if (!speaks(view)) pipeline.push(bytes, at, length, true);
    else if (view.outcome === OK && !ignores(view)) pipeline.push(bytes, at, length);
    else {
      const messages = view.outcome === WITHDRAW ? withdrawalsOf(view) : [cleaned(view)];
      for (const message of messages) pipeline.push(message, 0, message.length);
    }
  }

  /** Located and judged; our own doubts (loops) raise the outcome to treat-as-withdraw. */
  #judge(
    view: UpdateView,
    bytes: Uint8Array,
    bytesView: DataView,
    at: number,
    length: number,
    peer: Peer,
    intake: Intake,
    context: WireContext,
    loops: boolean,
  ): Outcome {
    let outcome = view.locate(bytes, bytesView, at, length, context);
    if (outcome === RESET) return RESET;
    const known = this.known;
    let facts = known.find(view, intake.self.id);
    if (facts >= 0) outcome = view.trust(facts & 0xffff);
    else {
      outcome = view.validate();
      if (outcome === RESET) return RESET;
      facts = view.blockFacts;
      if (view.block.length !== 0 && this.#loop.loops(view, intake.self)) facts |= LOOPS;
      if (view.faults.total === 0) known.note(view, intake.self.id, facts);
    }
    if (outcome === RESET) return RESET;
    if (loops && (facts & LOOPS) !== 0 && announces(view)) {
      peer.counters.loops++;
      view.outcome = WITHDRAW;
      return WITHDRAW;
    }
    return outcome;
  }

  /** After the filter steps, which may have replaced or delayed the message. */
  #passed(peer: Peer, bytes: Uint8Array, at: number, length: number, late: boolean, changes: Changes | undefined): void {
    const intake = this.#intakeOf(peer);
    if (intake === undefined) return;
    const original = changes?.original;
    if (changes !== undefined) peer.counters.importModified++;
    const view = late ? this.#lateView : this.#view;
    if (late || view.bytes !== bytes || view.at !== at) {
      // It has been looked for loops when it came; a filter may put our number into the path.
      if (this.#judge(view, bytes, viewOf(bytes), at, length, peer, intake, intake.filtered, false) === RESET) {
        if (original !== undefined) this.#rejected(peer, original, 0, original.length, changes?.removed ?? []);
        return;
      }
    }
    for (const message of changes?.removed ?? []) {
      if (!this.#withdrawOwed(peer, intake, message, 0, message.length, undefined)) return;
    }
    if (original !== undefined && !this.#withdrawOwed(peer, intake, original, 0, original.length, view)) return;
    this.#accept(peer, intake, view);
  }

  /** What a filter keeps out: nobody hears of it, but what stood before is withdrawn. */
  #rejected(peer: Peer, bytes: Uint8Array, at: number, length: number, removed: readonly Uint8Array[]): void {
    for (const message of removed) {
      const intake = this.#intakeOf(peer);
      if (intake !== undefined) this.#withdrawOwed(peer, intake, message, 0, message.length, undefined);
    }
    const intake = this.#intakeOf(peer);
    if (intake !== undefined) this.#withdrawOwed(peer, intake, bytes, at, length, undefined);
  }

  /** False when that ended the session. */
  #withdrawOwed(
    peer: Peer,
    intake: Intake,
    bytes: Uint8Array,
    at: number,
    length: number,
    instead: UpdateView | undefined,
  ): boolean {
    const view = this.#originalView;
    if (view.read(bytes, viewOf(bytes), at, length, peer.receive) === RESET) return true;
    for (const message of intake.announced?.owed(view, instead) ?? []) {
      this.#owedView.read(message, viewOf(message), 0, message.length, intake.filtered);
      this.#accept(peer, intake, this.#owedView);
      if (this.#intakeOf(peer) !== intake) return false;
    }
    return true;
  }

  #accept(peer: Peer, intake: Intake, view: UpdateView): void {
    const withdraw = view.outcome === WITHDRAW;
    this.#deliver(peer, intake, view, withdraw);
    if (view.endOfRib !== NO_FAMILY) this.#host.endOfRib(peer, view.endOfRib);
    // Last: a limit that is passed ends the session, and nothing may be said of it afterwards.
    let excess = false;
    if (view.nlriCount + view.withdrawnCount > 0) excess = this.#limit(peer, intake, IPV4_UNICAST, withdraw ? 0 : view.nlriCount);
    if (view.reachCount > 0) excess = this.#limit(peer, intake, view.reachFamily, withdraw ? 0 : view.reachCount) || excess;
    if (view.unreachCount > 0) excess = this.#limit(peer, intake, view.unreachFamily, 0) || excess;
    if (!excess || this.#intakeOf(peer) !== intake) return;
    // The session stays, the excess does not: what this message announced is taken back before anybody was told.
    peer.counters.limited++;
    view.outcome = WITHDRAW;
    this.#deliver(peer, intake, view, true);
  }

  #deliver(peer: Peer, intake: Intake, view: UpdateView, withdraw: boolean): void {
    const host = this.#host;
    const id = host.nextMessageId();
    intake.announced?.note(view, withdraw);
    host.accepted(peer, id, view, withdraw);
    if (!host.wantsPublish()) return;
    const { context } = view;
    if (!withdraw) host.publish(peer, context, id, view.bytes, view.at, view.length);
    // For those who only see bytes: what was treated as withdraw is told as the withdrawal it became.
    else {
      for (const [i, message] of withdrawalsOf(view).entries()) {
        host.publish(peer, context, i === 0 ? id : 0, message, 0, message.length);
      }
    }
  }

  #intakeOf(peer: Peer): Intake | undefined {
    if (peer !== this.#lastPeer) {
      this.#lastPeer = peer;
      this.#lastIntake = this.#intakes.get(peer);
    }
    return this.#lastIntake;
  }

  /** True when the family has more than its maximum and the session is to stay. */
  #limit(peer: Peer, intake: Intake, family: number, announced: number): boolean {
    if (this.#intakeOf(peer) !== intake) return false;
    const result = intake.limits.applied(family, announced);
    if (result === 'within') return false;
    const settings = intake.limits.settings(family);
    if (settings === undefined) return false;
    const subject = `${peer.settings.remoteAddress}/${familyName(family)}`;
    switch (result) {
      case 'warn':
        this.#host.report('warning', 'prefix-threshold', peer, `${subject}: more than ${settings.prefixWarning} prefixes`, {
          family: familyName(family),
        });
        break;
      case 'calm':
        this.#host.clear('prefix-threshold', peer, family);
        break;
      case 'exceeded':
        if (!settings.prefixTeardown) {
          this.#sayFull(peer, intake, family, settings.prefixMaximum);
          return announced > 0;
        }
        this.#host.report('error', 'prefix-maximum', peer, `${subject}: more than ${settings.prefixMaximum} prefixes`, {
          family: familyName(family),
        });
        peer.stopFor(ceasePrefixes(family, settings.prefixMaximum), 'prefix-limit', settings.idleTimeoutSeconds);
        break;
    }
    return false;
  }

  /** Once a session and family: excess is dropped from now on. */
  #sayFull(peer: Peer, intake: Intake, family: number, maximum: number): void {
    if (intake.full.has(family)) return;
    intake.full.add(family);
    const subject = `${peer.settings.remoteAddress}/${familyName(family)}`;
    this.#host.report('warning', 'prefix-maximum', peer, `${subject}: prefixes above ${maximum} are dropped`, {
      family: familyName(family),
    });
  }

  /** RFC 7606 §6: an error short of a reset leaves one report, one count, and the message's bytes to look at. */
  #note(peer: Peer, view: UpdateView, intake: Intake): void {
    if (view.outcome === OK) return;
    if (view.outcome === DISCARD) peer.counters.malformedDiscarded++;
    else peer.counters.malformedWithdrawn++;
    this.#report(peer, view, intake);
  }

  #reset(peer: Peer, view: UpdateView, intake: Intake): void {
    peer.counters.malformedReset++;
    this.#report(peer, view, intake);
    const notice: Notice = notification(UPDATE_MESSAGE_ERROR, view.subcode, view.notificationData());
    peer.fault(notice, 'update-error');
  }

  #report(peer: Peer, view: UpdateView, intake: Intake): void {
    const now = this.#host.now();
    if (now - intake.reportsSince > REPORT_WINDOW) {
      intake.reportsSince = now;
      intake.reports = 0;
    }
    if (++intake.reports > REPORT_LIMIT && view.outcome !== RESET) {
      intake.suppressed++;
      return;
    }
    const faults = Array.from({ length: view.faults.count }, (_, i) => ({
      code: view.faults.code(i),
      approach: outcomeName(view.faults.approach(i)),
      reason: reasonText(view.faults.reason(i)),
    }));
    const worst = faults.find((fault) => fault.approach === outcomeName(view.outcome)) ?? faults[0];
    const code = worst?.code ?? 0;
    this.#host.report(
      'error',
      'update-malformed',
      peer,
      `attribute ${code}: ${worst?.reason ?? 'malformed'}, ${outcomeName(view.outcome)}`,
      {
        code,
        approach: outcomeName(view.outcome),
        faults,
        suppressed: intake.suppressed,
        bytes: toHex(view.bytes, view.at, Math.min(view.length, REPORT_BYTES)),
      },
    );
    intake.suppressed = 0;
  }
}

/** Something is announced to a negotiated family. */
function announces(view: UpdateView): boolean {
  return (view.nlriLength !== 0 && !view.classicIgnored) || (view.reachLength !== 0 && !view.reachIgnored);
}

function familiesOf(peer: Peer): readonly number[] {
  return peer.settings.families.map(({ family }) => family);
}
