// The house guards itself: imports go one way, files are named for the thing they hold, banned words stay out.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import test from 'node:test';

const root = resolve(import.meta.dirname, '..');
const rooms = ['engine', 'plugins', 'yang', 'sdk', 'examples', 'test'];

interface Source {
  readonly path: string;
  readonly text: string;
}

/** What the repository holds: files that are tracked and there. Where git does not say, what lies at the top and in the rooms. */
function files(): readonly string[] {
  try {
    const listed = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', stdio: 'pipe' });
    const tracked = listed.split('\0').filter((path) => path !== '' && existsSync(join(root, path)));
    if (tracked.length > 0) return tracked;
  } catch {
    // An unpacked archive, or no git.
  }
  const inRooms = rooms.flatMap((room) =>
    readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
      .filter((name) => !name.includes('node_modules'))
      .map((name) => `${room}/${name}`),
  );
  return [...inRooms, ...readdirSync(root).filter((name) => !rooms.includes(name))];
}

const held = files();
const sources: readonly Source[] = held
  .filter((path) => path.endsWith('.ts') && rooms.includes(path.split('/')[0] ?? ''))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

/** Folders in `parent` that hold something of the repository. */
function foldersIn(parent: string): readonly string[] {
  const below = held.filter((path) => path.startsWith(`${parent}/`) && path.split('/').length > 2);
  return [...new Set(below.map((path) => path.split('/')[1] ?? ''))];
}

/** What a folder may import, longest prefix first. `types:` allows `import type` alone. */
const ALLOWED: readonly (readonly [folder: string, allowed: readonly string[]])[] = [
  ['yang/generated', []],
  ['yang/compile', ['yang/compile', 'yang/generated']],
  ['sdk/wire', ['sdk/wire']],
  ['sdk/rpc', ['sdk/rpc', 'yang/generated']],
  ['sdk/rib', ['sdk/rib', 'sdk/wire', 'types:sdk/plugin']],
  ['sdk/policy', ['sdk/policy', 'sdk/wire']],
  ['sdk/plugin', ['sdk', 'yang/generated']],
  ['sdk/testing', ['sdk', 'yang/generated']],
  ['engine/core', ['engine/core']],
  // The route path's contract is written where its users, the plugins, can see it; the reactor implements it.
  ['engine/bgp', ['engine/bgp', 'engine/core', 'sdk/policy', 'sdk/wire', 'types:sdk/plugin']],
  // `bgp/port` is the boundary: plain message types, which the rooms of the main thread may name.
  [
    'engine/config',
    ['engine/config', 'engine/core', 'yang/compile', 'yang/generated', 'types:engine/bgp/port.ts', 'sdk/policy', 'sdk/wire'],
  ],
  ['engine/codec', ['engine/codec', 'engine/core', 'sdk/wire', 'sdk/rpc', 'types:engine/bgp/port.ts', 'types:sdk/plugin']],
  [
    'engine/bus',
    [
      'engine/bus',
      'engine/codec',
      'engine/core',
      'engine/config',
      'sdk/wire',
      'sdk/rpc',
      'types:engine/bgp/port.ts',
      'types:sdk/plugin',
    ],
  ],
  [
    'engine/host',
    [
      'engine/host',
      'engine/bus',
      'engine/codec',
      'engine/core',
      'engine/config',
      'sdk/wire',
      'sdk/rpc',
      'yang/generated',
      'types:engine/bgp/port.ts',
      'types:sdk/plugin',
    ],
  ],
  [
    'engine/command',
    [
      'engine/command',
      'engine/host',
      'engine/bus',
      'engine/codec',
      'engine/core',
      'engine/config',
      'sdk/wire',
      'sdk/rpc',
      'yang/generated',
      'types:engine/bgp/port.ts',
    ],
  ],
  ['engine/service', ['engine/service', 'engine/core']],
  ['engine/offline', ['engine/offline', 'engine/codec', 'engine/core', 'sdk/wire', 'types:engine/bgp/port.ts']],
  // It stands where the daemon would: the host's own checks of stage 1, the lines of the bus, a hub.
  [
    'engine/offline/plugin-check',
    [
      'engine/offline/plugin-check',
      'engine/codec',
      'engine/host/registry/registration-checks.ts',
      'sdk/rpc',
      'sdk/testing',
      'yang/generated',
    ],
  ],
  ['engine/cli', ['engine/cli', 'engine/core', 'engine/offline', 'engine/config', 'sdk/rpc', 'yang/generated']],
  ['engine', ['engine', 'sdk', 'plugins', 'yang']],
  ['plugins', ['sdk', 'yang/generated']],
  ['examples', ['sdk']],
  ['test', ['engine', 'plugins', 'yang', 'sdk', 'examples', 'test']],
];

const within = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

