/**
 * Files of a plugin in JavaScript or TypeScript. One text serves both: what stands between `/*ts` marks is for TypeScript alone. `@NAME@`
 * is the plugin's name, `@EXT@` what its modules end in where they are imported, `@PACKAGE@` the SDK's package.
 */

/** The plugin itself, the same inside the daemon and outside. */
export const PLUGIN_MODULE = `// @NAME@: counts the updates of each peer. \`setup\` registers and does nothing else: files, timers and calls begin in onStarted.
import { definePlugin } from '@PACKAGE@/sdk';

export default definePlugin({
  name: '@NAME@',
  failurePolicy: 'restart',
  setup(engine) {
    /** By the peer's number. */
    const seen = new Map/*ts<number, { updates: number; up: boolean }>ts*/();
    const of = (peer/*ts: numberts*/)/*ts: { updates: number; up: boolean }ts*/ => {
      let one = seen.get(peer);
      if (one === undefined) seen.set(peer, (one = { updates: 0, up: false }));
      return one;
    };

    engine.onState((peer, up) => {
      of(peer).up = up;
      engine.log.info({ peer: engine.peers.name(peer), up }, 'session changed');
    });

    // A batch is many updates as bytes. Nothing of it may be kept; '@PACKAGE@/sdk/wire' reads what is inside.
    engine.onUpdates((batch) => {
      for (let row = 0; row < batch.count; row++) of(batch.peer(row)).updates++;
    });

    // A generator answers row by row. The signal aborts when nobody reads any more.
    engine.command(
      '@NAME@ peers',
      { 'short-help': 'Peers and their updates', shape: 'map', columns: ['peer', 'up', 'updates'] },
      function* (_input, signal) {
        for (const [peer, { up, updates }] of seen) {
          if (signal.aborted) return;
          yield { peer: engine.peers.name(peer), up, updates };
        }
      },
    );
  },
});
`;

/** Outside the daemon: the main module of the process. */
export const MAIN_MODULE = `// The process that the daemon starts: connects back, runs until the daemon says goodbye.
import { runExternal } from '@PACKAGE@/sdk';
import plugin from './plugin@EXT@';

await runExternal(plugin);
`;

/** Tests of the plugin without a daemon. */
export const PLUGIN_TEST = `// The plugin against an engine in memory: the same five stages, the same lines, no daemon.
import assert from 'node:assert/strict';
import test from 'node:test';
import { FakeEngine } from '@PACKAGE@/sdk/testing';
import plugin from '../src/plugin@EXT@';

test('updates are counted by peer', async (t) => {
  const engine = await FakeEngine.start(plugin@OPTIONS@);
  t.after(() => engine.close());
  await engine.up('edge');
  await engine.update('edge', { announce: { 'ipv4/unicast': ['192.0.2.0/24'] } });
  await engine.update('edge', { withdraw: { 'ipv4/unicast': ['192.0.2.0/24'] } });
  await engine.up('other');
  await engine.down('other');
  const { rows } = await engine.execute('@NAME@ peers');
  assert.deepEqual(rows, [
    { peer: 'edge', up: true, updates: 2 },
    { peer: 'other', up: false, updates: 0 },
  ]);
});

test('it asks to be started again when it dies', async (t) => {
  const engine = await FakeEngine.start(plugin@OPTIONS@);
  t.after(() => engine.close());
  assert.equal(engine.registration['failure-policy'], 'restart');
});
`;

/** Compiler settings of a plugin in TypeScript. */
export const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2022",
    "lib": ["es2023", "esnext.disposable"],
    "module": "nodenext",
    "types": ["node"],
    "rootDir": ".",
    "outDir": "dist",
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "verbatimModuleSyntax": true,
    "rewriteRelativeImportExtensions": true,
    "skipLibCheck": true
  },
  "include": ["src", "test"]
}
`;
