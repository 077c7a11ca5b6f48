// A whole table as text, read line by line from the commands that print it: Zest's JSON and BIRD's own words, brought to one form.
import { spawn } from 'node:child_process';

/** A route without its prefix and next hop, in a form that is equal for equal routes. */
export type RouteForm = string;

interface RouteParts {
  readonly origin: string;
  readonly path: string;
  readonly communities: string;
  readonly large: string;
  readonly extended: string;
  readonly atomic: boolean;
  readonly aggregator: string;
  /** Unknown attributes, `code=hex`. */
  readonly unknown: string;
}

export function routeForm(parts: RouteParts): RouteForm {
  const { origin, path, communities, large, extended, atomic, aggregator, unknown } = parts;
  return `${origin}|${path}|${communities}|${large}|${extended}|${atomic ? 'atomic' : ''}|${aggregator}|${unknown}`;
}

/** Runs a command and hands on every line of its output, without gathering them. Rejects when it fails. */
export function eachLine(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  take: (line: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let rest = '';
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) take(line);
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (rest !== '') take(rest);
      if (code === 0) resolve();
      else reject(new Error(`${command} ${args.join(' ')}: code ${String(code)}: ${errors.trim()}`));
    });
  });
}

interface BestRoute {
  readonly prefix: string;
  readonly attributes: Readonly<Record<string, unknown>> & {
    readonly origin: string;
    readonly 'as-path': readonly number[];
    readonly community?: readonly string[];
    readonly 'large-community'?: readonly string[];
    readonly 'extended-community'?: readonly string[];
    readonly aggregator?: string;
  };
}

/** A row of `rib best --json`, as the eBGP neighbour of `ownAs` must see it; undefined for the lines around the rows. */
export function zestRoute(line: string, ownAs: number): readonly [prefix: string, form: RouteForm] | undefined {
  const text = line.trim();
  if (!text.startsWith('{"family"')) return undefined;
  const { prefix, attributes } = JSON.parse(text.endsWith(',') ? text.slice(0, -1) : text) as BestRoute;
  const unknown = Object.entries(attributes)
    .filter(([key]) => key.startsWith('attr-'))
    .map(([key, value]) => `${key.slice(5)}=${String(value)}`);
  const form = routeForm({
    origin: attributes.origin,
    path: [ownAs, ...attributes['as-path']].join(' '),
    communities: (attributes.community ?? []).join(' '),
    large: (attributes['large-community'] ?? []).join(' '),
    extended: (attributes['extended-community'] ?? []).join(' '),
    atomic: attributes['atomic-aggregate'] === true,
    aggregator: attributes.aggregator ?? '',
    unknown: unknown.join(' '),
  });
  return [prefix, form];
}

const BIRD_ROUTE = /^([0-9a-f.:]+\/\d+)\s/;
const BIRD_ATTRIBUTE = /^\tBGP\.([a-z_0-9]+)(?: \[[^\]]*\])?: (.*)$/;

/** Reads the lines of `show route all`: one call of `take` a route, the last one by `end`. */
export class BirdTable {
  readonly #take: (prefix: string, form: RouteForm) => void;
  #prefix = '';
  #known: Record<string, string> = {};
  #unknown: string[] = [];

  constructor(take: (prefix: string, form: RouteForm) => void) {
    this.#take = take;
  }

  line(line: string): void {
    const prefix = BIRD_ROUTE.exec(line)?.[1];
    if (prefix !== undefined) {
      this.end();
      this.#prefix = prefix;
      return;
    }
    const [, name = '', value = ''] = BIRD_ATTRIBUTE.exec(line) ?? [];
    if (/^[0-9a-f]{2}$/.test(name)) this.#unknown.push(`${parseInt(name, 16)}=${value.replace(/ /g, '')}`);
    else if (name !== '') this.#known[name] = value;
  }

  end(): void {
    if (this.#prefix === '') return;
    const known = this.#known;
    const aggregator = /^(\S+) AS(\d+)$/.exec(known['aggregator'] ?? '');
    const form = routeForm({
      origin: (known['origin'] ?? '').toLowerCase(),
      path: (known['as_path'] ?? '').trim(),
      communities: (known['community'] ?? '').replace(/\((\d+),(\d+)\)/g, '$1:$2'),
      large: (known['large_community'] ?? '').replace(/\((\d+), (\d+), (\d+)\)/g, '$1:$2:$3'),
      extended: (known['ext_community'] ?? '').replace(
        /\((?:(rt|ro)|(?:generic|unknown (0x[0-9a-f]+))), ([^,]+), ([^)]+)\)/g,
        extended,
      ),
      atomic: known['atomic_aggr'] !== undefined,
      aggregator: aggregator === null ? '' : `${aggregator[2]}:${aggregator[1]}`,
      unknown: this.#unknown.join(' '),
    });
    this.#take(this.#prefix, form);
    this.#prefix = '';
    this.#known = {};
    this.#unknown = [];
  }
}

/** BIRD names targets and origins, and takes other types apart: `(unknown TYPE, key, value)`, or `(generic, high, low)`. */
function extended(_whole: string, name: string | undefined, type: string | undefined, key: string, value: string): string {
  if (name !== undefined) return `${name === 'rt' ? 'target' : 'origin'}:${key}:${value}`;
  if (type === undefined) return `0x${hex(Number(key), 8)}${hex(Number(value), 8)}`;
  const code = Number(type);
  if ((code & 0x3f00) === 0) return `0x${hex(code, 4)}${hex(Number(key), 4)}${hex(Number(value), 8)}`;
  const high = key.includes('.') ? key.split('.').reduce((sum, part) => sum * 256 + Number(part), 0) : Number(key);
  return `0x${hex(code, 4)}${hex(high, 8)}${hex(Number(value), 4)}`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
