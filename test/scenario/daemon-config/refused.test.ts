// Configurations that cannot be run: the file's name, line, column and what was expected, the right exit code, no stack trace; the same from
// `config validate` and from the daemon.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PROGRAM, run } from '../../support/zest-process.ts';

const PEER = `connection { local { ip 127.0.0.1; } remote { ip 127.0.0.2; } }
        session { asn { remote 64512; } family { ipv4/unicast { prefix { maximum 10; } } } }`;
const bgp = (peers: string): string => `bgp {
    router-id 10.0.0.1
    session { asn { local 64500; } }
${peers}
}
`;

interface Broken {
  readonly name: string;
  readonly text: string;
  /** Each error line of the answer, without its indent. */
  readonly says: readonly string[];
}

const BROKEN: readonly Broken[] = [
  {
    name: 'a missing brace',
    text: bgp(`    peer a {\n        ${PEER}`),
    says: [
      'line 1: bgp is not closed: a "}" is missing (perhaps that of peer, opened on line 4: the "}" on line 7 stands further left) [column 1]',
    ],
  },
  {
    name: 'a brace too many',
    text: `${bgp(`    peer a {\n        ${PEER}\n    }`)}}\n`,
    says: ['line 9: a "}" closes nothing [column 1]'],
  },
  {
    name: 'an unknown leaf',
    text: bgp(`    peer a {\n        ${PEER}\n        descripton x;\n    }`),
    says: ['line 7: unknown field in peer: descripton (did you mean "description"?) [column 9]'],
  },
  {
    name: 'an unknown leaf that is like no other',
    text: bgp(`    peer a {\n        ${PEER}\n        xyzzy x;\n    }`),
    says: ['line 7: unknown field in peer: xyzzy [column 9, expected one of '],
  },
  {
    name: 'an unknown top-level word',
    text: 'bgpp { }\n',
    says: ['line 1: unknown top-level keyword: bgpp (did you mean "bgp"?) [column 1]'],
  },
  {
    name: 'a value that is no number',
    text: bgp(`    peer a {\n        ${PEER.replace('maximum 10', 'maximum ten')}\n    }`),
    says: ['line 6: bgp/peer/a/session/family/ipv4/unicast/prefix/maximum: "ten" is not a number, 1..4294967295 [column 82]'],
  },
  {
    name: 'the same peer twice',
    text: bgp(`    peer a {\n        ${PEER}\n    }\n    peer a {\n        ${PEER.replace('127.0.0.2', '127.0.0.3')}\n    }`),
    says: ['line 8: duplicate list key for peer: a (first on line 4) [column 5]'],
  },
  {
    name: 'two peers with one address',
    text: bgp(`    peer a {\n        ${PEER}\n    }\n    peer b {\n        ${PEER}\n    }`),
    says: ['line 9: duplicate peer remote address: 127.0.0.2 (peers a and b) [column 58]'],
  },
  {
    name: 'a string without its end',
    text: 'bgp {\n    router-id "10.0.0.1\n}\n',
    says: ['line 2: unterminated string [column 15]'],
  },
  {
    name: 'control characters in a name are shown, not obeyed',
    text: 'bgp {\n    \u001b[31mred x;\n}\n',
    says: ['line 2: unknown field in bgp: \\x1b [column 5'],
  },
  {
    name: 'a plugin with neither run nor use',
    text: 'plugin { external x { } }\n',
    says: ['line 1: plugin external x needs run or use [column 10]'],
  },
];

describe('configurations that cannot be run', { timeout: 600_000 }, () => {
  let folder: string;
  let environment: NodeJS.ProcessEnv;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'zest-config-'));
    environment = { ...process.env, ze_control_socket: join(folder, 'control.sock'), ze_state_dir: join(folder, 'state') };
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [index, { name, text, says }] of BROKEN.entries()) {
    test(name, async () => {
      const path = join(folder, `broken-${index}.conf`);
      writeFileSync(path, text);
      const [validated, started] = await Promise.all([
        run(process.execPath, [PROGRAM, 'config', 'validate', path], environment),
        run(process.execPath, [PROGRAM, path], environment),
      ]);
      assert.deepEqual([validated.code, started.code], [1, 1], started.stderr);
      for (const output of [validated.stdout, started.stderr]) {
        const lines = output.split('\n');
        assert.equal(lines[0], `configuration invalid: ${path}`);
        const errors = lines.slice(lines.indexOf('Errors:') + 1).filter((line) => line.startsWith('  '));
        for (const [i, wanted] of says.entries())
          assert.ok(errors[i]?.trim().startsWith(wanted), `${errors[i] ?? ''}\nis not\n${wanted}`);
        // Blocks that are open around a missing brace, and entries that clash in another way too, may be named as well.
        assert.ok(errors.length <= says.length + 1, output);
        assert.doesNotMatch(output, /^\s+at |[\u0000-\u0009\u000b-\u001f]/m);
      }
      const json = await run(process.execPath, [PROGRAM, 'config', 'validate', path, '--json'], environment);
      const report = JSON.parse(json.stdout) as { valid: boolean; errors: readonly { line: number; column: number }[] };
      assert.equal(report.valid, false);
      assert.ok(report.errors.every(({ line, column }) => line > 0 && column > 0));
    });
  }

  for (const [what, prepare] of [
    ['a file that is not there', (): string => join(folder, 'absent.conf')],
    ['a folder', (): string => (mkdirSync(join(folder, 'folder.conf')), join(folder, 'folder.conf'))],
  ] as const) {
    test(`${what}: exit code 2`, async () => {
      const path = prepare();
      for (const words of [['config', 'validate', path], [path]]) {
        const { code, stdout, stderr } = await run(process.execPath, [PROGRAM, ...words], environment);
        assert.equal(code, 2);
        assert.equal(stdout, '');
        assert.ok(stderr.includes(path), stderr);
        assert.equal(stderr.trim().split('\n').length, 1, stderr);
      }
    });
  }
});
