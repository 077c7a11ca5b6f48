// Synthetic UPDATEs for the benches: sets of attributes shaped like the public table's, five neighbouring /24 each.
import { ContextTable, PLAIN_FACTS, type WireContext } from '../../../sdk/wire/context.ts';
import { viewOf } from '../../../sdk/wire/bytes.ts';
import { type Attributes, block } from '../../support/rib-attributes.ts';

const PER_UPDATE = 5;
const HEADER = 19;

export class SampleTable {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  /** Whole messages, header included: where each begins, how long it is. */
  readonly at: number[] = [];
  readonly length: number[] = [];
  /** The attribute block within `bytes`. */
  readonly blockAt: number[] = [];
  readonly blockLength: number[] = [];
  readonly nlriAt: number[] = [];
  readonly nlriLength: number = PER_UPDATE * 4;
  readonly routes: number;

  /** `variant` changes every set's MED: the same prefixes with other attributes. `withdraw`: the prefixes alone. */
  constructor(updates: number, { variant = 0, withdraw = false }: { variant?: number; withdraw?: boolean } = {}) {
    const out: number[] = [];
    for (let set = 0; set < updates; set++) {
      const attributes = withdraw ? new Uint8Array(0) : block(attributesOf(set, variant));
      const prefixes = Array.from({ length: PER_UPDATE }, (_, i) => prefix(set * PER_UPDATE + i)).flat();
      const body = withdraw
        ? [...u16(prefixes.length), ...prefixes, 0, 0]
        : [0, 0, ...u16(attributes.length), ...attributes, ...prefixes];
      const start = out.length;
      this.at.push(start);
      this.length.push(HEADER + body.length);
      this.blockAt.push(start + HEADER + 4);
      this.blockLength.push(attributes.length);
      this.nlriAt.push(start + HEADER + 4 + attributes.length);
      out.push(...new Array<number>(16).fill(0xff), ...u16(HEADER + body.length), 2, ...body);
    }
    this.bytes = Uint8Array.from(out);
    this.view = viewOf(this.bytes);
    this.routes = updates * PER_UPDATE;
  }

  get updates(): number {
    return this.at.length;
  }
}

export const context: WireContext = new ContextTable().intern({ ...PLAIN_FACTS, peerAs: 65001, localAs: 65000 });

function attributesOf(set: number, variant: number): Attributes {
  const hops = 2 + (set % 4);
  return {
    origin: set % 10 === 0 ? 2 : 0,
    path: [65001, ...Array.from({ length: hops }, (_, i) => 1 + ((set * 31 + i * 7919) % 23_000))],
    nextHop: '192.0.2.1',
    med: set + variant * 1_000_000,
    communities:
      set % 3 === 0 ? [] : Array.from({ length: 1 + (set % 4) }, (_, i) => ((64_500 << 16) | ((set + i) % 5000)) >>> 0),
  };
}

/** /24 from 16.0.0.0 on */
function prefix(i: number): number[] {
  return [24, 16 + (i >>> 16), (i >>> 8) & 0xff, i & 0xff];
}

function u16(value: number): number[] {
  return [value >>> 8, value & 0xff];
}
