/** How an event is written: process-wide, the last `subscribe-events` wins (events.md §5.4, §9). */

export type EventFormat = 'parsed' | 'full' | 'raw' | 'summary';
export type EventEncoding = 'json' | 'text';

/** Every other word, `base64` and `json` among them, reads as parsed. */
export function eventFormat(word: string): EventFormat {
  switch (word) {
    case 'raw':
    case 'hex':
      return 'raw';
    case 'full':
    case 'summary':
      return word;
    default:
      return 'parsed';
  }
}

export function eventEncoding(word: string): EventEncoding {
  return word === 'text' ? 'text' : 'json';
}

/** Version of the shape of events, in `meta` beside `seq`. It grows when a member changes its meaning or goes. */
export const EVENT_SCHEMA_VERSION = 1;
