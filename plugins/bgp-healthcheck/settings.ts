// `bgp/healthcheck/probe` as plugins are shown it.
export interface ProbeSettings {
  readonly name: string;
  readonly command: string;
  readonly group: string;
  readonly intervalMs: number;
  readonly fastIntervalMs: number;
  readonly timeoutMs: number;
  readonly rise: number;
  readonly fall: number;
  readonly withdrawOnDown: boolean;
  readonly disable: boolean;
  readonly debounce: boolean;
  readonly upMetric: number;
  readonly downMetric: number;
  readonly disabledMetric: number;
  readonly interface: string;
  /** The addresses are there only while the probe is up. */
  readonly dynamic: boolean;
  readonly addresses: readonly string[];
  readonly on: Readonly<Record<'up' | 'down' | 'disabled' | 'change', readonly string[]>>;
}

type Tree = Readonly<Record<string, unknown>>;

/** Throws with the first thing that is wrong. */
export function probesOf(section: unknown): ReadonlyMap<string, ProbeSettings> {
  const probes = new Map<string, ProbeSettings>();
  for (const [name, value] of Object.entries(treeOf(treeOf(treeOf(treeOf(section)['bgp'])['healthcheck'])['probe']))) {
    probes.set(name, probeOf(name, treeOf(value)));
  }
  return probes;
}

function probeOf(name: string, tree: Tree): ProbeSettings {
  const setup = treeOf(tree['ip-setup']);
  const text = (leaf: string): string => {
    const value = tree[leaf];
    if (typeof value === 'string' && value !== '') return value;
    throw new Error(`bgp/healthcheck/probe ${name}: ${leaf} is missing`);
  };
  const count = (leaf: string, fallback: number, least = 1): number => {
    const value = typeof tree[leaf] === 'number' ? tree[leaf] : fallback;
    if (value >= least) return value;
    throw new Error(`bgp/healthcheck/probe ${name}: ${leaf} must be at least ${least}`);
  };
  const addresses = listOf(setup['ip']);
  if (addresses.length > 0 && typeof setup['interface'] !== 'string')
    throw new Error(`bgp/healthcheck/probe ${name}: ip-setup needs an interface`);
  return {
    name,
    command: text('command'),
    group: text('group'),
    intervalMs: count('interval', 5) * 1000,
    fastIntervalMs: count('fast-interval', 1) * 1000,
    timeoutMs: count('timeout', 5) * 1000,
    rise: count('rise', 3),
    fall: count('fall', 3),
    withdrawOnDown: tree['withdraw-on-down'] === true,
    disable: tree['disable'] === true,
    debounce: tree['debounce'] === true,
    upMetric: count('up-metric', 100, 0),
    downMetric: count('down-metric', 1000, 0),
    disabledMetric: count('disabled-metric', 500, 0),
    interface: typeof setup['interface'] === 'string' ? setup['interface'] : '',
    dynamic: setup['dynamic'] === true,
    addresses,
    on: {
      up: listOf(tree['on-up']),
      down: listOf(tree['on-down']),
      disabled: listOf(tree['on-disabled']),
      change: listOf(tree['on-change']),
    },
  };
}

function treeOf(value: unknown): Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Tree) : {};
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}
