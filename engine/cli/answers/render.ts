/**
 * From an answer to text, as it arrives: `head`, then each record, then `end` with the verdict. Every method answers the text to
 * print. A document is printed as a whole; rows are printed one by one and never gathered.
 */
import { type AnswerHead, type Verdict, zipRow } from '../../../sdk/rpc/answer.ts';
import { parseJson, parseShallow, stringifyJson } from '../../../sdk/rpc/json.ts';
import { visibleJson, visibleJsonLine } from './escape.ts';
import { eventLine } from './event-line.ts';
import type { Format } from '../line.ts';
import type { ViewColumn } from './view.ts';
import { EMPTY, isMap, renderTable, TableStream, type TableStyle } from './table.ts';
import { renderYaml, yamlItem, yamlKey } from './yaml.ts';

export interface Style {
  readonly format: Format;
  /** The answer has no end of its own (`monitor`): each row is printed by itself and at once. */
  readonly live: boolean;
  readonly width: number;
  readonly colour: boolean;
  readonly order?: readonly string[] | undefined;
  readonly view?: readonly ViewColumn[] | undefined;
}

/** Rejected rows that are kept for the end; more are counted. */
const MAXIMUM_REJECTED = 1000;

export interface Renderer {
  head(head: AnswerHead): string;
  record(json: string, rejected: boolean): string;
  /** Rows held back for the widths of a table are given out: the producer is pausing. */
  pause(): string;
  end(verdict: Verdict): string;
}

export function rendererOf(style: Style): Renderer {
  if (style.live) return new LiveRenderer(style);
  return style.format === 'json' || style.format === 'json-compact'
    ? new JsonRenderer(style.format === 'json')
    : new TextRenderer(style);
}

/** One JSON document, whatever happens: a list that breaks off is closed, and its reason stands beside it. */
export class JsonRenderer implements Renderer {
  readonly #pretty: boolean;
  #begun = false;
  #head: AnswerHead = { itemType: 'doc', envelope: '', columns: [] };
  #rows = 0;
  #rejected: string[] = [];
  #document: string | undefined;

  constructor(pretty: boolean) {
    this.#pretty = pretty;
  }

  /** `head` was called. */
  get begun(): boolean {
    return this.#begun;
  }

  head(head: AnswerHead): string {
    this.#begun = true;
    this.#head = head;
    if (head.itemType === 'doc') return '';
    return head.envelope === ''
      ? '['
      : `{${this.#pretty ? '\n  ' : ''}${JSON.stringify(head.envelope)}:${this.#pretty ? ' ' : ''}[`;
  }

