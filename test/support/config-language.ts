// Tables of config texts: each with its exit code, a fragment that the report says, and where the first fault stands.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { autoloadedNames, loadBuiltins } from '../../engine/compose/builtins.ts';
import { loadConfig, type LoadOptions } from '../../engine/config/load.ts';
import { validateReport } from '../../engine/config/validate-report.ts';

/** A peer that is right, with parts that can be replaced. */
export interface Parts {
  readonly name?: string;
  readonly local?: string;
  readonly remote?: string;
  readonly connection?: string;
  readonly asn?: string;
  readonly family?: string;
  readonly session?: string;
  readonly capability?: string;
  readonly rest?: string;
}

export function peer(parts: Parts = {}): string {
  const { name = 'edge', local = 'ip 10.0.0.1;', remote = 'ip 10.0.0.2;', asn = 'remote 65001;' } = parts;
  const family = parts.family ?? 'ipv4/unicast { prefix { maximum 1000; } }';
  return `peer ${name} {
    connection { local { ${local} } remote { ${remote} } ${parts.connection ?? ''} }
    session { asn { ${asn} } family { ${family} } capability { ${parts.capability ?? ''} } ${parts.session ?? ''} }
    ${parts.rest ?? ''}
  }`;
}

/** A bgp block on lines 2 to the end, `before` on line 1. */
export const bgp = (inner: string, before = ''): string => `${before}
bgp {
  router-id 10.0.0.1
  session { asn { local 65000; } }
  ${inner}
}
`;

export const PLUGIN = 'plugin { external inject { run "true"; } }';
export const SENDER = 'process inject { send [ update ]; }';

/** Exit 0 and an empty fragment: valid, and not one warning. */
export type Row = readonly [name: string, text: string, exit: 0 | 1, fragment: string, place?: readonly [number, number]];

/** What the command line adds: the plugins that ship. */
export async function shipped(): Promise<Pick<LoadOptions, 'builtins' | 'usable' | 'now' | 'judged'>> {
  const builtins = await loadBuiltins();
  const usable = builtins.map((builtin) => builtin.name);
  return { builtins: autoloadedNames(builtins), usable, now: Date.UTC(2026, 11, 1), judged: true };
}

/** One test a row, through the report that `zest config validate` prints. */
export async function testRows(rows: readonly Row[]): Promise<void> {
  const options = await shipped();
  for (const [name, text, exit, fragment, place] of rows) {
    test(`${name}: ${exit === 0 ? 'valid' : 'invalid'}`, () => {
      const report = validateReport(text, 't.conf', options);
      const said = `${report.stdout}${report.stderr}`;
      assert.equal(report.exitCode, exit, said);
      if (exit === 0 && fragment === '') assert.equal(said, 'configuration valid: t.conf\n');
      else assert.ok(said.includes(fragment), `${fragment}\nnot in\n${said}`);
      if (place === undefined) return;
      const result = loadConfig(text, { ...options, path: 't.conf' });
      const first = result.ok ? result.warnings[0] : result.faults[0];
      assert.deepEqual([first?.line, first?.column], place, said);
    });
  }
}
