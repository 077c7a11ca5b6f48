/**
 * The decode boundary: what a peer sent as params or result, checked against the method's declared shape.
 *
 * Keys match without regard to case, unknown keys are dropped from sight, a missing required key reads as its zero value
 * ('', 0, false, no elements), JSON null as a missing key; a value of the wrong kind refuses the whole input.
 */
import type { Method, Methods } from '../../yang/generated/methods.ts';
import { messageOf, RpcError } from './errors.ts';
import { parseShallow } from './json.ts';
import { INPUT_SHAPES, type MethodShape as Shape, OUTPUT_SHAPES } from '../../yang/generated/shapes.ts';

type Kind = 'text' | 'number' | 'flag' | 'raw' | 'map' | 'list' | 'object';

interface Field {
  readonly kind: Kind;
  readonly optional: boolean;
  /** Elements of a list. */
  readonly of: Field | undefined;
  /** Members of an object. */
  readonly members: readonly { readonly key: string; readonly lower: string; readonly field: Field }[];
}

const compiled = new WeakMap<object, Field>();

/** `invalid <rpc-name> params: …` (code `invalid-params`) when the payload is not the method's input. */
export function decodeInput<M extends Method>(method: M, value: unknown): Methods[M]['input'] {
  return decode(method, INPUT_SHAPES[method], value, 'params') as Methods[M]['input'];
}

export function decodeOutput<M extends Method>(method: M, value: unknown): Methods[M]['output'] {
  return decode(method, OUTPUT_SHAPES[method], value, 'result') as Methods[M]['output'];
}

/** Parses and decodes; an empty payload is an empty object. */
export function decodePayload<M extends Method>(method: M, payload: Buffer): Methods[M]['input'] {
  let value: unknown;
  try {
    value = payload.length === 0 ? undefined : parseShallow(payload.toString('utf8'));
  } catch (error) {
    throw invalid(method, 'params', messageOf(error));
  }
  return decodeInput(method, value);
}

export function isMethod(name: string): name is Method {
  return Object.hasOwn(INPUT_SHAPES, name);
}

export function rpcName(method: string): string {
  return method.slice(method.indexOf(':') + 1);
}

/** The method whose error says another word than its name (plugin-rpc-types §5.9): whatever is wrong with a subscription reads alike. */
const SPOKEN: Readonly<Record<string, string>> = { 'subscribe-events': 'subscribe' };

function invalid(method: string, what: string, detail: string): RpcError {
  const name = rpcName(method);
  return new RpcError('invalid-params', `invalid ${SPOKEN[name] ?? name} ${what}: ${detail}`);
}

function decode(method: string, shape: Shape & object, value: unknown, what: string): unknown {
  const field = fieldOf(shape);
  if (field.members.length === 0) return undefined;
  const faults: string[] = [];
  const result = read(field, value ?? {}, '', faults);
  if (faults.length > 0) throw invalid(method, what, faults[0] ?? '');
  return result;
}

function fieldOf(shape: Shape & object): Field {
  let field = compiled.get(shape);
  if (field === undefined) {
    field = compile(shape);
    compiled.set(shape, field);
  }
  return field;
}

function compile(shape: Shape): Field {
  if (typeof shape === 'string') {
    const optional = shape.endsWith('?');
    return { kind: (optional ? shape.slice(0, -1) : shape) as Kind, optional, of: undefined, members: [] };
  }
  if (isPair(shape)) {
    if (shape[0] === '?') return { ...compile(shape[1] ?? 'raw'), optional: true };
    return { kind: 'list', optional: shape.length === 2, of: compile(shape[0]), members: [] };
  }
  const members = Object.entries(shape).map(([key, value]) => ({ key, lower: key.toLowerCase(), field: compile(value) }));
  return { kind: 'object', optional: false, of: undefined, members };
}

function isPair(shape: Shape): shape is readonly [Shape] | readonly [Shape, Shape] {
  return Array.isArray(shape);
}

/** The value when it is of the field's kind. The first fault is kept in `faults`. */
function read(field: Field, value: unknown, path: string, faults: string[]): unknown {
  switch (field.kind) {
    case 'raw':
      return value;
    case 'text':
      return typeof value === 'string' ? value : wrong(path, 'a string', faults);
    case 'number':
      return typeof value === 'number' ? value : wrong(path, 'a number', faults);
    case 'flag':
      return typeof value === 'boolean' ? value : wrong(path, 'true or false', faults);
    case 'map':
      return isObject(value) ? value : wrong(path, 'an object', faults);
    case 'list':
      return Array.isArray(value) ? readList(field, value, path, faults) : wrong(path, 'a list', faults);
    case 'object':
      return isObject(value) ? readObject(field, value, path, faults) : wrong(path, 'an object', faults);
  }
}

function readList(field: Field, value: readonly unknown[], path: string, faults: string[]): unknown {
  const of = field.of;
  if (of === undefined || of.kind === 'raw') return value;
  if (of.kind === 'text' || of.kind === 'number') {
    const want = of.kind === 'text' ? 'string' : 'number';
    for (let i = 0; i < value.length; i++) if (typeof value[i] !== want) return wrong(`${path}[${i}]`, `a ${want}`, faults);
    return value;
  }
  return value.map((element, i) => read(of, element, `${path}[${i}]`, faults));
}

function readObject(field: Field, value: Readonly<Record<string, unknown>>, path: string, faults: string[]): unknown {
  const result: Record<string, unknown> = {};
  const folded = hasStrangeKey(field, value) ? foldKeys(value) : undefined;
  for (const member of field.members) {
    const found = folded === undefined ? value[member.key] : (folded.get(member.lower) ?? undefined);
    const at = path === '' ? member.key : `${path}.${member.key}`;
    if (found === undefined || found === null) {
      if (!member.field.optional) result[member.key] = zero(member.field);
    } else result[member.key] = read(member.field, found, at, faults);
  }
  return result;
}

function hasStrangeKey(field: Field, value: Readonly<Record<string, unknown>>): boolean {
  let known = 0;
  for (const member of field.members) if (Object.hasOwn(value, member.key)) known++;
  return known < Object.keys(value).length;
}

/** Members by lower-case key; of two that differ only in case the last one counts. */
function foldKeys(value: Readonly<Record<string, unknown>>): Map<string, unknown> {
  return new Map(Object.entries(value).map(([key, member]) => [key.toLowerCase(), member]));
}

function zero(field: Field): unknown {
  switch (field.kind) {
    case 'text':
      return '';
    case 'number':
      return 0;
    case 'flag':
      return false;
    case 'list':
      return [];
    case 'map':
      return {};
    case 'raw':
      return undefined;
    case 'object':
      return readObject(field, {}, '', []);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrong(path: string, want: string, faults: string[]): unknown {
  faults.push(`${path === '' ? 'value' : path} is not ${want}`);
  return undefined;
}
