// A wire fixture: what each side sends, byte for byte, in order. `plugin:` and `engine:` lines; `plugin|` and `engine|` go on behind a raw
// line feed; `result:` is what the reader of the answer before it makes of it; `only:` names the one side that can play it; `#` is said
// about it. The format is for people: a blank line means nothing.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Side = 'engine' | 'plugin';

export interface Step {
  readonly from: Side;
  /** Without its line feed. */
  readonly line: string;
  readonly id: string;
  /** A method, or `ok`, `error`, `top`, … */
  readonly verb: string;
  /** What stands behind the verb. */
  readonly payload: string;
  /** What the line starts: its answer's lines, in order. Empty for a line that is itself an answer. */
  readonly answer: Step[];
  /** Of a request: what its answer comes to, as JSON. */
  result: string | undefined;
}

export interface Fixture {
  readonly name: string;
  readonly only: 'engine' | 'sdk' | undefined;
  readonly steps: readonly Step[];
}

const FOLDER = join(import.meta.dirname, 'fixtures');

export function fixtures(): Fixture[] {
  return readdirSync(FOLDER)
    .sort()
    .map((file) => parse(file.replace(/\.txt$/, ''), readFileSync(join(FOLDER, file), 'utf8')));
}

export const isRequest = (step: Step): boolean => step.verb.includes(':');

function parse(name: string, text: string): Fixture {
  let only: Fixture['only'];
  const steps: Step[] = [];
  const raw: { from: Side; line: string; result?: string }[] = [];
  for (const line of text.split('\n')) {
    const [, word, mark, rest = ''] = /^(plugin|engine|only|result)([:|]) ?(.*)$/.exec(line) ?? [];
    const last = raw.at(-1);
    if (word === 'only') only = rest === 'engine' ? 'engine' : 'sdk';
    else if (word === 'result' && last !== undefined) last.result = rest;
    else if (mark === '|' && last !== undefined) last.line += `\n${rest}`;
    else if (word === 'plugin' || word === 'engine') raw.push({ from: word, line: rest });
    else if (line !== '' && !line.startsWith('#')) throw new Error(`${name}: cannot read "${line}"`);
  }
  for (const { from, line, result } of raw) {
    const [, id = '', verb = '', payload = ''] = /^#(\d+) (\S+)(?: ([^]*))?$/.exec(line) ?? [];
    const step: Step = { from, line, id, verb, payload, answer: [], result: undefined };
    steps.push(step);
    if (isRequest(step)) continue;
    const asked = steps.findLast((other) => isRequest(other) && other.id === id && other.from !== from);
    if (asked === undefined) throw new Error(`${name}: nobody asked for "${line}"`);
    asked.answer.push(step);
    asked.result ??= result;
  }
  return { name, only, steps };
}
