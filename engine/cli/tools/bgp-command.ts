/** `zest bgp decode|encode`: BGP bytes read and written without a daemon. */
import { DECODE_HELP, decodeCommand } from '../../offline/decode.ts';
import { ENCODE_HELP, encodeCommand } from '../../offline/encode.ts';
import { readAll } from './daemon-command.ts';
import { visible, visibleJson, visibleLines } from '../answers/escape.ts';
import { EXIT, type CliIo } from '../io.ts';
import { UsageError, type GlobalOptions } from '../options.ts';

export async function bgpCommand(args: readonly string[], io: CliIo, options: GlobalOptions): Promise<number> {
  const words = args.filter((arg) => arg !== '--help');
  const [verb, ...rest] = words;
  if (words.length < args.length || verb === undefined) {
    io.stdout.write(verb === 'encode' ? ENCODE_HELP : verb === 'decode' ? DECODE_HELP : `${DECODE_HELP}\n${ENCODE_HELP}`);
    return EXIT.done;
  }
  if (verb !== 'decode' && verb !== 'encode') throw new UsageError(`zest bgp decode or encode, not "${verb}"`);
  const input = verb === 'decode' && rest.includes('-') ? await readAll(io) : '';
  const result = verb === 'decode' ? decodeCommand(rest, input, options.json) : encodeCommand(rest);
  const document = options.json ? jsonOf(verb, result) : undefined;
  io.stdout.write(document ?? result.stdout);
  if (document === undefined || result.code === 0) io.stderr.write(visibleLines(result.stderr));
  return result.code;
}

/** What is not JSON yet, as one document. */
function jsonOf(verb: string, result: { readonly stdout: string; readonly stderr: string; readonly code: number }): string {
  if (result.code !== 0) return `${JSON.stringify({ status: 'error', error: visible(result.stderr.trim()) })}\n`;
  if (verb === 'decode') return visibleJson(result.stdout);
  return `${JSON.stringify({ messages: result.stdout.trim().split('\n') })}\n`;
}
