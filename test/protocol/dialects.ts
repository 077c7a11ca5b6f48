// Forms that other programs use and every reader of the protocol has to take: the same lines said otherwise. Values that are raw JSON or maps
// belong to their author and stay as they are.
import { INPUT_SHAPES, type MethodShape, OUTPUT_SHAPES } from '../../yang/generated/shapes.ts';
import { isRequest, type Step } from './fixture-file.ts';

type Json = Readonly<Record<string, unknown>>;
type Rewrite = (object: Json) => Json;

/** `asked` is the method that an answer belongs to. */
export type Dialect = (step: Step, asked: string) => string;

export const DIALECTS: Readonly<Record<string, Dialect>> = {
  'keys nobody knows': rewritten((object) => ({ 'x-newer': { deep: [1] }, ...object, 'x-other': null })),
  'keys in another case': rewritten((object) =>
    Object.fromEntries(
      Object.entries(object).map(([key, value], at) => [at % 2 === 0 ? key.toUpperCase() : capital(key), value]),
    ),
  ),
  'null for what is not set': rewritten((object) => ({ ...object }), true),
  'escaped <, > and &': (step) =>
    relined(step, (payload) => payload.replace(/[<>&]/g, (it) => `\\u00${it.charCodeAt(0).toString(16)}`)),
  'escapes for everything beyond ASCII': (step) =>
    relined(step, (payload) =>
      payload.replace(/[^\x20-\x7e]/gu, (it) =>
        it
          .split('')
          .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
          .join(''),
      ),
    ),
  'blanks between tokens and a CR at the end': (step) =>
    relined(step, (payload) => `${JSON.stringify(JSON.parse(payload), null, 1).replaceAll('\n', ' ')} \r`),
  'null params': (step) =>
    isRequest(step) && (step.payload === '' || step.payload === '{}') ? `#${step.id} ${step.verb} null` : step.line,
};

function capital(key: string): string {
  return key.replace(/(?:^|-)[a-z]/g, (it) => it.toUpperCase());
}

/** The line with its JSON payload changed; lines of a record answer stay, their texts are counted. */
function relined(step: Step, change: (payload: string) => string): string {
  const json = isRequest(step) || step.verb === 'ok' || step.verb === 'error';
  return json && step.payload !== '' ? `#${step.id} ${step.verb} ${change(step.payload)}` : step.line;
}

function rewritten(rewrite: Rewrite, nulls = false): Dialect {
  return (step, asked) =>
    relined(step, (payload) => {
      const shape =
        step.verb === 'ok'
          ? OUTPUT_SHAPES[asked as keyof typeof OUTPUT_SHAPES]
          : INPUT_SHAPES[step.verb as keyof typeof INPUT_SHAPES];
      const shaped: MethodShape = step.verb === 'error' ? { code: 'text?', message: 'text' } : shape;
      return JSON.stringify(walk(JSON.parse(payload), shaped, rewrite, nulls));
    });
}

function walk(value: unknown, shape: MethodShape | undefined, rewrite: Rewrite, nulls: boolean): unknown {
  if (shape === undefined || typeof shape === 'string') return value;
  if (Array.isArray(shape)) {
    const [first, second] = shape as readonly MethodShape[];
    if (first === '?') return walk(value, second, rewrite, nulls);
    return Array.isArray(value) ? value.map((element) => walk(element, first, rewrite, nulls)) : value;
  }
  const members = shape as Readonly<Record<string, MethodShape>>;
  const object = { ...(value as Json) };
  for (const [key, member] of Object.entries(members)) {
    if (key in object) object[key] = walk(object[key], member, rewrite, nulls);
    else if (nulls) object[key] = null;
  }
  return rewrite(object);
}
