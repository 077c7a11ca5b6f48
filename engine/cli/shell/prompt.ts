// One line of a terminal, with its history, Tab, and what was typed while the last command ran. Shared by the shell and the editor.
import { createInterface, type CompleterResult } from 'node:readline';
import type { CliIo } from '../io.ts';
import type { History } from './history.ts';

export interface Prompt {
  readonly text: string;
  readonly history: History;
  /** Keys that came before the prompt: they stand in the line already. */
  readonly typedAhead: string;
  /** Words for Tab, and the part of the line they stand for. */
  readonly complete: (line: string) => Promise<CompleterResult> | CompleterResult;
}

/** `undefined` at Ctrl-D. A Ctrl-C empties the line. */
export function promptLine(io: CliIo, { text, history, typedAhead, complete }: Prompt): Promise<string | undefined> {
  return new Promise((resolve) => {
    const reader = createInterface({
      input: io.stdin,
      output: io.stdout,
      terminal: true,
      history: [...history.lines],
      historySize: Math.max(1, history.limit),
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: null, result: CompleterResult) => void) => {
        Promise.resolve(complete(line)).then(
          (result) => done(null, result),
          () => done(null, [[], line]),
        );
      },
    });
    let answer: string | undefined;
    reader.on('line', (line) => {
      answer = line;
      reader.close();
    });
    reader.on('SIGINT', () => {
      io.stdout.write('^C');
      answer = '';
      reader.close();
    });
    reader.on('close', () => {
      io.stdout.write(answer === undefined || answer === '' ? '\n' : '');
      resolve(answer);
    });
    reader.setPrompt(text);
    reader.prompt();
    if (typedAhead !== '') reader.write(typedAhead);
  });
}
