// A log record as a line for people. Values are data: what could steer a terminal, or reorder the line on it, never reaches it.
import { unicodeEscaped } from './visible.ts';

/** `2026-11-30T17:40:00.000Z warn  bgp.session  hold timer expired  peer=left` from a pino line. */
export function formatRecord(line: string): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line;
  }
  const { time, level } = record;
  return `${String(time)}  ${String(level).padEnd(5)}  ${recordText(record)}\n`;
}

/** The same without time, level and newline, for whoever keeps these apart (syslog): never more than one line. */
export function recordText(record: Readonly<Record<string, unknown>>): string {
  const { subsystem, msg, ...fields } = record;
  const pairs = Object.entries(fields)
    .filter(([key]) => key !== 'level' && key !== 'time')
    .map(([key, value]) => `${key}=${printable(value)}`);
  return unicodeEscaped([String(subsystem), String(msg), ...pairs].join('  '));
}

function printable(value: unknown): string {
  if (typeof value === 'string') return /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
  return value === undefined ? '' : JSON.stringify(value);
}
