// Which modules make which generated file. `generate.ts` writes what this returns; a test compares it with what is committed.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { emitCommands } from './emit-commands.ts';
import { emitConfig, emitModules } from './emit-config.ts';
import { emitMethods } from './emit-methods.ts';
import { emitShapes } from './emit-shapes.ts';
import { SchemaTree } from './tree.ts';

const YANG = join(import.meta.dirname, '..');

/** Every module of the floor: file name to text. */
export function readModules(folder = YANG): Record<string, string> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yang'));
  return Object.fromEntries(files.sort().map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

function only(modules: Readonly<Record<string, string>>, wanted: RegExp): Record<string, string> {
  return Object.fromEntries(Object.entries(modules).filter(([name]) => wanted.test(name)));
}

/** The modules of the configuration: Ze's `*-conf` and what Zest adds to the language. */
export function configModules(modules = readModules()): Record<string, string> {
  return only(modules, /^(ze-(types|extensions)|ze-.*-conf|zest-(?!.*cmd).*)\.yang$/);
}

/** Path below `yang/generated` to text, formatted. */
export function generatedFiles(): Record<string, string> {
  const modules = readModules();
  const protocol = SchemaTree.compile(only(modules, /^ze-(types|extensions|plugin-(types|engine|callback))\.yang$/));
  const commands = SchemaTree.compile(only(modules, /^(ze-(types|extensions)|.*-cmd)\.yang$/));
  const config = configModules(modules);
  const texts = {
    'methods.ts': emitMethods(protocol.rpcs),
    'shapes.ts': emitShapes(protocol.rpcs),
    'commands.ts': emitCommands(commands.root),
    'config.ts': emitConfig(SchemaTree.compile(config).root),
    'modules.ts': emitModules(config),
  };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, format(name, text)]));
}

/** Runs the house formatter over a text. */
function format(name: string, source: string): string {
  const root = join(YANG, '..');
  const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
  const file = join(YANG, 'generated', name);
  return execFileSync(process.execPath, [biome, 'format', `--stdin-file-path=${file}`], {
    cwd: root,
    input: source,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
}
