// sdk/README.md: what it says is run. Files are written as they stand, programs and tests run, configurations validated, commands typed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { after } from 'node:test';
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript';
import { CALLBACK_METHODS, ENGINE_METHODS } from '../../../yang/generated/methods.ts';
import * as sdk from '../../../sdk/plugin/index.ts';
import { type PluginDefinition } from '../../../sdk/plugin/index.ts';
import { replay } from '../../../sdk/testing/index.ts';
import { eventually, freePort, PROGRAM, run } from '../../support/zest-process.ts';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'sdk/README.md'), 'utf8');
const skip = existsSync(PROGRAM) ? false : 'dist is not built';
const folder = mkdtempSync(join(tmpdir(), 'zest-sdk-readme-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Block {
  readonly language: string;
  readonly marks: Readonly<Record<string, string>>;
  readonly text: string;
  readonly line: number;
}

const blocks: readonly Block[] = [...page.matchAll(/^```(\S+)([^\n]*)\n([^]*?)^```$/gm)].map((match) => ({
  language: match[1] ?? '',
  marks: Object.fromEntries(
    (match[2] ?? '')
      .trim()
      .split(/\s+/)
      .filter((word) => word !== '')
      .map((word) => word.split('=', 2) as [string, string]),
  ),
  text: match[3] ?? '',
  line: page.slice(0, match.index).split('\n').length,
}));

// The reader's folder, as `npm install` would leave it.
const modules = join(folder, 'node_modules');
mkdirSync(join(modules, '@types'), { recursive: true });
symlinkSync(root, join(modules, 'zest-bgp'));
for (const name of ['@types/node', 'undici-types']) {
  if (existsSync(join(root, 'node_modules', name))) symlinkSync(join(root, 'node_modules', name), join(modules, name));
}
writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
for (const { marks, text } of blocks) {
  const path = marks['file'];
  if (path === undefined) continue;
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const environment = { ...process.env, NODE_TEST_CONTEXT: undefined };

test('every block is of a kind that is tested', () => {
  assert.deepEqual([...new Set(blocks.map((block) => block.language))].sort(), ['conf', 'console', 'js', 'recording', 'ts']);
  assert.ok(blocks.length > 20);
  for (const block of blocks)
    if (block.language === 'js' || block.language === 'conf') assert.ok(block.marks['file'], `line ${block.line}`);
});

test('the page names every method and everything an author imports', () => {
  for (const method of [...CALLBACK_METHODS, ...ENGINE_METHODS]) {
    assert.ok(page.includes(`\`${method.replace(/^.*:/, '')}\``), method);
  }
  const unnamed = Object.keys(sdk).filter((name) => !new RegExp(`\\b${name}\\b`).test(page));
  // Parts of others, described where they are met.
  assert.deepEqual(unnamed.sort(), [
    'AnswerReader',
    'STRUCTURED_KIND',
    'StateStore',
    'Union',
    'attributeText',
    'documentAnswer',
    'parseJson',
    'selectorText',
    'stderrLog',
  ]);
});

test('every TypeScript block is right', { skip }, () => {
  const types = join(folder, 'types');
  mkdirSync(types);
  const imports = `import { definePlugin, type Engine, failedAnswer, journal, RouteSender, union } from 'zest-bgp/sdk';\nimport { FakeEngine } from 'zest-bgp/sdk/testing';\nvoid [definePlugin, failedAnswer, journal, RouteSender, union, FakeEngine];\n`;
  for (const { language, marks, text, line } of blocks) {
    if (language !== 'ts') continue;
    const program = 'program' in marks;
    const body = program
      ? text
      : `${imports}export async function fragment(engine: Engine): Promise<void> {\nvoid engine;\nawait Promise.resolve();\n${text}}\n`;
    writeFileSync(join(types, `line-${line}.ts`), body);
  }
  const options = [
    '--strict',
    '--noEmit',
    '--target',
    'es2022',
    '--lib',
    'es2023,esnext.disposable',
    '--module',
    'nodenext',
    '--types',
    'node',
    '--skipLibCheck',
    '--noUncheckedIndexedAccess',
  ];
  const files = blocks.filter((block) => block.language === 'ts').map((block) => join(types, `line-${block.line}.ts`));
  assert.ok(files.length >= 8);
  const checked = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...options, ...files], {
    cwd: folder,
    encoding: 'utf8',
  });
  assert.equal(checked.status, 0, checked.stdout);
});

