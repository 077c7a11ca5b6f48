// A value's text against its YANG type, and the value the rest of the engine sees.
import { INTEGER_BOUNDS, type IntegerBase, type Range, type TypeSpec } from '../../../yang/compile/schema.ts';
import { nearest } from '../../core/nearest.ts';
import { clamp, type FaultExtras } from '../fault.ts';
import { matchesPattern } from './pattern.ts';
import type { Validators } from '../rules/validators.ts';

export type Scalar = string | number | boolean;

export interface ValueFault extends FaultExtras {
  readonly message: string;
}

/** Other spellings a type reads: booleans as switches, capability modes as booleans. Stored in the canonical one. */
export function canonical(type: TypeSpec, text: string): string {
  if (type.base === 'boolean') return text === 'enable' ? 'true' : text === 'disable' ? 'false' : text;
  // RFC 7950 §9.10.3: a prefix tells nothing where names have none.
  if (type.base === 'identityref') return text.replace(/^[A-Za-z_][\w.-]*:/, '');
  if (type.typedef === 'capability-mode') return text === 'true' ? 'enable' : text === 'false' ? 'disable' : text;
  return text;
}

/** What a (valid) text means: a number, a boolean, else the text. 64-bit numbers past 2^53 stay text. */
export function valueOf(type: TypeSpec, text: string): Scalar {
  if (type.base === 'boolean') return text === 'true';
  if (type.base === 'empty') return true;
  if (type.base === 'decimal64') return Number(text);
  if (Object.hasOwn(INTEGER_BOUNDS, type.base)) {
    const value = Number(text);
    return Number.isSafeInteger(value) ? value : text;
  }
  return text;
}

/** `undefined` when `text` is a value of the type. The message ends where the leaf's path begins: callers put that before it. */
export function checkValue(type: TypeSpec, text: string, validators: Validators): ValueFault | undefined {
  const fault = checkBase(type, text, validators);
  if (fault !== undefined || type.validate === undefined) return fault;
  return checkNamed(type.validate, text, validators);
}

/** Validators by name, alternatives separated by a bar: one must accept. */
export function checkNamed(names: string, text: string, validators: Validators): ValueFault | undefined {
  const alternatives = names.split('|').map((name) => validators.get(name));
  if (alternatives.some((validator) => validator?.accepts(text) === true)) return undefined;
  const expected = alternatives.map((validator) => validator?.expected ?? 'a known value').join(' or ');
  const words = alternatives.flatMap((validator) => validator?.words ?? []);
  return { message: `"${clamp(text)}" is not ${expected}`, expected, hint: didYouMean(text, words) };
}

export function didYouMean(text: string, words: readonly string[]): string | undefined {
  const guess = nearest(text, words);
  return guess === undefined ? undefined : `did you mean "${guess}"?`;
}

function checkBase(type: TypeSpec, text: string, validators: Validators): ValueFault | undefined {
  switch (type.base) {
    case 'boolean':
      return text === 'true' || text === 'false' ? undefined : oneOf(text, ['true', 'false', 'enable', 'disable']);
    case 'enumeration':
    case 'identityref':
      return type.values.includes(text) ? undefined : oneOf(text, type.values);
    case 'bits':
      return checkBits(text, type.values);
    case 'decimal64':
      return checkDecimal(text, type.digits, type.ranges);
    case 'string':
      return checkString(text, type.length, type.patterns);
    case 'binary':
      return checkBinary(text, type.length);
    case 'union': {
      const faults = type.members.map((member) => checkValue(member, text, validators));
      if (faults.includes(undefined)) return undefined;
      const expected = faults.map((fault) => fault?.expected ?? fault?.message).join(' or ');
      return { message: `"${clamp(text)}" is not ${expected}`, expected };
    }
    case 'leafref':
      return type.target === undefined ? undefined : checkValue(type.target, text, validators);
    case 'empty':
      return undefined;
    case 'instance-identifier':
      return text.startsWith('/') ? undefined : plain(text, 'the path of an instance');
    case 'int8':
    case 'int16':
    case 'int32':
    case 'int64':
    case 'uint8':
    case 'uint16':
    case 'uint32':
    case 'uint64':
      return checkInteger(type.base, text, type.ranges);
  }
}

function plain(text: string, expected: string): ValueFault {
  return { message: `"${clamp(text)}" is not ${expected}`, expected };
}

