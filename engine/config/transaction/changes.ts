// What changes from one configuration to the next, as plugins are shown it (plugin-rpc-types §4.4): the full candidate of every changed
// root, and a deep difference whose keys are slash paths.
import { isDeepStrictEqual } from 'node:util';
import type { ConfigDiffSection, ConfigSection } from '../../../yang/generated/methods.ts';

/** A configuration as plugins see it; `RunningConfig` is one. */
export interface ConfigView {
  roots(): readonly string[];
  /** Wrapped in the full path; `undefined` when there is no such path. */
  section(path: string): unknown;
}

/** The part of a change that one plugin asked to see. */
export interface Share {
  /** Top-level roots, sorted. */
  readonly roots: readonly string[];
  readonly candidate: readonly ConfigSection[];
  readonly diffs: readonly ConfigDiffSection[];
}

export interface Difference {
  readonly added: Readonly<Record<string, unknown>>;
  readonly removed: Readonly<Record<string, unknown>>;
  readonly changed: Readonly<Record<string, { readonly old: unknown; readonly new: unknown }>>;
}

export const WHOLE_TREE = '*';

export class Changes {
  readonly #before: ConfigView;
  readonly #after: ConfigView;
  readonly #paths = new Map<string, Difference | undefined>();
  /** Top-level roots whose content differs, sorted. */
  readonly roots: readonly string[];
  readonly addedRoots: readonly string[];
  readonly removedRoots: readonly string[];

  constructor(before: ConfigView, after: ConfigView) {
    this.#before = before;
    this.#after = after;
    const [old, now] = [new Set(before.roots()), new Set(after.roots())];
    this.addedRoots = [...now].filter((root) => !old.has(root)).sort();
    this.removedRoots = [...old].filter((root) => !now.has(root)).sort();
    this.roots = [...new Set([...old, ...now])].filter((root) => this.#difference(root) !== undefined).sort();
  }

  /** What a plugin with these wishes is told; `undefined` = nothing of it changes. */
  share(wants: readonly string[]): Share | undefined {
    const paths = this.#pathsOf(wants).filter((path) => this.#difference(path) !== undefined);
    if (paths.length === 0) return undefined;
    const roots = [...new Set(paths.map(rootOf))].sort();
    return {
      roots,
      candidate: paths.map((path) => candidateSection(this.#after, path)),
      diffs: roots.map((root) =>
        this.#section(
          root,
          paths.filter((path) => rootOf(path) === root),
        ),
      ),
    };
  }

  /** The active configuration of a root, `{}` when it is new. */
  active(root: string): ConfigSection {
    return candidateSection(this.#before, root);
  }

  candidate(root: string): ConfigSection {
    return candidateSection(this.#after, root);
  }

  /** Wishes as paths, the changed roots for `*`; what another wish covers is left out. */
  #pathsOf(wants: readonly string[]): readonly string[] {
    if (wants.includes(WHOLE_TREE)) return this.roots;
    const paths = [...new Set(wants.map(cleaned))].filter((path) => path !== '').sort();
    return paths.filter((path) => !paths.some((other) => path.startsWith(`${other}/`)));
  }

  #difference(path: string): Difference | undefined {
    if (!this.#paths.has(path)) {
      const [before, after] = [valueAt(this.#before, path), valueAt(this.#after, path)];
      this.#paths.set(path, isDeepStrictEqual(before, after) ? undefined : difference(path, before, after));
    }
    return this.#paths.get(path);
  }

  #section(root: string, paths: readonly string[]): ConfigDiffSection {
    const parts = paths.flatMap((path) => this.#difference(path) ?? []);
    const joined = (key: keyof Difference): string | undefined => {
      const all = Object.fromEntries(parts.flatMap((part) => Object.entries(part[key])));
      return Object.keys(all).length === 0 ? undefined : JSON.stringify(all);
    };
    const [added, removed, changed] = [joined('added'), joined('removed'), joined('changed')];
    return {
      root,
      ...(added === undefined ? {} : { added }),
      ...(removed === undefined ? {} : { removed }),
      ...(changed === undefined ? {} : { changed }),
    };
  }
}

/** Maps are compared key by key, everything else as a whole. What is there on one side alone stands under its topmost path. */
export function difference(path: string, before: unknown, after: unknown): Difference {
  const added: [string, unknown][] = [];
  const removed: [string, unknown][] = [];
  const changed: [string, { old: unknown; new: unknown }][] = [];
  const walk = (at: string, old: unknown, now: unknown): void => {
    if (old === undefined && now === undefined) return;
    if (old === undefined) added.push([at, now]);
    else if (now === undefined) removed.push([at, old]);
    else if (isMap(old) && isMap(now)) {
      for (const key of Object.keys(old)) walk(`${at}/${key}`, old[key], Object.hasOwn(now, key) ? now[key] : undefined);
      for (const key of Object.keys(now)) if (!Object.hasOwn(old, key)) walk(`${at}/${key}`, undefined, now[key]);
    } else if (!isDeepStrictEqual(old, now)) changed.push([at, { old, new: now }]);
  };
  walk(path, before, after);
  return { added: Object.fromEntries(added), removed: Object.fromEntries(removed), changed: Object.fromEntries(changed) };
}

function candidateSection(view: ConfigView, root: string): ConfigSection {
  return { root, data: JSON.stringify(view.section(root) ?? {}) };
}

function valueAt(view: ConfigView, path: string): unknown {
  let value = view.section(path);
  for (const name of path.split('/')) value = isMap(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

function rootOf(path: string): string {
  const end = path.indexOf('/');
  return end < 0 ? path : path.slice(0, end);
}

function cleaned(path: string): string {
  return path
    .split('/')
    .filter((name) => name !== '')
    .join('/');
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
