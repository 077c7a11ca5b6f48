// bgp-filter-prefix: `bgp/policy/prefix-list`. The list itself is sdk/policy/prefix-list.
import { definePlugin } from '../../sdk/plugin/define.ts';
import { entriesOf, numberAt, textAt } from '../../sdk/policy/definition.ts';
import { PrefixList } from '../../sdk/policy/prefix-list.ts';
import type { RouteFilter } from '../../sdk/policy/route-filter.ts';
import { parsePrefix, prefixTarget } from '../../sdk/wire/address.ts';

export default definePlugin({
  name: 'bgp-filter-prefix',
  placement: 'reactor',
  autoload: ['bgp'],
  failurePolicy: 'restart',
  setup(engine) {
    engine.routes?.filterKind('prefix-list', compile);
  },
});

/** Routes no entry accepts are taken out; a message of which nothing is left is rejected. */
export function compile(definition: unknown): RouteFilter {
  const list = new PrefixList(
    entriesOf(definition, 'entry').map(([prefix, entry]) => {
      const target = prefixTarget();
      if (!parsePrefix(prefix, target)) throw new Error(`"${prefix}" is no prefix`);
      return {
        address: target.bytes.slice(0, target.addressLength),
        lengthBits: target.lengthBits,
        ge: numberAt(entry, 'ge') ?? -1,
        le: numberAt(entry, 'le') ?? -1,
        accept: textAt(entry, 'action') !== 'reject',
      };
    }),
  );
  return {
    judge(draft) {
      draft.trim(list);
      return !draft.isEmpty;
    },
  };
}
