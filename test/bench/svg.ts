// Line plots as SVG text: cost against size, both axes logarithmic, one line a daemon.

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface Plot {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly series: readonly Series[];
}

const [WIDTH, HEIGHT] = [640, 400];
const MARGIN = { left: 70, right: 120, top: 40, bottom: 55 };
/** Colours that people who see no red or green can tell apart; the marks differ too. */
const COLOURS = ['#0072b2', '#d55e00', '#555555', '#009e73'];
const MARKS: readonly ((x: number, y: number) => string)[] = [
  (x, y) => `<circle cx="${x}" cy="${y}" r="4"/>`,
  (x, y) => `<rect x="${round(x - 4)}" y="${round(y - 4)}" width="8" height="8"/>`,
  (x, y) => `<path d="M${x} ${round(y - 5)}l5 9h-10z"/>`,
];

const round = (value: number): number => Math.round(value * 10) / 10;
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A logarithmic axis from a power of ten to a power of ten, and where a value lies on it. */
class Axis {
  readonly from: number;
  readonly to: number;
  readonly #start: number;
  readonly #length: number;

  constructor(values: readonly number[], start: number, length: number) {
    this.from = Math.floor(Math.log10(Math.min(...values)));
    this.to = Math.max(this.from + 1, Math.ceil(Math.log10(Math.max(...values))));
    this.#start = start;
    this.#length = length;
  }

  at(value: number): number {
    return round(this.#start + ((Math.log10(value) - this.from) / (this.to - this.from)) * this.#length);
  }

  ticks(): readonly number[] {
    return Array.from({ length: this.to - this.from + 1 }, (_, i) => 10 ** (this.from + i));
  }
}

/** 10 000 000 → 10 M, 0.001 → 0.001 */
export function tickText(value: number): string {
  if (value >= 1e6) return `${value / 1e6} M`;
  if (value >= 1e3) return `${value / 1e3} k`;
  return value >= 1 ? String(value) : value.toPrecision(1);
}

/** Points that are not above zero have no place on these axes and are left out. Without any point the plot says so. */
export function plotSvg({ title, x, y, series }: Plot): string {
  const drawn = series
    .map(({ name, points }) => ({ name, points: points.filter((it) => it.x > 0 && it.y > 0).sort((a, b) => a.x - b.x) }))
    .filter(({ points }) => points.length > 0);
  const body: string[] = [];
  const text = (left: number, top: number, words: string, more = ''): void =>
    void body.push(`<text x="${left}" y="${top}"${more}>${escaped(words)}</text>`);
  text(WIDTH / 2, 24, title, ' text-anchor="middle" font-size="16"');
  if (drawn.length === 0) text(WIDTH / 2, HEIGHT / 2, 'nothing measured yet', ' text-anchor="middle"');
  else {
    const all = drawn.flatMap(({ points }) => points);
    const right = WIDTH - MARGIN.right;
    const bottom = HEIGHT - MARGIN.bottom;
    const across = new Axis(
      all.map((it) => it.x),
      MARGIN.left,
      right - MARGIN.left,
    );
    const up = new Axis(
      all.map((it) => it.y),
      bottom,
      MARGIN.top - bottom,
    );
    for (const tick of across.ticks()) {
      const at = across.at(tick);
      body.push(`<line x1="${at}" y1="${MARGIN.top}" x2="${at}" y2="${bottom}" stroke="#ddd"/>`);
      text(at, bottom + 18, tickText(tick), ' text-anchor="middle"');
    }
    for (const tick of up.ticks()) {
      const at = up.at(tick);
      body.push(`<line x1="${MARGIN.left}" y1="${at}" x2="${right}" y2="${at}" stroke="#ddd"/>`);
      text(MARGIN.left - 8, at + 4, tickText(tick), ' text-anchor="end"');
    }
    text((MARGIN.left + right) / 2, HEIGHT - 14, x, ' text-anchor="middle"');
    text(18, (MARGIN.top + bottom) / 2, y, ` text-anchor="middle" transform="rotate(-90 18 ${(MARGIN.top + bottom) / 2})"`);
    drawn.forEach(({ name, points }, i) => {
      const colour = COLOURS[i % COLOURS.length]!;
      const mark = MARKS[i % MARKS.length]!;
      const placed = points.map((it) => [across.at(it.x), up.at(it.y)] as const);
      body.push(
        `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${placed.map((it) => it.join(',')).join(' ')}"/>`,
      );
      body.push(`<g fill="${colour}">${placed.map(([left, top]) => mark(left, top)).join('')}</g>`);
      const [lastX = 0, lastY = 0] = placed.at(-1) ?? [];
      text(lastX + 10, lastY + 4, name, ` fill="${colour}"`);
    });
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#222">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    ...body,
    '</svg>',
    '',
  ].join('\n');
}
