/**
 * One UPDATE of an event row, taken apart once for every form it is written in. Judged as RFC 7606 wants it: what is treated as
 * withdraw is shown as withdrawn, discarded attributes are not shown, and a message nobody can take apart is `unreadable`.
 */
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { viewOf } from '../../sdk/wire/bytes.ts';
import type { WireContext } from '../../sdk/wire/context.ts';
import { ContextTable, PLAIN_FACTS } from '../../sdk/wire/context.ts';
import { NAMED_FAMILIES, NO_FAMILY } from '../../sdk/wire/family.ts';
import { RESET, WITHDRAW } from '../../sdk/wire/fault.ts';
import { HEADER_LENGTH } from '../../sdk/wire/message.ts';
import { UpdateView } from '../../sdk/wire/update.ts';

const NO_ADD_PATH: readonly number[] = [];
/** Contexts differ by AS size, ADD-PATH and session kind only; past this many the table starts again. */
const MAX_CONTEXTS = 1024;

export class UpdateReader {
  readonly update = new UpdateView();
  readonly attributes = new AttributeCursor();
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  /** The body, without the message's header. */
  bodyAt = 0;
  bodyLength = 0;
  asn4 = true;
  unreadable = false;
  /** Every announced route of the message counts as withdrawn. */
  withdraws = false;
  #contexts = new ContextTable();
  #context: WireContext | undefined;
  #addPath: readonly number[] = NO_ADD_PATH;

  /**
   * Moves to the body of `length` bytes at `at`. `internal`: the peer is in our AS. The bytes must stay as they are while this reader
   * is used.
   */
  over(bytes: Uint8Array, at: number, length: number, asn4: boolean, addPath: readonly number[], internal: boolean): this {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.view = viewOf(bytes);
    }
    this.bodyAt = at;
    this.bodyLength = length;
    this.asn4 = asn4;
    const context = this.#contextOf(asn4, addPath, internal);
    const outcome = this.update.read(bytes, this.view, at - HEADER_LENGTH, length + HEADER_LENGTH, context);
    this.unreadable = outcome === RESET;
    this.withdraws = outcome === WITHDRAW;
    return this;
  }

  /** Does NLRI of the family carry path ids here? */
  addPath(family: number): boolean {
    return this.#addPath.length > 0 && this.#addPath.includes(family);
  }

  /** The families the message announces (before RFC 7606 turns them round), NO_FAMILY where there is none. */
  get classicAnnounced(): boolean {
    return this.update.nlriLength > 0;
  }

  get classicWithdrawn(): boolean {
    return this.update.withdrawnLength > 0;
  }

  get reachFamily(): number {
    return this.update.reachLength > 0 ? this.update.reachFamily : NO_FAMILY;
  }

  get unreachFamily(): number {
    return this.update.unreachLength > 0 ? this.update.unreachFamily : NO_FAMILY;
  }

  /** The first attribute with this code in the block; then `attributes` stands on it. */
  find(code: number): boolean {
    const { block } = this.update;
    return this.attributes.over(block.view, block.at, block.length).find(code);
  }

  #contextOf(asn4: boolean, addPath: readonly number[], internal: boolean): WireContext {
    const last = this.#context;
    if (last !== undefined && last.asn4 === asn4 && last.ebgp !== internal && sameFamilies(addPath, this.#addPath)) return last;
    this.#addPath = addPath;
    if (this.#contexts.size >= MAX_CONTEXTS) this.#contexts = new ContextTable();
    this.#context = this.#contexts.intern({
      ...PLAIN_FACTS,
      asn4,
      ebgp: !internal,
      families: NAMED_FAMILIES,
      addPath,
      extendedNextHop: NAMED_FAMILIES,
    });
    return this.#context;
  }
}

function sameFamilies(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
