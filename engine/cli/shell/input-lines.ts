/** The lines of standard input, for commands that come from no terminal. Ctrl-C ends them; who stops reading lets go of the input. */
import { createInterface } from 'node:readline';
import type { CliIo } from '../io.ts';

export async function* inputLines(io: CliIo): AsyncGenerator<string> {
  const lines = createInterface({ input: io.stdin, terminal: false, signal: io.interrupted });
  try {
    for await (const line of lines) yield line;
  } finally {
    lines.close();
  }
}
