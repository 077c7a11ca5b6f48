// Filters of the reactor against models that are too simple to be wrong.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { compile as community } from '../../plugins/bgp-filter-community/index.ts';
import { compile as communityMatch } from '../../plugins/bgp-filter-community-match/index.ts';
import { compile as modify } from '../../plugins/bgp-filter-modify/index.ts';
import { compile as prefixList } from '../../plugins/bgp-filter-prefix/index.ts';
import { PatternAutomaton } from '../../sdk/policy/pattern-automaton.ts';
import { compilePattern, PatternError } from '../../sdk/policy/pattern-program.ts';
import { plainContext } from '../../sdk/wire/context.ts';
import { IPV4_UNICAST, IPV6_UNICAST } from '../../sdk/wire/family.ts';
import { judge, said } from '../support/policy-draft.ts';
import { attribute, MANDATORY, NEXT_HOP, ORIGIN, u8, update } from '../wire/build.ts';

/** A prefix of few possible bits, so that they meet. `bytes`: address octets. */
interface Net {
  readonly bits: bigint;
  readonly length: number;
}

const netOf = (width: 32 | 128): fc.Arbitrary<Net> =>
  fc
    .record({ head: fc.bigInt({ min: 0n, max: 15n }), tail: fc.bigInt({ min: 0n, max: 3n }), length: fc.nat(width) })
    .map(({ head, tail, length }) => {
      const whole = (head << BigInt(width - 4)) | (tail << BigInt(width - 20)) | tail;
      const spare = BigInt(width - length);
      return { bits: (whole >> spare) << spare, length };
    });

const wire = (net: Net, width: 32 | 128): string =>
  u8(net.length) +
  net.bits
    .toString(16)
    .padStart(width / 4, '0')
    .slice(0, 2 * Math.ceil(net.length / 8));

const text = (net: Net, width: 32 | 128): string => {
  const digits = net.bits.toString(16).padStart(width / 4, '0');
  if (width === 32)
    return `${digits
      .match(/../g)!
      .map((octet) => Number.parseInt(octet, 16))
      .join('.')}/${net.length}`;
  return `${digits.match(/.{4}/g)!.join(':')}/${net.length}`;
};

interface Entry {
  readonly net: Net;
  readonly ge: number | undefined;
  readonly le: number | undefined;
  readonly accept: boolean;
}

const entryOf = (width: 32 | 128): fc.Arbitrary<Entry> =>
  fc
    .record({ net: netOf(width), ge: fc.option(fc.nat(width)), le: fc.option(fc.nat(width)), accept: fc.boolean() })
    .map(({ net, ge, le, accept }) => {
      const least = ge === null ? undefined : Math.max(ge, net.length);
      return { net, ge: least, le: le === null ? undefined : Math.max(le, least ?? net.length), accept };
    });

function naive(entries: readonly Entry[], net: Net, width: number): boolean {
  for (const { net: over, ge, le, accept } of entries) {
    const spare = BigInt(width - over.length);
    if (over.length > net.length || net.bits >> spare !== over.bits >> spare) continue;
    const high = le ?? (ge === undefined ? over.length : width);
    if (net.length >= (ge ?? over.length) && net.length <= high) return accept;
  }
  return false;
}

