/** Narrow views of answers that are too wide for a table: which columns are shown, and under which titles. */

/** A column of a narrow view. */
export interface ViewColumn {
  readonly key: string;
  readonly title: string;
  /** May be cut to fit. */
  readonly flexible?: boolean;
  readonly show?: (value: unknown) => unknown;
}

/** Columns a table has at most. */
export const VIEW_WIDTH = 100;

const column = (key: string, title = key): ViewColumn => ({ key, title });
const flexible = (key: string, title = key): ViewColumn => ({ key, title, flexible: true });
/** `2026-01-01T00:00:00.000Z` as `01-01 00:00:00`. */
const moment = (key: string): ViewColumn => ({
  key,
  title: key,
  show: (value) =>
    typeof value === 'string' ? value.replace(/^\d{4}-(\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/, '$1 $2') : value,
});

const REPORTS = [moment('raised'), column('source'), column('code'), flexible('subject'), flexible('message')];
/** Path → what fits; `--wide` and every other format show all. */
const VIEWS: Readonly<Record<string, readonly ViewColumn[]>> = {
  summary: [
    column('address'),
    flexible('name'),
    column('remote-as', 'as'),
    column('state'),
    column('uptime'),
    column('updates-received', 'upd-in'),
    column('updates-sent', 'upd-out'),
  ],
  'show errors': REPORTS,
  'show warnings': REPORTS,
  'plugin list': [
    flexible('name'),
    column('kind'),
    column('placement'),
    column('state'),
    column('restarts'),
    column('dropped'),
    flexible('last-error'),
  ],
};

/** The narrow view of a command of the daemon's; `undefined` = all columns. */
export function viewOf(words: readonly string[]): readonly ViewColumn[] | undefined {
  const path = (words[0] === 'bgp' ? words.slice(1) : words).join(' ');
  const found = Object.keys(VIEWS).find((name) => path === name || (name === 'summary' && path.startsWith('summary ')));
  return found === undefined ? undefined : VIEWS[found];
}