function oneOf(text: string, values: readonly string[]): ValueFault {
  const expected = `one of ${values.join(', ')}`;
  return { message: `"${clamp(text)}" is not ${expected}`, expected, hint: didYouMean(text, values) };
}

/** Each bit once, in any order (RFC 7950 §9.7.2). */
function checkBits(text: string, values: readonly string[]): ValueFault | undefined {
  const bits = text.split(/\s+/).filter((bit) => bit !== '');
  const foreign = bits.find((bit) => !values.includes(bit));
  if (foreign !== undefined) return oneOf(foreign, values);
  return new Set(bits).size === bits.length ? undefined : { message: `"${clamp(text)}" names a bit twice` };
}

function checkDecimal(text: string, digits: number, ranges: readonly Range[] | undefined): ValueFault | undefined {
  const match = /^[+-]?\d{1,19}(?:\.(\d{1,18}))?$/.exec(text);
  if (match === null || (match[1]?.length ?? 0) > digits) return plain(text, `a number with at most ${digits} decimals`);
  const limit = 9223372036854775807 / 10 ** digits;
  return inRanges(Number(text), ranges ?? [[-limit, limit]], text);
}

function checkBinary(text: string, length: readonly Range[] | undefined): ValueFault | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return plain(text, 'base64');
  const octets = (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
  if (length?.some(([low, high]) => octets >= low && octets <= high) !== false) return undefined;
  return { message: `"${clamp(text)}" has ${octets} octets, not ${rangeText(length)}`, expected: `${rangeText(length)} octets` };
}

function checkInteger(
  base: IntegerBase,
  text: string,
  ranges: readonly Range[] = [INTEGER_BOUNDS[base]],
): ValueFault | undefined {
  if (!/^-?(?:0|[1-9]\d{0,19})$/.test(text)) return plain(text, `a number, ${rangeText(ranges)}`);
  // Numbers of 64 bits are compared as they are written: near their bounds a double cannot tell them apart.
  if (text.length > 15 && (base === 'int64' || base === 'uint64') && outside64(base, text)) {
    return { message: `${clamp(text)} is out of range (${BOUNDS_64[base].join('..')})`, expected: BOUNDS_64[base].join('..') };
  }
  return inRanges(Number(text), ranges, text);
}

const BOUNDS_64 = {
  int64: [-9223372036854775808n, 9223372036854775807n],
  uint64: [0n, 18446744073709551615n],
} as const;

function outside64(base: 'int64' | 'uint64', text: string): boolean {
  const value = BigInt(text);
  return value < BOUNDS_64[base][0] || value > BOUNDS_64[base][1];
}

function inRanges(value: number, ranges: readonly Range[] | undefined, text: string): ValueFault | undefined {
  if (ranges === undefined || ranges.some(([low, high]) => value >= low && value <= high)) return undefined;
  return { message: `${clamp(text)} is out of range (${rangeText(ranges)})`, expected: rangeText(ranges) };
}

function rangeText(ranges: readonly Range[]): string {
  return ranges.map(([low, high]) => (low === high ? `${low}` : `${low}..${high}`)).join(' or ');
}

/** RFC 7950 §9.4.4: a length counts characters. */
function lengthOf(text: string): number {
  return /[\ud800-\udbff]/.test(text) ? Array.from(text).length : text.length;
}

function checkString(
  text: string,
  length: readonly Range[] | undefined,
  patterns: readonly { source: string; invert?: true; message?: string }[] = [],
): ValueFault | undefined {
  const characters = length === undefined ? 0 : lengthOf(text);
  if (length?.some(([low, high]) => characters >= low && characters <= high) === false) {
    const expected = `${rangeText(length).replace(`..${Number.MAX_SAFE_INTEGER}`, ' or more')} characters`;
    return { message: `"${clamp(text)}" has ${characters} characters, not ${expected}`, expected };
  }
  for (const pattern of patterns) {
    const matches = matchesPattern(pattern.source, text);
    if (matches === undefined)
      return { message: `"${clamp(text)}" cannot be checked: the pattern ${clamp(pattern.source)} is too large for it` };
    if (matches !== (pattern.invert !== true)) {
      return { message: pattern.message ?? `"${clamp(text)}" does not match ${pattern.source}`, expected: pattern.source };
    }
  }
  return undefined;
}
