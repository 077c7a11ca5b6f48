// Numbers for people.
import type { Measure } from './modes.ts';

/** Three digits that count. */
export function significant(value: number): string {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value >= 1000 ? grouped(value) : value.toFixed(digits);
}

/** 1234567 → 1,234,567 */
export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** A field's value in the unit it is shown in: fields that end in `_kb` become MB. */
export function inUnit(value: number, field: string, unit: Measure['unit']): string {
  return `${significant(scaled(value, field))} ${unit}`;
}

export function scaled(value: number, field: string): number {
  return field.endsWith('_kb') ? (value * 1024) / 1e6 : value;
}

/** Where a value stands against what was aimed at. */
export function verdict(
  value: number | undefined,
  { better, target, goal }: Pick<Measure, 'better' | 'target' | 'goal'>,
): string {
  if (value === undefined || target === undefined || goal === undefined) return '';
  const reaches = (aim: number): boolean => (better === 'less' ? value <= aim : value >= aim);
  return reaches(goal) ? '**goal**' : reaches(target) ? 'target' : 'short';
}
