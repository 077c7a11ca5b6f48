import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { ownChecks, type OwnChecks } from '../../../engine/config/own-checks.ts';
import { loadConfig } from '../../../engine/config/load.ts';
import { systemClock } from '../../../engine/core/clock.ts';
import { type DoctorLine, runDoctor } from '../../../engine/core/doctor.ts';

const GOOD = `bgp { router-id 192.0.2.1; session { asn { local 64500; } }
  peer edge { connection { local { ip 127.0.0.1; } remote { ip 127.0.0.2; } } session { asn { remote 65001; } } } }
`;
const HUB = `${GOOD}plugin { hub { server main { ip 127.0.0.1; port 12700; secret "${'s'.repeat(32)}"; } } }\n`;

interface Given {
  readonly text?: string;
  readonly mode?: number;
  readonly changes?: Partial<OwnChecks>;
  readonly prepare?: (folder: string) => void;
}

/** Findings as `check code`. */
async function examine({ text = GOOD, mode = 0o600, changes = {}, prepare }: Given): Promise<readonly DoctorLine[]> {
  const folder = mkdtempSync(join(tmpdir(), 'zest-doctor-'));
  try {
    const configPath = join(folder, 'zest.conf');
    writeFileSync(configPath, text);
    chmodSync(configPath, mode);
    prepare?.(folder);
    const about: OwnChecks = {
      configPath,
      env: { ze_state_dir: join(folder, 'state'), ze_control_socket: join(folder, 'control.sock') },
      flags: {},
      uid: process.getuid?.() ?? 0,
      clock: systemClock,
      builtins: [],
      running: false,
      machine: { openFiles: () => 1024, firstFreePort: () => 1024 },
      ...changes,
    };
    const lines: DoctorLine[] = [];
    const { signal } = new AbortController();
    for await (const line of runDoctor(ownChecks(about), { clock: systemClock, platform: 'linux', hasConfig: true, signal }))
      lines.push(line);
    return lines.filter((line) => line.status !== 'ok' && line.status !== 'skipped');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const file = (folder: string): string => join(folder, 'zest.conf');
for (const [name, given, expected] of [
  ['a good configuration', {}, []],
  ['one that does not parse', { text: 'bgp { nonsense 1; }' }, ['config doctor-config-invalid']],
  ['one with a plugin hub that others may read', { text: HUB, mode: 0o644 }, ['config-permissions doctor-config-permissions']],
  ['one with a plugin hub that is ours alone', { text: HUB }, []],
  ['one without secrets that others may read', { mode: 0o644 }, []],
  ['one that anybody may write', { mode: 0o666 }, ['config-permissions doctor-config-permissions']],
  [
    'more peers than open files',
    { changes: { machine: { openFiles: () => 64, firstFreePort: () => 0 } } },
    ['open-files doctor-open-files'],
  ],
  ['a clock before our time', { changes: { clock: { ...systemClock, wall: () => 0 } } }, ['clock doctor-clock']],
  [
    'a file changed in the future',
    { prepare: (folder: string) => utimesSync(file(folder), 4_000_000_000, 4_000_000_000) },
    ['clock doctor-clock'],
  ],
  [
    'a state directory that is a file',
    { prepare: (folder: string) => writeFileSync(join(folder, 'state'), '') },
    ['state-directory doctor-state-directory'],
  ],
  [
    'a state directory others may write',
    {
      prepare: (folder: string) => {
        mkdirSync(join(folder, 'state'));
        chmodSync(join(folder, 'state'), 0o777);
      },
    },
    ['state-directory doctor-state-directory'],
  ],
  ['no place for state', { changes: { env: {} } }, ['state-directory doctor-state-directory']],
  [
    'a socket path that is a file',
    { prepare: (folder: string) => writeFileSync(join(folder, 'control.sock'), '') },
    ['control-socket doctor-control-socket'],
  ],
  [
    'a socket path that is too long',
    {
      changes: {
        flags: { 'control.socket': `/tmp/${'x'.repeat(120)}` },
        env: { ze_state_dir: join(tmpdir(), 'zest-doctor-none') },
      },
    },
    ['control-socket doctor-control-socket'],
  ],
] as const satisfies readonly (readonly [string, Given, readonly string[]])[]) {
  test(`${name}: ${expected.join(', ') || 'clean'}`, async () => {
    assert.deepEqual(
      (await examine(given)).filter((line) => line.code !== 'doctor-config-warning').map((line) => `${line.check} ${line.code}`),
      expected,
    );
  });
}

test('the configuration on standard input cannot be looked at, and is no fault', async () => {
  assert.deepEqual(await examine({ changes: { configPath: '-' } }), []);
});

test('the file is read with what its plugins bring', async () => {
  const text = `${GOOD}acme { speed 10; }\n`;
  assert.deepEqual(
    (await examine({ text })).map((line) => line.code),
    ['doctor-config-invalid'],
  );
  let asked = '';
  const read: OwnChecks['read'] = (whole, options) => {
    asked = whole;
    return Promise.resolve(loadConfig(GOOD, options));
  };
  assert.deepEqual(await examine({ text, changes: { read } }), []);
  assert.equal(asked, text);
});
