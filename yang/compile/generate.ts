// `npm run generate`: compiles yang/*.yang and writes yang/generated/*.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles } from './outputs.ts';

const folder = join(import.meta.dirname, '..', 'generated');
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(generatedFiles())) {
  writeFileSync(join(folder, name), text);
  process.stdout.write(`yang/generated/${name}: ${text.length} characters\n`);
}
