/**
 * One event row in every form that is asked for, each written once and shared by all subscribers of the row. The bytes belong to the
 * encoder and are good until the next `begin`.
 */
import type { EventRow, PeerIdentity } from '../bgp/port.ts';
import { ByteWriter } from './byte-writer.ts';
import type { EventEncoding, EventFormat } from './event-format.ts';
import { EventJson } from './event-json.ts';
import { EventLines } from './event-text.ts';
import { isPrefixFamily } from '../../sdk/wire/family.ts';
import type { AnsweredNlri, NlriQuestion } from './nlri-question.ts';
import type { CodecRegistry } from './registry.ts';
import { UpdateJson } from './update-json.ts';
import { UpdateReader } from './update-reader.ts';

/** Where a form lies in `EventEncoder.bytes`. `numbered`: it lacks its last brace, the stream's `meta` closes it. */
export interface EncodedEvent {
  from: number;
  to: number;
  numbered: boolean;
}

interface Slot extends EncodedEvent {
  made: number;
  text: string | undefined;
}

const FORMATS: Readonly<Record<EventFormat, number>> = { parsed: 0, full: 1, raw: 2, summary: 3 };
/** A buffer that one enormous message has grown past this is not kept. */
const NO_QUESTIONS: readonly NlriQuestion[] = [];
const KEEP_BYTES = 4 * 1024 * 1024;

export class EventEncoder {
  readonly #registry: CodecRegistry;
  readonly #update: UpdateJson;
  readonly #json: EventJson;
  readonly #lines = new EventLines();
  readonly #reader = new UpdateReader();
  #writer = new ByteWriter(256 * 1024);
  readonly #slots: Slot[] = Array.from({ length: 16 }, () => ({ from: 0, to: 0, numbered: false, made: 0, text: undefined }));
  #row: EventRow | undefined;
  #peer: PeerIdentity | undefined;
  #generation = 0;
  #read = 0;
  /** Forms written since the start: how well the sharing works. */
  written = 0;

  constructor(registry: CodecRegistry) {
    this.#registry = registry;
    this.#update = new UpdateJson(registry);
    this.#json = new EventJson(this.#update);
  }

  /** Moves to a row. Row, bytes and answers must stay as they are until the next `begin`. */
  begin(row: EventRow, peer: PeerIdentity, answered?: AnsweredNlri): void {
    this.#update.answered = answered;
    this.#update.answeredFrom = row.bytesAt;
    this.#row = row;
    this.#peer = peer;
    this.#generation++;
    this.#writer.length = 0;
    if (this.#writer.bytes.length > KEEP_BYTES) this.#writer = new ByteWriter(256 * 1024);
  }

  /** What only plugins can read of the row, none when nobody has to be asked. */
  questions(): readonly NlriQuestion[] {
    const row = this.#row!;
    if (row.kind !== 'update' || !this.#registry.hasForeign) return NO_QUESTIONS;
    const { update, bytes, unreadable } = this.#readUpdate(row, this.#peer!);
    if (unreadable) return NO_QUESTIONS;
    const list: NlriQuestion[] = [];
    const put = (family: number, at: number, length: number, withdraw: boolean): void => {
      const owner = length === 0 || isPrefixFamily(family) ? '' : this.#registry.asked(family);
      if (owner === '') return;
      const nlri = bytes.slice(at, at + length);
      const name = this.#registry.name(family);
      list.push({ family, name, owner, offset: at - row.bytesAt, nlri, addPath: this.#reader.addPath(family), withdraw });
    };
    put(update.reachFamily, update.reachAt, update.reachLength, false);
    put(update.unreachFamily, update.unreachAt, update.unreachLength, true);
    return list;
  }

  /** The bytes that `encode` points into. It may be another buffer after every `encode`. */
  get bytes(): Buffer {
    return this.#writer.bytes;
  }

  /** The row in this form: `escaped` to stand inside a JSON string. */
  encode(format: EventFormat, encoding: EventEncoding, escaped: boolean): EncodedEvent {
    return this.#slot(format, encoding, escaped);
  }

  /** The row as a string, not escaped; made once. */
  text(format: EventFormat, encoding: EventEncoding): string {
    const slot = this.#slot(format, encoding, false);
    return (slot.text ??= this.#writer.text(slot.from, slot.to));
  }

  /** Does the form carry a number of its stream? */
  numbered(format: EventFormat, encoding: EventEncoding): boolean {
    return this.#slot(format, encoding, false).numbered;
  }

  #slot(format: EventFormat, encoding: EventEncoding, escaped: boolean): Slot {
    const row = this.#row!;
    const form = row.kind === 'update' ? format : 'parsed';
    const slot = this.#slots[FORMATS[form] * 4 + (encoding === 'text' ? 2 : 0) + (escaped ? 1 : 0)]!;
    if (slot.made !== this.#generation) this.#write(slot, form, encoding, escaped, row, this.#peer!);
    return slot;
  }

  #write(slot: Slot, format: EventFormat, encoding: EventEncoding, escaped: boolean, row: EventRow, peer: PeerIdentity): void {
    if (row.kind === 'update') this.#readUpdate(row, peer);
    const w = this.#writer;
    w.escaped = escaped;
    slot.made = this.#generation;
    slot.text = undefined;
    slot.from = w.length;
    const line = encoding === 'text' ? this.#lines.line(row, peer, this.#reader, format, this.#update) : undefined;
    slot.numbered = line === undefined;
    if (line === undefined) this.#json.write(w, row, peer, this.#reader, format);
    else w.utf8(escaped ? JSON.stringify(line).slice(1, -1) : line);
    slot.to = w.length;
    this.written++;
  }

  #readUpdate(row: EventRow, peer: PeerIdentity): UpdateReader {
    if (this.#read === this.#generation) return this.#reader;
    this.#reader.over(row.bytes, row.bytesAt, row.bytesLength, row.asn4, row.addPath, peer.localAs === peer.remoteAs);
    // RFC 7606 is for what comes in: what we sent is shown as it was sent.
    if (row.direction === 'sent') this.#reader.withdraws = false;
    this.#read = this.#generation;
    return this.#reader;
  }
}
