// What the daemon bench puts beside the built program: bench plugins as JavaScript, in the build folder of the checks, where they find `zest-bgp`.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';

export const ROOT: string = resolve(import.meta.dirname, '../..');
export const PROGRAM: string = join(ROOT, 'dist/engine/main.js');
export const VERSION: string = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;

/** Translates every bench plugin and says in which folder they are. Throws when the program itself is not built. */
export function prepare(): string {
  if (!existsSync(PROGRAM)) throw new Error('the program is not built: npm run build');
  const from = join(import.meta.dirname, 'programs');
  const to = join(ROOT, '.tsbuild/bench');
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from).filter((it) => it.endsWith('.ts'))) {
    const { outputText } = ts.transpileModule(readFileSync(join(from, name), 'utf8'), {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, rewriteRelativeImportExtensions: true },
    });
    writeFileSync(join(to, name.replace(/\.ts$/, '.js')), outputText);
  }
  return to;
}
