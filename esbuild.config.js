// The build of the program: a few files in place of six hundred, since finding, reading and linking that many modules was a third of the start.
// Types are the compiler's (tsconfig.build.json). What a thread, a plugin or a user of the package imports by name is an entry; all of them
// share chunks, so that a class is the same class wherever it is imported from.
import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const OUT = 'dist';
const CHUNKS = 'engine/chunks';

const indexes = (folder) =>
  readdirSync(folder)
    .flatMap((name) => `${folder}/${name}/index.ts`)
    .filter(existsSync);
const examples = readdirSync('examples', { recursive: true })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `examples/${name}`);

rmSync(`${OUT}/${CHUNKS}`, { recursive: true, force: true });
await build({
  entryPoints: [
    'engine/main.ts',
    'engine/daemon.ts',
    'engine/thread.ts',
    'engine/core/program.ts',
    'engine/host/bridge/thread-main.ts',
    // Tests start threads of the built host.
    'engine/host/host.ts',
    'engine/host/startup/launch.ts',
    ...indexes('plugins'),
    ...indexes('sdk'),
    ...examples,
  ],
  outdir: OUT,
  outbase: '.',
  bundle: true,
  splitting: true,
  chunkNames: `${CHUNKS}/[name]-[hash]`,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
});
chmodSync(`${OUT}/engine/main.js`, 0o755);
