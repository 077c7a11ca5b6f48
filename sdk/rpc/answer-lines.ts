/** The lines of a record answer, written and read. Every TEXT is counted in bytes of UTF-8. */
import type { AnswerEnd, AnswerHead, ItemType } from './answer.ts';
import { countedText, RpcError } from './errors.ts';
import { MAX_LINE_BYTES, type AnswerWord } from './frame.ts';

/** A `message` of an end is cut at this many characters. */
const MAX_MESSAGE = 64 * 1024;

export function text(value: string): string {
  return `${Buffer.byteLength(value)}:${value}`;
}

export function headLine(id: string, head: AnswerHead): string {
  const columns = head.columns.length === 0 ? '' : JSON.stringify(head.columns);
  return `#${id} top ${head.itemType} ${text(head.envelope)} ${text(columns)}\n`;
}

export function endLine(id: string, end: AnswerEnd): string {
  const cause = end.truncated === true && end.message === '' ? 'answer truncated' : end.message;
  const message = cause.length > MAX_MESSAGE ? `${cause.slice(0, MAX_MESSAGE)}…` : cause;
  return `#${id} end ${end.produced} ${end.rejected} ${text(message)}\n`;
}

export function nayLine(id: string, code: string, message: string): string {
  return `#${id} nay ${text(code)} ${text(message)}\n`;
}

/** One `row` or `bad` line; `undefined` when it would not fit. */
export function recordLine(id: string, word: 'row' | 'bad', json: string): string | undefined {
  const width = Buffer.byteLength(json);
  if (lineBytes(id, width) > MAX_LINE_BYTES) return undefined;
  return `#${id} ${word} ${width}:${json}\n`;
}

/** Bytes of a record's line, LF excluded. */
export function lineBytes(id: string, payloadBytes: number): number {
  return 1 + id.length + 5 + String(payloadBytes).length + 1 + payloadBytes;
}

/** What replaces a record or document whose line would be too long. */
export function overWide(ordinal: number, encodedBytes: number): string {
  return JSON.stringify({
    message: 'answer record does not fit one wire message',
    record: ordinal,
    'encoded-bytes': encodedBytes,
    'limit-bytes': MAX_LINE_BYTES,
  });
}

/** Refuses what a producer may not name, before a line is written. */
export function checkHead(head: AnswerHead): void {
  if (head.envelope === 'errors') throw new RpcError('error', 'answer envelope "errors" is reserved');
  if ((head.itemType === 'tab') !== head.columns.length > 0) {
    throw new RpcError(
      'error',
      head.itemType === 'tab' ? 'a tab answer needs column names' : `a ${head.itemType} answer has no columns`,
    );
  }
}

export type AnswerLine =
  | { readonly kind: 'top'; readonly head: AnswerHead }
  | { readonly kind: 'row' | 'bad'; readonly json: string }
  | AnswerEnd
  | { readonly kind: 'nay'; readonly code: string; readonly message: string };

/** Reads the tail of an answer line (after the word and its space). `undefined` = unreadable. */
export function parseAnswerTail(word: AnswerWord, tail: Buffer): AnswerLine | undefined {
  switch (word) {
    case 'row':
    case 'bad': {
      const payload = countedText(tail, 0);
      return payload?.end === tail.length ? { kind: word, json: payload.text } : undefined;
    }
    case 'top':
      return parseTop(tail);
    case 'end':
      return parseEnd(tail);
    case 'nay': {
      const code = countedText(tail, 0);
      const message = code !== undefined && tail[code.end] === 0x20 ? countedText(tail, code.end + 1) : undefined;
      return code !== undefined && message?.end === tail.length
        ? { kind: 'nay', code: code.text, message: message.text }
        : undefined;
    }
  }
}

function parseTop(tail: Buffer): AnswerLine | undefined {
  const itemType = tail.toString('latin1', 0, Math.min(3, tail.length));
  if (!isItemType(itemType) || tail[3] !== 0x20) return undefined;
  const envelope = countedText(tail, 4);
  if (envelope === undefined || tail[envelope.end] !== 0x20) return undefined;
  const names = countedText(tail, envelope.end + 1);
  if (names?.end !== tail.length) return undefined;
  const columns = names.text === '' ? [] : columnNames(names.text);
  if (columns === undefined || (itemType === 'tab') !== columns.length > 0) return undefined;
  return { kind: 'top', head: { itemType, envelope: envelope.text, columns } };
}

function isItemType(word: string): word is ItemType {
  return word === 'doc' || word === 'map' || word === 'tab';
}

function columnNames(json: string): readonly string[] | undefined {
  try {
    const names: unknown = JSON.parse(json);
    return Array.isArray(names) && names.every((name) => typeof name === 'string') ? names : undefined;
  } catch {
    return undefined;
  }
}

const MAX_U64 = 18446744073709551615n;

function parseEnd(tail: Buffer): AnswerLine | undefined {
  const counts = /^(\d{1,20}) (\d{1,20}) /.exec(tail.toString('latin1', 0, Math.min(tail.length, 42)));
  if (counts === null) return undefined;
  const [whole, produced = '', rejected = ''] = counts;
  if (BigInt(produced) > MAX_U64 || BigInt(rejected) > MAX_U64) return undefined;
  const message = countedText(tail, whole.length);
  if (message?.end !== tail.length) return undefined;
  return { kind: 'end', produced: Number(produced), rejected: Number(rejected), message: message.text };
}
