// Reading a configuration with what its plugins bring: who is asked when, and what an operator reads when nobody knows a name.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Asking, declarationsOf, loadWithPlugins } from '../../../engine/compose/declarations.ts';
import { faultText } from '../../../engine/config/validate-report.ts';
import { systemClock } from '../../../engine/core/clock.ts';
import type { DeclareRegistrationInput } from '../../../yang/generated/methods.ts';

const yang = (name: string, body: string, more = ''): string =>
  `module ${name} { namespace "urn:${name}"; prefix ${name}; ${more} ${body} }`;
const schemaOf = (name: string, body: string, more?: string): DeclareRegistrationInput => ({
  schema: { module: name, 'yang-text': yang(name, body, more) },
});
const acme = schemaOf('acme', 'container acme { leaf x { type uint8; } }');
/** A program that says so, and leaves a mark that it ran. */
const says = (name: string, declaration: DeclareRegistrationInput): string =>
  `external ${name} { run "touch ran-${name}; printf '%s %s\\\\n' '#1 ze-plugin-engine:declare-registration' '${JSON.stringify(declaration).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}'"; }`;
const mute = (name: string): string => `external ${name} { run "touch ran-${name}; exit 4"; }`;

describe('configurations with plugins', { timeout: 600_000 }, () => {
  let folder: string;
  const asking = (known?: Asking['known']): Asking => ({
    builtins: [
      {
        name: 'shipped',
        placement: 'main',
        moduleUrl: 'file:///none',
        schema: { module: 'ship', 'yang-text': yang('ship', 'container ship { leaf y { type string; } }') },
      },
    ],
    folder,
    binFolder: '/bin',
    environment: process.env,
    clock: systemClock,
    known,
  });
  const load = async (
    text: string,
    known?: Asking['known'],
  ): Promise<{ ok: boolean; errors: string[]; warnings: string[]; section: unknown }> => {
    const { result } = await loadWithPlugins(text, { path: 't', env: {}, usable: ['shipped'] }, asking(known));
    const errors = result.ok ? [] : result.faults.map(faultText);
    return {
      ok: result.ok,
      errors,
      warnings: result.warnings.map((one) => one.message),
      section: result.ok ? result.config.section('acme') : undefined,
    };
  };
  const ran = (name: string): boolean => existsSync(join(folder, `ran-${name}`));
  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'zest-declarations-')));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('nothing is started for a text that says nothing new', async () => {
    assert.ok((await load(`plugin { ${says('a', acme)} }`)).ok);
    assert.ok(!ran('a'));
  });

  test('a name nobody knows: the plugins are asked, the block is read', async () => {
    const { ok, section, errors } = await load(`plugin { ${says('b', acme)} }\nacme { x 7; }`);
    assert.ok(ok, errors.join('\n'));
    assert.deepEqual(section, { acme: { x: 7 } });
    assert.ok(ran('b'));
  });

  test('a running plugin has said so already', async () => {
    const { ok } = await load(`plugin { ${mute('c')} }\nacme { x 7; }`, (plugin) => (plugin.name === 'c' ? acme : undefined));
    assert.ok(ok);
    assert.ok(!ran('c'));
  });

  test('what ships with the engine is known without asking', async () => {
    assert.ok((await load(`plugin { ${mute('d')} }\nship { y z; }`)).ok);
    assert.ok(!ran('d'));
  });

  test('a plugin that says nothing is named, with what would help, behind the name nobody knows', async () => {
    const { ok, errors } = await load(`plugin {\n ${mute('e')}\n}\nacme { x 7; }`);
    assert.ok(!ok);
    assert.equal(errors[0], 'line 4: unknown top-level keyword: acme [column 1]');
    assert.match(
      errors[1] ?? '',
      /^line 2: plugin e: did not say what it adds to the configuration \(no-answer: it sent nothing \(exit code 4\)\); .*ZE_PLUGIN_MODE=declare/,
    );
  });

  test('it is not named when all names are known', async () => {
    const { ok, warnings } = await load(`plugin { ${mute('f')} ${says('g', acme)} }\nacme { x 7; }`);
    assert.ok(ok);
    assert.deepEqual(warnings, []);
  });

  test('two plugins in conflict: the first is taken, the other named', async () => {
    const other = schemaOf('other', 'container acme { leaf z { type string; } }');
    const { ok, warnings } = await load(`plugin { ${says('h', acme)} ${says('i', other)} }\nacme { x 7; }`);
    assert.ok(ok);
    assert.deepEqual(warnings, [
      'plugin i: would be refused: schema of plugin i: other:1: module other: node "acme" exists already',
    ]);
  });

  test('a module that stands on one of a plugin further down', async () => {
    const upon = schemaOf('upon', 'augment "/acme:acme" { leaf deep { type string; } }', 'import acme { prefix acme; }');
    const { ok, section, errors } = await load(`plugin { ${says('j', upon)} ${says('k', acme)} }\nacme { deep sea; }`);
    assert.ok(ok, errors.join('\n'));
    assert.deepEqual(section, { acme: { deep: 'sea' } });
  });

  test('families of plugins are names of the configuration', async () => {
    const declared: DeclareRegistrationInput = { families: [{ name: 'acme/things', mode: 'both', afi: 16400, safi: 200 }] };
    const text = `plugin { ${says('l', declared)} }
      bgp { router-id 1.1.1.1; session { asn { local 1; } } peer p { connection { local { ip auto; } remote { ip 10.0.0.1; } }
      session { asn { remote 2; } family { Acme/things { prefix { maximum 5; } } } } } }`;
    const { result } = await loadWithPlugins(text, { path: 't', env: {} }, asking());
    assert.ok(result.ok, JSON.stringify(result));
    assert.equal(result.config.reactor.peers[0]?.families[0]?.family, (16400 << 8) | 200);
  });

  test('a use that names nothing, with a guess; a path is no name', async () => {
    const { errors } = await load('plugin { external m { use shiped; } external n { use ./x.js; } }');
    assert.deepEqual(errors, [
      'line 1: plugin external m: no built-in plugin is called "shiped" (a module\'s path begins with ./, ../ or /) (did you mean "shipped"?) [column 27]',
    ]);
  });

  test('the declarations of a text are asked whatever else is wrong with it', async () => {
    const answers = await declarationsOf(
      `plugin { ${says('o', acme)} ${mute('p')} }\nnonsense {`,
      { path: 't', env: {} },
      asking(),
    );
    assert.deepEqual(
      answers.map(({ plugin, outcome }) => [plugin, outcome]),
      [
        ['o', 'declared'],
        ['p', 'no-answer'],
      ],
    );
  });
});