test('every fragment registers what it says, in a plugin that starts', { skip }, () => {
  const imports = `import { definePlugin, failedAnswer, journal, RouteSender, union } from 'zest-bgp/sdk';\nimport { FakeEngine } from 'zest-bgp/sdk/testing';\n`;
  let started = 0;
  for (const { language, marks, text, line } of blocks) {
    if (language !== 'ts' || 'program' in marks) continue;
    const code = transpileModule(
      `const fragment = async (engine: unknown) => {
${text}};
`,
      {
        compilerOptions: { target: ScriptTarget.ES2022, module: ModuleKind.ESNext },
      },
    ).outputText;
    const path = join(folder, `fragment-${line}.js`);
    writeFileSync(
      path,
      `${imports}${code}\nconst probe = definePlugin({ name: 'probe', setup: (engine) => fragment(engine) });\nconst engine = await FakeEngine.start(probe);\nengine.answerCommand('rib best', () => [{ prefix: '192.0.2.0/24' }]);\nawait engine.close();\n`,
    );
    const ran = spawnSync(process.execPath, [path], { cwd: folder, encoding: 'utf8', env: environment });
    assert.equal(ran.status, 0, `line ${line}: ${ran.stderr}`);
    started++;
  }
  assert.ok(started >= 8);
});

for (const { marks, line } of blocks.filter((block) => block.marks['run'] === 'test')) {
  test(`the test at line ${line} passes`, { skip }, () => {
    const ran = spawnSync(process.execPath, ['--test', join(folder, marks['file'] ?? '')], {
      cwd: folder,
      encoding: 'utf8',
      env: environment,
    });
    assert.equal(ran.status, 0, ran.stdout + ran.stderr);
    assert.match(ran.stdout, /^(?:#|ℹ) pass [12]$/m);
  });
}

for (const { marks, line } of blocks.filter((block) => block.language === 'conf')) {
  test(`the configuration at line ${line} is valid`, { skip }, async () => {
    const checked = await run(process.execPath, [PROGRAM, 'config', 'validate', join(folder, marks['file'] ?? '')]);
    assert.equal(checked.code, 0, checked.stdout + checked.stderr);
  });
}

for (const { marks, text, line } of blocks.filter((block) => block.language === 'recording')) {
  test(`the recording at line ${line} is what the plugin says`, { skip }, async () => {
    const module = (await import(pathToFileURL(join(folder, marks['plugin'] ?? '')).href)) as {
      readonly default: PluginDefinition;
    };
    assert.deepEqual(await replay(module.default, text), { same: true, difference: '' });
  });
}

/** Commands of a console block with the output below each; `…` on a line of its own stands for anything. */
function typed(text: string): readonly { readonly command: string; readonly output: string }[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...output] = part.split('\n');
      return { command, output: output.join('\n') };
    });
}

function shows(actual: string, expected: string): void {
  if (!expected.includes('…')) {
    assert.equal(actual, expected);
    return;
  }
  const pieces = expected.split(/^…\n/m).filter((piece) => piece !== '');
  for (const piece of pieces) assert.ok(actual.includes(piece), `${piece} in ${actual}`);
}

for (const { marks, text, line } of blocks.filter((block) => block.language === 'console')) {
  test(`the commands at line ${line} print what they say`, { skip }, async () => {
    const config = marks['daemon'];
    const shell = (command: string, more: NodeJS.ProcessEnv = {}): string => {
      const real = command.replace(/\bnpx zest\b/, `${process.execPath} ${PROGRAM}`).replace(/\bnode\b(?! )/, process.execPath);
      const ran = spawnSync('sh', ['-c', real], { cwd: folder, encoding: 'utf8', env: { ...environment, ...more } });
      assert.equal(ran.status, 0, `${command}: ${ran.stderr}`);
      return ran.stdout;
    };
    if (config === undefined) {
      for (const { command, output } of typed(text)) shows(shell(command), output);
      return;
    }
    const port = await freePort();
    const socket = { ze_control_socket: join(folder, `${config}.sock`), ze_state_dir: join(folder, 'state') };
    const own = join(folder, `port-${config}`);
    writeFileSync(own, readFileSync(join(folder, config), 'utf8').replaceAll('17900', String(port)));
    const env = { ...environment, ...socket };
    const daemon = spawn(process.execPath, [PROGRAM, own], { cwd: folder, env, stdio: 'ignore' });
    const speaker = ['lab', '--connect', `127.0.0.1:${port}`, '--local', '127.0.0.2', '--as', '65001', '--announce', '10'];
    const lab = spawn(process.execPath, [PROGRAM, ...speaker], { env, stdio: 'ignore' });
    try {
      const [first] = typed(text);
      assert.ok(first);
      await eventually('the first answer', () => (shell(first.command, socket) === first.output ? true : undefined));
      for (const { command, output } of typed(text).slice(1)) shows(shell(command, socket), output);
    } finally {
      lab.kill('SIGKILL');
      const gone = new Promise((done) => daemon.once('exit', done));
      daemon.kill('SIGTERM');
      await gone;
    }
  });
}
