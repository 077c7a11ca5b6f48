// A log record as a line for people. Values are data: control characters never reach the terminal.

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** `2026-11-30T17:40:00.000Z warn  bgp.session  hold timer expired  peer=left` from a pino line. */
export function formatRecord(line: string): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line;
  }
  const { level, time, subsystem, msg, ...fields } = record;
  const pairs = Object.entries(fields).map(([key, value]) => `${key}=${printable(value)}`);
  const words = [String(time), String(level).padEnd(5), String(subsystem), String(msg), ...pairs];
  return `${words.join('  ').replace(CONTROL, escapeControl)}\n`;
}

function printable(value: unknown): string {
  if (typeof value === 'string') return /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
  return value === undefined ? '' : JSON.stringify(value);
}

function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