  record(json: string, rejected: boolean): string {
    // The rows are a plugin's own text: what is no JSON must not spoil the document it stands in.
    const { valid, json: told } = readable(json);
    if (rejected || !valid) {
      if (this.#rejected.length < MAXIMUM_REJECTED) this.#rejected.push(visibleJsonLine(told));
      return '';
    }
    if (this.#head.itemType === 'doc') {
      this.#document = json;
      return '';
    }
    const row = visibleJsonLine(this.#head.itemType === 'tab' ? zipRow(this.#head.columns, json) : json);
    return this.lead() + row;
  }

  /** What stands before the next row; the row itself is printed after it, as it is. */
  lead(): string {
    const separator = this.#rows++ === 0 ? '' : ',';
    return this.#pretty ? `${separator}\n${this.#head.envelope === '' ? '  ' : '    '}` : separator;
  }

  pause(): string {
    return '';
  }

  end(verdict: Verdict): string {
    const fault = failure(verdict);
    if (this.#head.itemType === 'doc') {
      if (this.#document === undefined) return `${fault === undefined ? '{}' : this.#text({ status: 'error', error: fault })}\n`;
      // A partial answer names what failed inside the document already.
      if (fault !== undefined && verdict.outcome !== 'partial')
        return `${this.#text({ data: parseJson(this.#document), error: fault })}\n`;
      return `${this.#pretty ? this.#text(parseJson(this.#document)) : visibleJsonLine(this.#document)}\n`;
    }
    const close = this.#pretty && this.#rows > 0 ? `\n${this.#head.envelope === '' ? '' : '  '}]` : ']';
    if (this.#head.envelope === '') return `${close}\n`;
    const errors = this.#rejected.length === 0 ? '' : `,${this.#pretty ? '\n  ' : ''}"errors":[${this.#rejected.join(',')}]`;
    const error = fault === undefined ? '' : `,${this.#pretty ? '\n  ' : ''}"error":${visibleJson(JSON.stringify(fault))}`;
    return `${close}${errors}${error}${this.#pretty ? '\n' : ''}}\n`;
  }

  #text(value: unknown): string {
    const compact = stringifyJson(value) ?? 'null';
    if (!this.#pretty) return visibleJson(compact);
    // A bigint makes JSON.stringify throw; such a document is printed on one line rather than changed.
    try {
      return visibleJson(JSON.stringify(value, null, 2));
    } catch {
      return visibleJson(compact);
    }
  }
}

/** YAML, table and text. */
class TextRenderer implements Renderer {
  readonly #style: Style;
  readonly #tableStyle: TableStyle;
  #head: AnswerHead = { itemType: 'doc', envelope: '', columns: [] };
  #table: TableStream | undefined;
  #rows = 0;

  constructor(style: Style) {
    this.#style = style;
    const box = style.format === 'table';
    const { width, colour, order } = style;
    // Aligned text is for programs too: it keeps every column.
    this.#tableStyle = { box, width, colour, order, view: box ? style.view : undefined };
  }

  head(head: AnswerHead): string {
    this.#head = head;
    if (head.itemType === 'doc') return '';
    if (this.#style.format === 'yaml') return head.envelope === '' ? '' : `${yamlKey(head.envelope)}:\n`;
    this.#table = new TableStream(this.#tableStyle, head.columns);
    return '';
  }

  record(json: string, rejected: boolean): string {
    if (rejected) return '';
    this.#rows++;
    if (this.#head.itemType === 'doc') return this.#document(valueOf(json));
    const value = valueOf(this.#head.itemType === 'tab' ? zipRow(this.#head.columns, json) : json);
    if (this.#style.format === 'yaml') return yamlItem(value, this.#head.envelope === '' ? 0 : 2);
    return this.#table?.row(value) ?? '';
  }

  pause(): string {
    return this.#table?.flush() ?? '';
  }

  end(verdict: Verdict): string {
    const fault = failure(verdict);
    if (this.#rows > 0) return this.#table?.end() ?? '';
    if (fault !== undefined) return '';
    return this.#head.itemType === 'doc' ? 'OK\n' : `${EMPTY}\n`;
  }

  #document(value: unknown): string {
    if (isMap(value) && Object.keys(value).length === 0) return 'OK\n';
    return this.#style.format === 'yaml' ? renderYaml(value) : renderTable(value, this.#tableStyle);
  }
}

/** Events as they come, one line each (or one YAML document each). */
class LiveRenderer implements Renderer {
  readonly #style: Style;
  #head: AnswerHead = { itemType: 'doc', envelope: '', columns: [] };

  constructor(style: Style) {
    this.#style = style;
  }

  head(head: AnswerHead): string {
    this.#head = head;
    return '';
  }

  record(json: string, rejected: boolean): string {
    if (rejected) return '';
    const text = this.#head.itemType === 'tab' ? zipRow(this.#head.columns, json) : json;
    switch (this.#style.format) {
      case 'json':
      case 'json-compact':
        return `${visibleJsonLine(readable(text).json)}\n`;
      case 'yaml':
        return `---\n${renderYaml(valueOf(text))}`;
      case 'table':
      case 'text':
        return `${eventLine(valueOf(text))}\n`;
    }
  }

  pause(): string {
    return '';
  }

  end(): string {
    return '';
  }
}

/** Letters of a row that cannot be read which the document about it repeats. */
const UNREAD = 10_000;

/** The row, or a document that says why it is none. */
function readable(text: string): { readonly valid: boolean; readonly json: string } {
  try {
    parseShallow(text);
    return { valid: true, json: text };
  } catch (error) {
    return { valid: false, json: JSON.stringify(unread(text, error)) };
  }
}

function valueOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    return unread(text, error);
  }
}

function unread(text: string, error: unknown): { readonly message: string; readonly text: string } {
  const message = error instanceof Error && error.message.startsWith('JSON nested') ? error.message : 'not JSON';
  return { message, text: text.slice(0, UNREAD) };
}

/** What went wrong, in words; `undefined` for done. */
export function failure(verdict: Verdict): string | undefined {
  switch (verdict.outcome) {
    case 'done':
      return undefined;
    case 'partial':
      return `${verdict.rejected} of ${verdict.produced + verdict.rejected} failed`;
    case 'error':
      return verdict.message === '' ? 'every row failed' : verdict.message;
    case 'aborted':
      return verdict.message === '' ? 'aborted' : verdict.message;
    case 'truncated':
      return `the answer broke off: ${verdict.message}`;
  }
}
