/** How an answer is shown, as far as only the daemon knows: an alias may name a format, a plugin's columns have an order. */
import { deadlineSignal } from '../../core/linked-signal.ts';
import type { Connection } from '../client.ts';
import { FORMATS, type Format } from '../line.ts';
import { isMap } from './table.ts';

export interface Presentation {
  readonly format: Format | undefined;
  readonly noMore: boolean;
  /** Keys in reading order; others follow. */
  readonly order: readonly string[];
}

const PLAIN: Presentation = { format: undefined, noMore: false, order: [] };
/** It is asked together with the command itself, and never waited for longer. */
const ASK_MS = 1000;

/** What the daemon says of a line; nothing where it says nothing. Never rejects. */
export async function askPresentation(connection: Connection, line: string, signal: AbortSignal): Promise<Presentation> {
  const until = deadlineSignal(ASK_MS, signal);
  try {
    const { data } = await connection.runArgs('command presentation', [line], until.signal).collapse();
    if (!isMap(data)) return PLAIN;
    const { format, columns } = data;
    return {
      format: FORMATS.find((one) => one === format),
      noMore: data['no-more'] === true,
      order: Array.isArray(columns) ? (columns as readonly unknown[]).filter((name) => typeof name === 'string') : [],
    };
  } catch {
    return PLAIN;
  } finally {
    until.release();
  }
}
