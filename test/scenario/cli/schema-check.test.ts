// `zest schema check`: YANG modules from files, each with what it imports, through the command line.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { stage, temporaryFolder } from './stage.ts';

const text = (name: string, body: string, revision = '2026-01-01'): string =>
  `module ${name} {\n  yang-version 1.1;\n  namespace "urn:${name}";\n  prefix ${name};\n${body}\n  revision ${revision};\n}\n`;
const FILES: Readonly<Record<string, string>> = {
  'lib/units@2026-01-01.yang': text('units', '  revision 2026-01-01;', '2025-01-01'),
  'lib/units@2026-02-01.yang': text('units', '', '2026-02-01').replace(
    '  revision',
    '  typedef kbit { type uint32; }\n  revision',
  ),
  'good.yang': `module good { yang-version 1.1; namespace "urn:g"; prefix g; import units { prefix u; } import ze-types { prefix zt; }
  revision 2026-03-01; container a { leaf b { type u:kbit; } } notification gone; }`,
  'parts/whole.yang': 'module whole { yang-version 1.1; namespace "urn:w"; prefix w; include half; leaf x { type half-type; } }',
  'parts/half.yang': 'submodule half { yang-version 1.1; belongs-to whole { prefix w; } typedef half-type { type string; } }',
  'import.yang': 'module import {\n  namespace "urn:i";\n  prefix i;\n  import nowhere { prefix n; }\n}',
  'type.yang': 'module type {\n  namespace "urn:t";\n  prefix t;\n  leaf x {\n    type strng;\n  }\n}',
  'braces.yang': 'module braces { '.repeat(10_000),
  'half-string.yang': 'module s {\n  namespace "urn:s',
  'empty.yang': '',
  'text.yang': '\u0000\u0001 { } \u001b[31m',
};

function folderOf(): string {
  const folder = temporaryFolder();
  for (const name of ['lib', 'parts', 'bare']) mkdirSync(join(folder, name));
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(folder, name), content);
  return folder;
}

for (const [name, args, code, fragments] of [
  [
    'a module, its imports from a folder and from this release',
    ['good.yang', '--path', 'lib'],
    0,
    ['good 2026-03-01 compiles, 2 nodes', 'left out: notification gone (line 2)'],
  ],
  ['a folder: a submodule is looked at with its module', ['parts'], 0, ['whole compiles, 1 nodes']],
  ['a submodule alone', ['parts/half.yang'], 1, ['its module "whole" is not among the files']],
  ['an import that is nowhere', ['import.yang'], 1, ['import:4: import nowhere: module "nowhere" is not loaded']],
  ['an import that is not looked for', ['good.yang'], 1, ['"units" is not loaded']],
  ['a type that nobody defines', ['type.yang'], 1, ['type:5:', 'strng']],
  ['10,000 open braces', ['braces.yang'], 1, [': braces:1:', 'deep']],
  ['a string without an end', ['half-string.yang'], 1, [': half-string:2:']],
  ['an empty file', ['empty.yang'], 1, [': empty:1: the module is empty']],
  ['control characters', ['text.yang'], 1, ['text:1: \\x1b[31m']],
  ['one bad file does not hide the others', ['type.yang', 'parts'], 1, ['strng', 'whole compiles']],
  ['a file that is not there', ['none.yang'], 2, ['no such file']],
  ['a folder without modules', ['bare'], 2, ['no .yang file below']],
  ['nothing', [], 1, ['zest schema check FILE']],
] as const) {
  test(`schema check: ${name}`, async () => {
    await using at = await stage();
    const folder = folderOf();
    const {
      code: got,
      stdout,
      stderr,
    } = await at.run(['schema', 'check', ...args.map((arg) => (arg.startsWith('-') ? arg : join(folder, arg)))]);
    const said = stdout + stderr;
    for (const fragment of fragments) assert.ok(said.includes(fragment), `${fragment} is not in:\n${said}`);
    assert.equal(got, code, said);
    assert.doesNotMatch(said, /\n\s+at |[\u0000-\u0009\u000b-\u001f]/);
  });
}

test('schema check: as JSON, with the fault of each module', async () => {
  await using at = await stage();
  const folder = folderOf();
  const { code, stdout } = await at.run(['schema', 'check', join(folder, 'type.yang'), join(folder, 'parts'), '--json']);
  assert.equal(code, 1);
  const rows = JSON.parse(stdout) as readonly Record<string, unknown>[];
  assert.deepEqual(
    rows.map((row) => [row['module'], row['nodes'], row['left-out'], row['problem'] === '']),
    [
      ['type', 0, [], false],
      ['whole', 1, [], true],
    ],
  );
});
