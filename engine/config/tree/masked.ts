// The effective tree as JSON with secrets masked, for people.
import { extension } from '../../../yang/compile/schema.ts';
import { toJson, type Value } from './effective.ts';

const MASK = '********';

export function maskedTree(value: Value): unknown {
  switch (value.kind) {
    case 'leaf':
      return extension(value.schema, 'sensitive') === undefined ? toJson(value) : MASK;
    case 'leaf-list':
    case 'any':
      return toJson(value);
    case 'branch':
      return Object.fromEntries([...value.children].map(([name, child]) => [name, maskedTree(child)]));
    case 'list':
      return Object.fromEntries([...value.entries].map(([key, entry]) => [key, maskedTree(entry)]));
  }
}
