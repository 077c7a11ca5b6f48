// A program in a terminal of its own (script(1)): what is typed, and what stands on the screen.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';

export const hasScript = spawnSync('script', ['--version']).status === 0;

export class Terminal {
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  #seen = '';
  #wake: () => void = () => undefined;

  constructor(command: readonly string[], environment: NodeJS.ProcessEnv, folder?: string) {
    const line = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    this.#child = spawn('script', ['-qec', line, '/dev/null'], {
      env: { ...environment, TERM: 'xterm' },
      stdio: ['pipe', 'pipe', 'inherit'],
      cwd: folder,
    });
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      // Where the cursor goes is no matter of these tests.
      this.#seen = (this.#seen + chunk.toString()).replaceAll(/\u001b\[[\d;]*[A-Za-z]/g, '');
      this.#wake();
    });
    this.ended = new Promise((resolve) => this.#child.once('exit', resolve));
  }

  type(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Waits for the pattern in what was printed since the last one that was waited for; returns all of that. */
  async until(pattern: RegExp): Promise<string> {
    const deadline = AbortSignal.timeout(30_000);
    while (!pattern.test(this.#seen)) {
      assert.ok(!deadline.aborted, `waited for ${String(pattern)} in ${JSON.stringify(this.#seen)}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        deadline.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    const seen = this.#seen;
    this.#seen = '';
    return seen;
  }

  /** A line and its answer, up to the next prompt. */
  async line(text: string, prompt = /zest\*?# $/): Promise<string> {
    this.type(`${text}\r`);
    return await this.until(prompt);
  }

  kill(): void {
    this.#child.kill();
  }
}
