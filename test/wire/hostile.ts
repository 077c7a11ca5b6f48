// The table of malformed UPDATEs: what a row is, what its peer agreed, and how a row is checked. The rows are in hostile-*-rows.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashBytes, viewOf } from '../../sdk/wire/bytes.ts';
import { type ContextFacts, CORE_FAMILIES, plainContext } from '../../sdk/wire/context.ts';
import { parseFamily } from '../../sdk/wire/family.ts';
import { type OutcomeName, outcomeName } from '../../sdk/wire/fault.ts';
import { UpdateView } from '../../sdk/wire/update.ts';
import { AS_PATH, attribute, MANDATORY, NEXT_HOP, ORIGIN, PREFIX, toHex, type UpdateParts, update } from './build.ts';

export interface Row {
  readonly name: string;
  readonly parts: UpdateParts | Uint8Array;
  readonly want: OutcomeName;
  /** `code/subcode` of the NOTIFICATION. */
  readonly notice?: string;
  /** Its data in hex. */
  readonly data?: string;
  /** The block left after discards, in hex. */
  readonly block?: string;
  /** Attribute codes of the faults, in order. */
  readonly faults?: readonly number[];
  readonly facts?: Partial<ContextFacts>;
}

/** What this table's peer agreed: eBGP from AS 64512, four octets, every family named, first AS and AS_SET judged. */
export const FACTS: Partial<ContextFacts> = {
  ebgp: true,
  peerAs: 64512,
  localAs: 64500,
  families: [
    ...CORE_FAMILIES,
    ...['ipv4/mpls-label', 'ipv4/mpls-vpn', 'ipv6/mpls-vpn', 'ipv4/flow', 'ipv4/flow-vpn', 'ipv6/flow', 'ipv4/rtc'].map(
      parseFamily,
    ),
    ...['l2vpn/evpn', 'l2vpn/vpls', 'ipv4/mvpn', 'ipv4/mup', 'bgp-ls/bgp-ls'].map(parseFamily),
  ],
  enforceFirstAs: true,
  refuseAsSets: true,
};
export const IBGP: Partial<ContextFacts> = { ebgp: false, peerAs: 64500 };

export const with1 = (attributes: string): UpdateParts => ({ attributes: MANDATORY + attributes, nlri: PREFIX });
export const withPath = (path: string): UpdateParts => ({
  attributes: ORIGIN + attribute('4002', path) + NEXT_HOP,
  nlri: PREFIX,
});
export const NH6 = '20010db8000000000000000000000001';
/** MP_REACH_NLRI of a family (AFI and SAFI in hex) with a next hop, both in hex, and NLRI. */
export const reach = (family: string, nextHop: string, nlri: string): string =>
  attribute('800e', `${family}${(nextHop.length / 2).toString(16).padStart(2, '0')}${nextHop}00${nlri}`);
export const unreach = (family: string, nlri: string): string => attribute('800f', family + nlri);
export const mp = (...attributes: string[]): UpdateParts => ({ attributes: ORIGIN + AS_PATH + attributes.join('') });
export const V6 = '2020010db8';
export function check(rows: readonly Row[]): void {
  for (const row of rows) {
    test(row.name, () => {
      const bytes = row.parts instanceof Uint8Array ? row.parts : update(row.parts);
      const context = plainContext({ ...FACTS, ...row.facts });
      const update1 = new UpdateView();
      const outcome = outcomeName(update1.read(bytes, viewOf(bytes), 0, bytes.length, context));
      assert.equal(outcome, row.want);
      if (row.notice !== undefined) assert.equal(`${update1.code}/${update1.subcode}`, row.notice);
      if (row.data !== undefined) assert.equal(toHex(update1.notificationData()), row.data);
      assert.ok(update1.notificationData().length <= bytes.length);
      if (row.block !== undefined) {
        const { block } = update1;
        assert.equal(toHex(block.bytes, block.at, block.length), row.block);
        assert.equal(update1.blockHash, hashBytes(block.view, block.at, block.length));
      }
      if (row.faults !== undefined) {
        const codes = Array.from({ length: update1.faults.count }, (_, index) => update1.faults.code(index));
        assert.deepEqual(codes, row.faults);
      }
      if (outcome !== 'ok') assert.ok(update1.faults.total > 0, 'an action has a fault that explains it');
    });
  }
}