function ruleFor(path: string): readonly [string, readonly string[]] {
  const rule = ALLOWED.filter(([folder]) => within(path, folder)).sort((a, b) => b[0].length - a[0].length)[0];
  assert.ok(rule, `${path} lies in no room`);
  return rule;
}

interface Arrow {
  readonly to: string;
  readonly typeOnly: boolean;
}

function arrows(source: Source): Arrow[] {
  const found: Arrow[] = [];
  for (const match of source.text.matchAll(/^(?:import|export)\s+(type\s)?[^'";]*?from\s+'(\.[^']+|zest-bgp\/[^']+)'/gm)) {
    found.push({ to: match[2] ?? '', typeOnly: match[1] !== undefined });
  }
  for (const match of source.text.matchAll(/\bimport\(\s*'(\.[^']+)'/g)) found.push({ to: match[1] ?? '', typeOnly: false });
  return found.map(({ to, typeOnly }) => ({
    to: to.startsWith('zest-bgp/') ? to.slice('zest-bgp/'.length) : relative(root, resolve(root, dirname(source.path), to)),
    typeOnly,
  }));
}

/** `plugins/*` never import a sibling; `engine/daemon.ts` and `engine/main.ts` are imported by nobody but the composition roots. */
function fault(source: Source, arrow: Arrow): string | undefined {
  const [folder, allowed] = ruleFor(source.path);
  if (within(arrow.to, 'plugins') && within(source.path, 'plugins')) {
    const own = source.path.split('/').slice(0, 2).join('/');
    return within(arrow.to, own) ? undefined : `${source.path} imports a sibling plugin, ${arrow.to}`;
  }
  if (within(source.path, 'examples') && within(arrow.to, dirname(source.path))) return undefined;
  const ok = allowed.some((entry) =>
    entry.startsWith('types:') ? arrow.typeOnly && within(arrow.to, entry.slice('types:'.length)) : within(arrow.to, entry),
  );
  return ok ? undefined : `${source.path} (${folder}) may not import ${arrow.to}${arrow.typeOnly ? ' as types' : ''}`;
}

test('imports go one way', () => {
  const faults = sources.flatMap((source) => arrows(source).flatMap((arrow) => fault(source, arrow) ?? []));
  assert.deepEqual(faults, []);
});

test('the guard sees a wrong arrow', () => {
  const planted: Source = { path: 'sdk/wire/planted.ts', text: "import { x } from '../../engine/core/clock.ts';\n" };
  assert.ok(arrows(planted).some((arrow) => fault(planted, arrow) !== undefined));
});

test('nothing imports the composition roots but the program and the tests', () => {
  const roots = ['engine/daemon.ts', 'engine/thread.ts', 'engine/main.ts'];
  const faults = sources
    .filter((source) => !within(source.path, 'test') && source.path !== 'engine/main.ts' && source.path !== 'engine/daemon.ts')
    .flatMap((source) =>
      arrows(source)
        .filter((arrow) => roots.includes(arrow.to) && !arrow.typeOnly)
        .map((arrow) => `${source.path} → ${arrow.to}`),
    );
  assert.deepEqual(faults, []);
});

test('files are kebab-case and named for the thing they hold', () => {
  const banned = /^(utils?|helpers?|manager|common|misc|stuff)$/;
  const faults = sources
    .map((source) => source.path)
    .filter((path) => {
      const base =
        path
          .split('/')
          .at(-1)
          ?.replace(/(\.test|\.d)?\.ts$/, '') ?? '';
      return !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(base) || base.split('-').some((word) => banned.test(word));
    });
  assert.deepEqual(faults, []);
});

test('the top level holds the house and nothing else', () => {
  const plan =
    /^(\..*|package(-lock)?\.json|tsconfig(\..*)?\.json|engine|plugins|yang|sdk|test|examples|README\.md|LICENSE|eslint\.config\.js|biome\.json|knip\.json|dist|node_modules)$/;
  const names = new Set(held.map((path) => path.split('/')[0] ?? ''));
  assert.deepEqual(
    [...names].filter((name) => !plan.test(name)),
    [],
  );
});

test('unfinished marks stay out of the shipped rooms', () => {
  const marks = /\b(TODO|FIXME|XXX|not implemented)\b/;
  const faults = sources.filter((source) => !within(source.path, 'test') && marks.test(source.text)).map((source) => source.path);
  assert.deepEqual(faults, []);
});

test('every room has a README', () => {
  const places = [
    'yang',
    ...['wire', 'rpc', 'rib', 'plugin', 'testing'].map((name) => `sdk/${name}`),
    ...['core', 'bgp', 'codec', 'bus', 'host', 'config', 'command', 'service', 'offline', 'cli'].map((name) => `engine/${name}`),
    ...foldersIn('plugins').map((name) => `plugins/${name}`),
    ...foldersIn('examples').map((name) => `examples/${name}`),
  ];
  const missing = places.filter((place) => !held.includes(`${place}/README.md`));
  assert.deepEqual(missing, []);
});
