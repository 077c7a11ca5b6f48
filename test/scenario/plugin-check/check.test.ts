// `zest plugin check` as its users run it: plugins of three languages keep every rule; each kind of misdeed is named.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { writeScript } from '../../support/write-script.ts';
import { PROGRAM, run } from '../../support/zest-process.ts';

interface Rule {
  readonly rule: string;
  readonly outcome: string;
  readonly detail: string;
}
interface Report {
  readonly kept: number;
  readonly broken: number;
  readonly rules: readonly Rule[];
}

const root = resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'zest-plugin-check-'));
after(() => rmSync(folder, { recursive: true }));
writeScript(folder, 'raw-plugin');
const raw = (words: string): string => `exec '${process.execPath}' '${join(folder, 'raw-plugin.mjs')}' ${words}`;

async function check(command: string): Promise<{ readonly code: number; readonly report: Report }> {
  const ran = await run(process.execPath, [PROGRAM, '--json', 'plugin', 'check', command]);
  assert.equal(ran.stderr, '');
  return { code: ran.code, report: JSON.parse(ran.stdout) as Report };
}

/** Without a declared config-rollback the raw plugin answers everything by `ok`, which some rules want otherwise. */
function broken(report: Report): string[] {
  return report.rules.filter((rule) => rule.outcome === 'broken').map((rule) => rule.rule);
}

test('the examples keep every rule', async (t) => {
  for (const [name, command] of [
    ['python', `python3 '${join(root, 'examples/watch-updates-py/plugin.py')}'`],
    ['typescript', `cd '${root}' && exec '${process.execPath}' --import tsx examples/watch-updates-ts/plugin.ts`],
  ] as const) {
    await t.test(name, async () => {
      const { code, report } = await check(command);
      assert.deepEqual([broken(report), code], [[], 0]);
      assert(report.kept > 25, `${report.kept} rules were kept`);
    });
  }
});

test('each misdeed is named by its rule', async (t) => {
  const rows: readonly (readonly [what: string, words: string, rule: string, detail: RegExp])[] = [
    ['it ends before it connects', 'at=0 how=exit', 'connect', /ended with 0/],
    ['the wrong method first', 'at=1 how=wrong-method', 'stage.1', /sent ze-plugin-engine:ready/],
    ['silence in a stage', 'at=1 how=silent', 'stages', /no request within 5 s/],
    ['it is killed in stage 3', 'at=3 how=kill', 'stages', /closed its connection/],
    ['lines that are none', 'at=6 how=few-bad-lines', 'lines', /no message/],
    ['it dies at an event', 'at=7 how=kill', 'two-at-once', /closed its connection/],
  ];
  for (const [what, words, rule, detail] of rows) {
    await t.test(what, async () => {
      const { code, report } = await check(raw(words));
      assert.equal(code, 1);
      const found = report.rules.find((one) => one.rule === rule);
      assert.equal(found?.outcome, 'broken', JSON.stringify(report.rules));
      assert.match(found.detail, detail);
    });
  }
});

test('a record answer is measured', async (t) => {
  const plugin = join(folder, 'counts.py');
  const answers: readonly (readonly [what: string, lines: string, detail: RegExp])[] = [
    [
      'counts that do not agree',
      '#{} top map 0: 0:\\n#{} row 2:{{}}\\n#{} end 3 0 0:\\n',
      /counts 3 and 0, and there were 1 rows/,
    ],
    [
      'a row of the wrong width',
      '#{} top tab 0: 9:["a","b"]\\n#{} row 3:[1]\\n#{} end 1 0 0:\\n',
      /not one value for each of 2 columns/,
    ],
    ['no head', '#{} row 2:{{}}\\n#{} end 1 0 0:\\n', /not with a head/],
    ['a record that is no JSON', '#{} top map 0: 0:\\n#{} row 3:abc\\n#{} end 1 0 0:\\n', /no JSON/],
    ['an ok in its place', '#{} ok\\n', /begins with ok/],
  ];
  for (const [what, lines, detail] of answers) {
    await t.test(what, async () => {
      writeFileSync(plugin, PYTHON.replace('ANSWER', lines));
      const { report } = await check(`python3 '${plugin}'`);
      const found = report.rules.find((one) => one.rule === 'command.probe run');
      assert.equal(found?.outcome, 'broken', JSON.stringify(report.rules));
      assert.match(found.detail, detail);
    });
  }
});

test('a filter that changes what it did not declare is named', async () => {
  const plugin = join(folder, 'filter.py');
  const declared = PYTHON.replace(
    '{"commands":[{"name":"probe run"}]}',
    '{"filters":[{"name":"f","direction":"import","attributes":["med"]}]}',
  );
  const answer = '        write(number + \' ok {"action":"modify","update":"local-preference 1"}\\n\')\n';
  writeFileSync(plugin, declared.replace('    else:', `    elif method.endswith(":filter-update"):\n${answer}    else:`));
  const { report } = await check(`python3 '${plugin}'`);
  const found = report.rules.find((one) => one.rule === 'filter.f');
  assert.deepEqual([found?.outcome, found?.detail], ['broken', 'it changes local-preference, which it did not declare']);
});

test('what is not a check is said', async () => {
  for (const [args, message] of [
    [[], /needs the command/],
    [['--name', 'a b', 'true'], /letters, digits and hyphens/],
    [['--section', 'acme', 'true'], /ROOT=JSON/],
    [['--no-such', 'true'], /unknown option/],
  ] as const) {
    const ran = await run(process.execPath, [PROGRAM, 'plugin', 'check', ...args]);
    assert.notEqual(ran.code, 0);
    assert.match(ran.stderr, message);
  }
});

/** The least of a plugin, from the protocol's text; one command answered as the test says. */
const PYTHON = String.raw`
import json, os, socket, ssl
context = ssl.create_default_context(cadata=os.environ["ZE_PLUGIN_CA_PEM"])
context.check_hostname = False
raw = socket.create_connection((os.environ["ZE_PLUGIN_HUB_HOST"], int(os.environ["ZE_PLUGIN_HUB_PORT"])))
link = context.wrap_socket(raw)
lines = link.makefile("rb")
def write(text):
    link.sendall(text.encode())
def serve():
    number, method = lines.readline().decode().split(" ")[:2]
    write(number + " ok\n")
write("#0 auth " + json.dumps({"token": os.environ["ZE_PLUGIN_HUB_TOKEN"], "name": os.environ["ZE_PLUGIN_NAME"]}) + "\n")
lines.readline()
write('#1 ze-plugin-engine:declare-registration {"commands":[{"name":"probe run"}]}\n')
lines.readline()
serve()
write('#2 ze-plugin-engine:declare-capabilities {"capabilities":[]}\n')
lines.readline()
serve()
write("#3 ze-plugin-engine:ready\n")
lines.readline()
for line in lines:
    number, method = line.decode().rstrip("\n").split(" ")[:2]
    if method.endswith(":execute-command"):
        write('''ANSWER'''.replace("#{}", number).replace("{{}}", "{}"))
    else:
        write(number + " ok\n")
    if method.endswith(":bye"):
        break
`;
