// Programs of tests that run as processes of their own, as JavaScript: they start in a tenth of the time that a TypeScript loader costs.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** Writes `NAME.mjs` into the folder; run it there with `exec node NAME.mjs WORDS…`. */
export function writeScript(folder: string, name: 'raw-plugin' | 'raw-filter' | 'flood-speaker'): void {
  const source = readFileSync(join(import.meta.dirname, `${name}.ts`), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  });
  writeFileSync(join(folder, `${name}.mjs`), outputText);
}
