// What a lab speaker says of what arrives: a line a route, or a count that settles.
import { ByteWriter } from '../../codec/byte-writer.ts';
import { writeAttributesJson } from '../../codec/attribute-json.ts';
import { UpdateReader } from '../../codec/update-reader.ts';
import type { Clock, Timer } from '../../core/clock.ts';
import { formatAddress, formatPrefix } from '../../../sdk/wire/address.ts';
import { AttributeCursor } from '../../../sdk/wire/attribute/cursor.ts';
import { NEXT_HOP } from '../../../sdk/wire/attribute/code.ts';
import { familyName, IPV4_UNICAST, NO_FAMILY } from '../../../sdk/wire/family.ts';
import { PrefixCursor } from '../../../sdk/wire/nlri/prefix.ts';
import type { EstablishedSession } from './speaker.ts';

export type PrintMode = 'none' | 'count' | 'text' | 'json';

export interface ArrivalOptions {
  readonly print: PrintMode;
  /** Count lines and errors as JSON. */
  readonly json: boolean;
  readonly write: (line: string) => void;
}

/** How long the count must stand still before it is printed, and the longest it waits while it does not. */
const SETTLE_MS = 200;

export class Arrivals {
  readonly #options: ArrivalOptions;
  readonly #clock: Clock;
  readonly #reader = new UpdateReader();
  readonly #prefix = new PrefixCursor();
  readonly #attributes = new AttributeCursor();
  readonly #writer = new ByteWriter(4096);
  /** Prefixes held, as `family prefix [path id]`. */
  readonly #held = new Set<string>();
  #session: EstablishedSession | undefined;
  #withdrawn = 0;
  #endOfRibs = 0;
  #updates = 0;
  #settle: Timer | undefined;
  /** Called whenever the number of routes held changes. */
  onCount: (routes: number) => void = () => undefined;

  constructor(options: ArrivalOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  get routes(): number {
    return this.#held.size;
  }

  up(session: EstablishedSession): void {
    this.#session = session;
    this.#held.clear();
  }

  down(): void {
    this.#session = undefined;
    this.#held.clear();
    this.#settle?.cancel();
  }

  update(bytes: Uint8Array, at: number, length: number): void {
    const session = this.#session;
    if (session === undefined) return;
    this.#updates++;
    const reader = this.#reader.over(bytes, at, length, session.asn4, session.addPathReceive, false);
    const { update } = reader;
    if (reader.unreadable) {
      this.#say({ event: 'unreadable', length }, `unreadable UPDATE of ${length} bytes`);
      return;
    }
    if (update.endOfRib !== NO_FAMILY) {
      this.#endOfRibs++;
      this.#say({ event: 'end-of-rib', family: familyName(update.endOfRib) }, `End-of-RIB ${familyName(update.endOfRib)}`);
    }
    this.#run(IPV4_UNICAST, update.withdrawnAt, update.withdrawnLength, false, '');
    if (!update.unreachIgnored) this.#run(update.unreachFamily, update.unreachAt, update.unreachLength, false, '');
    this.#run(IPV4_UNICAST, update.nlriAt, update.nlriLength, true, this.#classicNextHop());
    if (!update.reachIgnored) {
      const nextHop = formatAddress(bytes, update.reachUsableNextHopAt, Math.min(16, update.reachNextHopLength)) ?? '';
      this.#run(update.reachFamily, update.reachAt, update.reachLength, true, nextHop);
    }
    this.#counted();
  }

  #run(family: number, at: number, length: number, announced: boolean, nextHop: string): void {
    if (length === 0) return;
    const size = family >>> 8 === 2 ? 16 : 4;
    const cursor = this.#prefix.over(this.#reader.view, at, length, 8 * size, this.#reader.addPath(family));
    const attributes = announced && this.#printing ? this.#attributesJson() : '';
    while (cursor.next()) {
      const prefix = formatPrefix(this.#reader.bytes, cursor.prefixAt, cursor.lengthBits, size);
      const key = cursor.pathId === 0 ? `${family} ${prefix}` : `${family} ${prefix} ${cursor.pathId}`;
      if (announced) this.#held.add(key);
      else {
        this.#held.delete(key);
        this.#withdrawn++;
      }
      if (this.#printing) this.#route(family, prefix, cursor.pathId, announced, nextHop, attributes);
    }
  }

  get #printing(): boolean {
    return this.#options.print === 'json' || this.#options.print === 'text';
  }

  #route(family: number, prefix: string, pathId: number, announced: boolean, nextHop: string, attributes: string): void {
    const path = pathId === 0 ? '' : `,"path-id":${pathId}`;
    const head = `"event":"${announced ? 'announce' : 'withdraw'}","family":"${familyName(family)}","prefix":"${prefix}"${path}`;
    if (this.#options.print === 'json') {
      // A tester wants to see what arrived; that a router would take the route back (RFC 7606) is said beside it.
      const judged = this.#reader.withdraws ? ',"treat-as-withdraw":true' : '';
      this.#options.write(announced ? `{${head},"next-hop":"${nextHop}"${judged},"attributes":{${attributes}}}` : `{${head}}`);
    } else {
      this.#options.write(announced ? `+ ${prefix} via ${nextHop} {${attributes}}` : `- ${prefix}`);
    }
  }

  #classicNextHop(): string {
    const { block } = this.#reader.update;
    const cursor = this.#attributes.over(block.view, block.at, block.length);
    return cursor.find(NEXT_HOP) ? (formatAddress(block.bytes, cursor.valueAt, 4) ?? '') : '';
  }

  #attributesJson(): string {
    const writer = this.#writer;
    writer.length = 0;
    writeAttributesJson(writer, this.#reader);
    return Buffer.from(writer.bytes.buffer, writer.bytes.byteOffset, writer.length).toString('utf8');
  }

  /** Says the count once it stands still. */
  #counted(): void {
    this.onCount(this.#held.size);
    if (this.#options.print === 'none' || this.#settle !== undefined) return;
    this.#settle = this.#clock.after(SETTLE_MS, () => {
      this.#settle = undefined;
      const counts = {
        routes: this.#held.size,
        withdrawn: this.#withdrawn,
        updates: this.#updates,
        'end-of-rib': this.#endOfRibs,
      };
      this.#say(
        { event: 'received', ...counts },
        `holds ${counts.routes} routes (${counts.withdrawn} withdrawn, ${counts.updates} UPDATEs)`,
      );
    });
  }

  #say(value: Readonly<Record<string, unknown>>, text: string): void {
    if (this.#options.print === 'none') return;
    this.#options.write(this.#options.json ? JSON.stringify(value) : text);
  }
}
