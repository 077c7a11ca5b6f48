// Many commands in one shell leave nothing behind on the streams they share.
import assert from 'node:assert/strict';
import { PassThrough, type Stream } from 'node:stream';
import { test } from 'node:test';
import { Sink, stage, until } from './stage.ts';

const COMMANDS = 30;
const listeners = (stream: Stream): Readonly<Record<string, number>> =>
  Object.fromEntries(['error', 'close', 'drain', 'resize', 'data', 'keypress'].map((name) => [name, stream.listenerCount(name)]));

for (const [name, terminal] of [
  ['on a terminal', true],
  ['by standard input', false],
] as const) {
  test(`${COMMANDS} commands through one shell ${name} leave no listeners`, { timeout: 600_000 }, async () => {
    await using one = await stage();
    const stdin = Object.assign(new PassThrough(), { isTTY: terminal });
    const stdout = Object.assign(new Sink(), { isTTY: terminal });
    const over = one.run(['cli'], { stdin, stdout });
    const seen: Readonly<Record<string, number>>[] = [];
    const answers = (): number => stdout.text.split(/count\b.*3/).length - 1;
    const prompts = (): number => stdout.text.split('zest> \u001b[').length - 1;
    for (let n = 1; n <= COMMANDS; n++) {
      if (terminal) await until('a prompt', () => prompts() >= n);
      stdin.write(terminal ? 'peer list | count | yaml\r' : 'peer list | count\n');
      await until('an answer', () => answers() >= n);
      if (terminal) await until('the next prompt', () => prompts() > n);
      seen.push(listeners(stdout));
    }
    assert.deepEqual(seen.at(-1), seen[1]);
    stdin.end(terminal ? 'exit\r' : 'exit\n');
    assert.equal((await over).code, 0);
  });
}
