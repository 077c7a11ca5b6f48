// What the YANG modules say of a field: its kind, and which fields there are.
import { INPUT_SHAPES, type MethodShape, OUTPUT_SHAPES } from '../../yang/generated/shapes.ts';

export type Kind = 'text' | 'number' | 'flag' | 'raw' | 'map' | 'list' | 'object';

export function shapes(part: 'input' | 'output'): Readonly<Record<string, MethodShape>> {
  return part === 'input' ? INPUT_SHAPES : OUTPUT_SHAPES;
}

/** Paths of every field of a shape, those of list elements by `[0]`, with their kinds. Lists of plain values are one field. */
export function fieldsOf(shape: MethodShape, prefix = ''): Map<string, Kind> {
  const fields = new Map<string, Kind>();
  const visit = (at: MethodShape, path: string): void => {
    if (typeof at === 'string') fields.set(path, at.replace('?', '') as Kind);
    else if (Array.isArray(at)) {
      const [first, second] = at as readonly MethodShape[];
      if (first === '?') visit(second ?? 'raw', path);
      else if (typeof first === 'string' || first === undefined) fields.set(path, 'list');
      else visit(first, `${path}[0]`);
    } else for (const [key, member] of Object.entries(at)) visit(member, path === '' ? key : `${path}.${key}`);
  };
  visit(shape, prefix);
  return fields;
}

/** A value that the kind refuses; undefined where everything is taken. */
export function wrongValue(kind: Kind): unknown {
  return { text: 7, number: '7', flag: 'true', list: 'x', object: 'x', map: [1], raw: undefined }[kind];
}
