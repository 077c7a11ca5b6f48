/**
 * What stands after a command's `|`. `match`, `select` and `count` change the answer and run in the engine, on the rows as they pass;
 * the format operators are the client's business: the engine checks and names them, and does no more.
 */
import { nearest } from '../core/nearest.ts';
import { isPipe, type Word } from '../core/words.ts';
import { CommandError, didYouMean } from './fault.ts';

export type PipeStep =
  | { readonly kind: 'match'; readonly text: string }
  | { readonly kind: 'select'; readonly fields: readonly string[] }
  | { readonly kind: 'count' };
export type OutputFormat = 'json' | 'json-compact' | 'yaml' | 'table' | 'text';

export interface Pipes {
  readonly steps: readonly PipeStep[];
  readonly format: OutputFormat | undefined;
  readonly noMore: boolean;
  /** Operators that belong to the command itself (`rib routes | prefix 192.0.2.0/24`), as words for its arguments. */
  readonly folded: readonly Word[];
}

export const PIPE_OPERATORS = ['match', 'select', 'count', 'json', 'yaml', 'table', 'text', 'no-more'] as const;

/** Cuts a line at its pipes: the command's words, and one list of words for each operator. */
export function cutPipes(words: readonly Word[]): { command: readonly Word[]; operators: readonly (readonly Word[])[] } {
  const parts: Word[][] = [[]];
  for (const word of words) {
    if (isPipe(word)) parts.push([]);
    else parts.at(-1)?.push(word);
  }
  const [command = [], ...operators] = parts;
  const empty = operators.findIndex((part) => part.length === 0);
  if (empty >= 0) {
    const bar = words.filter(isPipe)[empty];
    throw new CommandError('syntax', 'a pipe needs an operator after it', bar?.column);
  }
  return { command, operators };
}

/** Reads the operators. `own` are words the command itself understands after a pipe. Throws `CommandError`. */
export function readPipes(operators: readonly (readonly Word[])[], own: readonly string[] = []): Pipes {
  const steps: PipeStep[] = [];
  const folded: Word[] = [];
  let format: OutputFormat | undefined;
  let noMore = false;
  for (const [name, ...values] of operators) {
    if (name === undefined) continue;
    const operator = name.text.toLowerCase();
    switch (operator) {
      case 'match': {
        if (values.length === 0) throw new CommandError('argument', 'match requires a value', name.column);
        steps.push({ kind: 'match', text: values.map((word) => word.text).join(' ') });
        break;
      }
      case 'select': {
        const fields = values.flatMap((word) => word.text.split(',')).filter((field) => field !== '');
        if (fields.length === 0) throw new CommandError('argument', 'select requires a value', name.column);
        steps.push({ kind: 'select', fields: [...new Set(fields)] });
        break;
      }
      case 'count':
        refuseValues(operator, values);
        steps.push({ kind: 'count' });
        break;
      case 'json':
      case 'yaml':
      case 'table':
      case 'text': {
        const next = formatOf(operator, values);
        if (format !== undefined)
          throw new CommandError('argument', `multiple format operators: ${plain(format)} and ${operator}`, name.column);
        format = next;
        break;
      }
      case 'no-more':
        refuseValues(operator, values);
        noMore = true;
        break;
      default:
        if (!own.includes(operator)) {
          const near = didYouMean(nearest(operator, [...PIPE_OPERATORS, ...own]));
          throw new CommandError('argument', `unknown pipe operator: ${name.text}${near}`, name.column);
        }
        folded.push(name, ...values);
    }
  }
  return { steps, format, noMore, folded };
}

function formatOf(operator: 'json' | 'yaml' | 'table' | 'text', values: readonly Word[]): OutputFormat {
  const style = values[0]?.text.toLowerCase();
  if (operator === 'json' && values.length === 1 && (style === 'pretty' || style === 'compact'))
    return style === 'pretty' ? 'json' : 'json-compact';
  refuseValues(operator, values);
  return operator;
}

function refuseValues(operator: string, values: readonly Word[]): void {
  const [first] = values;
  if (first !== undefined) throw new CommandError('argument', `${operator} takes no "${first.text}"`, first.column);
}

function plain(format: OutputFormat): string {
  return format === 'json-compact' ? 'json' : format;
}
