/** Query mode: answering what the plugin declares without starting it (`ZE_PLUGIN_MODE=declare`). */
import type { DeclareRegistrationInput } from '../../yang/generated/methods.ts';
import { messageOf } from '../rpc/errors.ts';
import { stringifyJson } from '../rpc/json.ts';
import { type Environment, readVariable } from '../rpc/tls.ts';

export interface QueryHost {
  readonly environment?: Environment | undefined;
  /** Resolves when the text has left. */
  readonly writeOut?: ((text: string) => Promise<void>) | undefined;
  readonly writeError?: ((text: string) => void) | undefined;
}

/** Reports the mode; whatever ran above the question has run already. */
export function queryModeRequested(environment: Environment = process.env): boolean {
  return readVariable(environment, 'ZE_PLUGIN_MODE') === 'declare';
}

/**
 * In query mode writes the stage 1 line to stdout and resolves to 0 without calling `start`; else runs `start` and resolves
 * to its exit code (0 when it gives none). `process.exitCode = await runOrDeclare(declaration, start)`.
 */
export async function runOrDeclare(
  declaration: DeclareRegistrationInput,
  start: () => number | undefined | Promise<number | undefined>,
  host: QueryHost = {},
): Promise<number> {
  if (typeof start !== 'function') throw new TypeError('runOrDeclare needs a start function');
  const writeError = host.writeError ?? ((text) => void process.stderr.write(text));
  if (!queryModeRequested(host.environment)) {
    try {
      return (await start()) ?? 0;
    } catch (error) {
      writeError(`error: ${messageOf(error)}\n`);
      return 1;
    }
  }
  try {
    const line = `#1 ze-plugin-engine:declare-registration ${stringifyJson(declaration) ?? '{}'}\n`;
    await (host.writeOut ?? writeToStdout)(line);
    return 0;
  } catch (error) {
    writeError(`error: declaration query: ${messageOf(error)}\n`);
    return 1;
  }
}

function writeToStdout(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(error);
    process.stdout.once('error', fail);
    process.stdout.write(text, (error) => {
      process.stdout.off('error', fail);
      if (error === null || error === undefined) resolve();
      else reject(error);
    });
  });
}
