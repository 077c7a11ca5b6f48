/** Answers as YAML. Strings that YAML would read as something else are quoted, so that any YAML reader gets the same value back. */
import { visibleJson } from './escape.ts';

const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*$/;
const WORDS = /^(?:true|false|yes|no|on|off|null|nan|inf|y|n)$/i;
/** Addresses and prefixes start with a digit or hold colons, and still need no quotes. `65000:1` does: YAML 1.1 reads base 60. */
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?$/;
const IPV6 = /^[0-9a-f]{1,4}(?::{1,2}[0-9a-f]{1,4})*(?:::)?(?:\/\d{1,3})?$/i;

function isAddress(value: string): boolean {
  return IPV4.test(value) || (IPV6.test(value) && value.includes('::') && !value.endsWith(':'));
}

export function renderYaml(value: unknown): string {
  return isNested(value) ? block(value, 0) : `${scalar(value)}\n`;
}

/** One row of a streamed list, as an item. */
export function yamlItem(value: unknown, indent = 0): string {
  return item(value, indent);
}

export function yamlKey(name: string): string {
  return scalar(name);
}

function block(value: unknown, indent: number): string {
  if (Array.isArray(value)) return value.map((one) => item(one, indent)).join('');
  const pad = ' '.repeat(indent);
  return Object.entries(value as Record<string, unknown>)
    .map(([key, member]) =>
      isNested(member) ? `${pad}${scalar(key)}:\n${block(member, indent + 2)}` : `${pad}${scalar(key)}: ${scalar(member)}\n`,
    )
    .join('');
}

function item(value: unknown, indent: number): string {
  const pad = ' '.repeat(indent);
  if (!isNested(value)) return `${pad}- ${scalar(value)}\n`;
  // The first line of the block moves up beside the dash.
  return `${pad}- ${block(value, indent + 2).slice(indent + 2)}`;
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function scalar(value: unknown): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') {
    const plain = (PLAIN.test(value) && !WORDS.test(value)) || isAddress(value);
    return plain ? value : visibleJson(JSON.stringify(value));
  }
  if (typeof value === 'object') return Array.isArray(value) ? '[]' : '{}';
  return JSON.stringify(value);
}