for (const width of [32, 128] as const) {
  test(`a prefix list of ${width} bits takes what the first entry that covers it says`, () => {
    const context = plainContext({ families: [IPV4_UNICAST, IPV6_UNICAST] });
    fc.assert(
      fc.property(
        fc.uniqueArray(entryOf(width), { maxLength: 24, selector: ({ net }) => text(net, width) }),
        fc.array(netOf(width), { minLength: 1, maxLength: 20 }),
        (entries, nets) => {
          const filter = prefixList({
            entry: entries.map(({ net, ge, le, accept }) => [
              text(net, width),
              { ...(ge === undefined ? {} : { ge }), ...(le === undefined ? {} : { le }), action: accept ? 'accept' : 'reject' },
            ]),
          });
          const nlri = nets.map((net) => wire(net, width)).join('');
          const reach = attribute('900e', `00020110${'20010db8'.padEnd(32, '1')}00${nlri}`);
          const message =
            width === 32
              ? update({ attributes: MANDATORY, nlri })
              : update({ attributes: ORIGIN + '40020602010000fc00' + reach });
          const before = said(message, context).announced;
          const kept = before.filter((_prefix, i) => naive(entries, nets[i]!, width));
          const { message: out, removed } = judge(filter, message, context);
          if (kept.length === 0) assert.equal(out, undefined);
          else assert.deepEqual(said(out!, context).announced, kept);
          if (kept.length > 0)
            assert.deepEqual(
              removed,
              before.filter((_prefix, i) => !naive(entries, nets[i]!, width)),
            );
          if (kept.length === before.length) assert.equal(out, message, 'the same bytes');
        },
      ),
      { numRuns: 300 },
    );
  });
}

/** Expressions of which JavaScript's engine and ours read the same. */
const expression: fc.Arbitrary<string> = fc.letrec<{ all: string; one: string }>((tie) => ({
  one: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('1', '2', '12', ' ', '.', '^', '$', '\\b', '\\B', '[12]', '[^1]', '\\d', '\\s', '[0-3 ]', '\\D', 'x'),
    tie('all').map((inner) => `(${inner})`),
    tie('all').map((inner) => `(?:${inner})`),
    fc
      .tuple(tie('all'), fc.constantFrom('*', '+', '?', '{2}', '{0,2}', '{1,}', '*?'))
      .map(([inner, times]) => `(?:${inner})${times}`),
  ),
  all: fc.oneof(
    { depthSize: 'small' },
    tie('one'),
    fc.array(tie('one'), { maxLength: 3 }).map((parts) => parts.join('')),
    fc.array(tie('one'), { minLength: 2, maxLength: 3 }).map((parts) => parts.join('|')),
  ),
})).all;

const asPath = fc.array(fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(1, 2, 12, 21, 111, 4294967295)), {
  maxLength: 6,
});

test('several expressions in one pass say what one after the other would', () => {
  fc.assert(
    fc.property(
      fc.array(expression, { minLength: 1, maxLength: 4 }),
      fc.array(asPath, { minLength: 1, maxLength: 4 }),
      (sources, paths) => {
        fc.pre(sources.every((source) => source.length <= 60));
        const automaton = new PatternAutomaton(sources.map(compilePattern));
        for (const asns of paths) {
          let state = automaton.initial;
          for (const [i, asn] of asns.entries()) {
            if (automaton.settled(state)) break;
            if (i > 0) state = automaton.blank(state);
            state = automaton.number(state, asn);
          }
          assert.equal(
            automaton.end(state),
            sources.findIndex((source) => new RegExp(source).test(asns.join(' '))),
            `${JSON.stringify(sources)} on "${asns.join(' ')}"`,
          );
        }
      },
    ),
    { numRuns: 500 },
  );
});

test('any text is an expression or refused with words, and is matched in time that grows with the text alone', () => {
  const pieces = fc.array(
    fc.constantFrom('(', ')', '*', '+', '?', '|', '[', ']', '{9}', '{1000}', '{', '\\', '1', ' ', '^', '-', ':', '.'),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ maxLength: 40 }),
        pieces.map((parts) => parts.join('')),
      ),
      (source) => {
        try {
          const automaton = new PatternAutomaton([compilePattern(source)]);
          let state = automaton.initial;
          for (let i = 0; i < 60; i++) state = automaton.blank(automaton.number(state, 11));
          automaton.end(state);
        } catch (error) {
          assert(error instanceof PatternError, String(error));
          assert.notEqual(error.message, '');
        }
      },
    ),
    { numRuns: 400 },
  );
});

