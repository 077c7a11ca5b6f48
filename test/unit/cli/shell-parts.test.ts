import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import test from 'node:test';
import { History } from '../../../engine/cli/shell/history.ts';
import type { CliIo } from '../../../engine/cli/io.ts';
import { Pager } from '../../../engine/cli/shell/pager.ts';
import { TerminalKeys } from '../../../engine/cli/shell/terminal-keys.ts';

/** What the pager printed, page by page: cut where it waited for a key. */
async function page(text: string, keys: readonly string[], rows = 5): Promise<{ pages: readonly string[]; quit: boolean }> {
  const pages = [''];
  const quit = new AbortController();
  const write = (piece: string): Promise<void> => {
    if (!piece.startsWith('-- more') && !/^\r +\r$/.test(piece)) pages.push((pages.pop() ?? '') + piece);
    return Promise.resolve();
  };
  let asked = 0;
  const pager = new Pager(
    write,
    {
      next: () => {
        pages.push('');
        return Promise.resolve(keys[asked++] ?? 'q');
      },
    },
    rows,
    10,
    quit,
  );
  for (const piece of text.match(/[^]{1,7}/g) ?? []) await pager.write(piece);
  return { pages, quit: quit.signal.aborted };
}

const lines = (from: number, to: number): string => Array.from({ length: to - from + 1 }, (_, i) => `${from + i}\n`).join('');

test('a page is as high as the terminal less the prompt', async () => {
  assert.deepEqual(await page(lines(10, 15), [' ', ' ']), { pages: [lines(10, 13), lines(14, 15)], quit: false });
});

test('Enter gives one line more, q no more at all', async () => {
  assert.deepEqual(await page(lines(10, 30), ['\r', 'q']), { pages: [lines(10, 13), lines(14, 14), ''], quit: true });
});

test('Ctrl-C leaves the pager too', async () => {
  assert.equal((await page(lines(10, 30), ['\u0003'])).quit, true);
});

test('a line that wraps counts as the rows it takes', async () => {
  const { pages } = await page(`${'x'.repeat(25)}\na\nb\n`, [' ']);
  assert.deepEqual(pages, [`${'x'.repeat(25)}\na\n`, 'b\n']);
});

test('the keyboard: Ctrl-C interrupts, keys go to who waits, the rest is typed ahead', async () => {
  const stdin = new PassThrough();
  let interrupts = 0;
  const keys = new TerminalKeys({ stdin } as unknown as CliIo, () => interrupts++);
  keys.begin();
  const first = keys.next(new AbortController().signal);
  stdin.write('q');
  assert.equal(await first, 'q');
  const gone = new AbortController();
  const second = keys.next(gone.signal);
  gone.abort();
  await assert.rejects(second);
  stdin.write('show\t v\u0003\u001b[A\r');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(keys.end(), 'show v[A\r');
  assert.equal(interrupts, 1);
});

test('history: newest first, no line twice in a row, bounded, for the user alone', () => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-history-'));
  const environment = { ze_state_dir: join(folder, 'state'), 'ze.cli.history': '3' };
  const history = new History(environment);
  for (const line of ['a', 'b', 'b', '  ', 'c', 'd ']) history.add(line);
  history.save();
  assert.equal(readFileSync(history.path ?? '', 'utf8'), 'b\nc\nd\n');
  assert.equal(statSync(history.path ?? '').mode & 0o777, 0o600);
  assert.deepEqual(new History(environment).lines, ['d', 'c', 'b']);
});

for (const [environment, path] of [
  [{ XDG_STATE_HOME: '/s', HOME: '/h' }, '/s/zest/history'],
  [{ HOME: '/h' }, '/h/.local/state/zest/history'],
  [{}, undefined],
] as const) {
  test(`history's place: ${JSON.stringify(environment)}`, () => assert.equal(new History(environment).path, path));
}

test('a history that cannot be written or read costs nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'zest-history-'));
  writeFileSync(join(folder, 'file'), '');
  const history = new History({ ze_state_dir: join(folder, 'file') });
  history.add('x');
  history.save();
  assert.deepEqual(history.lines, ['x']);
});