const value = fc.tuple(fc.constantFrom(1, 64500), fc.nat(5));
const values = fc.array(value, { maxLength: 6 });
const name = ([high, low]: readonly number[]): string => `${high}:${low}`;
const bytes = ([high = 0, low = 0]: readonly number[]): string =>
  high.toString(16).padStart(4, '0') + low.toString(16).padStart(4, '0');

test('a community match says what the first entry says whose community is carried', () => {
  const entries = fc.uniqueArray(fc.record({ community: value, accept: fc.boolean() }), {
    maxLength: 6,
    selector: ({ community }) => name(community),
  });
  fc.assert(
    fc.property(values, entries, (carried, list) => {
      const own = carried.map(bytes);
      const attributes = MANDATORY + (own.length === 0 ? '' : attribute('c008', own.join('')));
      const filter = communityMatch({
        entry: list.map(({ community, accept }) => [name(community), { action: accept ? 'accept' : 'reject' }]),
      });
      const { message: out } = judge(filter, update({ attributes, nlri: '18c63364' }));
      const decides = list.find(({ community }) => own.includes(bytes(community)));
      assert.equal(out !== undefined, decides?.accept === true);
    }),
    { numRuns: 200 },
  );
});

test('communities are a list: strip takes out, tag puts in what is not there', () => {
  fc.assert(
    fc.property(values, values, values, (carried, strip, tag) => {
      const own = carried.map(bytes);
      const message = update({
        attributes: MANDATORY + (own.length === 0 ? '' : attribute('c008', own.join(''))),
        nlri: '18c63364',
      });
      const left = own.filter((one) => !strip.map(bytes).includes(one));
      const added = [...new Set(tag.map(bytes))].filter((one) => !left.includes(one));
      const filter = community({ strip: { standard: strip.map(name) }, tag: { standard: tag.map(name) } });
      const { message: out, changed } = judge(filter, message);
      const wanted = [...left, ...added].join('');
      assert.equal(said(out!).attributes[8] ?? '', wanted);
      assert.equal(changed, wanted !== own.join(''));
    }),
    { numRuns: 300 },
  );
});

const withoutPath = (all: Readonly<Record<number, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(all).filter(([code]) => code !== '2'));

test('modify changes what it names and nothing else, whatever else the route carries', () => {
  const extras = fc.subarray([
    attribute('8004', '00000005'),
    attribute('4006', ''),
    attribute('c008', '00010002'),
    attribute('c020', '000000010000000200000003'),
    attribute('e063', 'abcd'),
  ]);
  const set = fc.record(
    {
      med: fc.nat(9),
      'local-preference': fc.nat(9),
      origin: fc.constantFrom('igp', 'egp', 'incomplete'),
      'as-path-prepend': fc.integer({ min: 1, max: 32 }),
    },
    { requiredKeys: [] },
  );
  const context = plainContext({ localAs: 64500, ownLocalPref: true });
  fc.assert(
    fc.property(extras, set, asPath, (more, wanted, asns) => {
      const numbers = asns.map((asn) => asn.toString(16).padStart(8, '0'));
      const path = attribute('4002', asns.length === 0 ? '' : `02${u8(asns.length)}${numbers.join('')}`);
      const message = update({ attributes: ORIGIN + path + NEXT_HOP + more.join(''), nlri: '18c63364' });
      const before = said(message, context);
      const after = said(judge(modify({ set: wanted }), message, context).message!, context);
      const four = (number: number): string => number.toString(16).padStart(8, '0');
      const rest = withoutPath(before.attributes);
      const left = withoutPath(after.attributes);
      assert.deepEqual(left, {
        ...rest,
        ...(wanted.med === undefined ? {} : { 4: four(wanted.med) }),
        ...(wanted['local-preference'] === undefined ? {} : { 5: four(wanted['local-preference']) }),
        ...(wanted.origin === undefined ? {} : { 1: u8(['igp', 'egp', 'incomplete'].indexOf(wanted.origin)) }),
      });
      assert.deepEqual(after.path, [...new Array<number>(wanted['as-path-prepend'] ?? 0).fill(64500), ...asns]);
    }),
    { numRuns: 300 },
  );
});
