// Stories of sessions, a folder each: `peers.json` (settings by host number), `events.jsonl` (what peers do and time does), `expected.jsonl`
// (what the reactor told: rows for the bus, reports for the operator). Real sockets, a clock that only the story moves.
// UPDATE=1 rewrites the expected; look at the difference before it is committed.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ManualClock } from '../../../engine/core/clock.ts';
import type { PeerSettings } from '../../../engine/bgp/port.ts';
import { KEEPALIVE, NOTIFICATION, OPEN, ROUTE_REFRESH, UPDATE, keepalive } from '../../../sdk/wire/message.ts';
import type { Speaker } from '../../unit/bgp/lab.ts';
import { Lab, attributes, family, peerSettings, toHex, until, update } from '../../unit/bgp/lab.ts';

type Told = 'open' | 'update' | 'notification' | 'keepalive' | 'refresh';
const TYPES: Readonly<Record<Told, number>> = {
  open: OPEN,
  update: UPDATE,
  notification: NOTIFICATION,
  keepalive: KEEPALIVE,
  refresh: ROUTE_REFRESH,
};

type Step =
  | { readonly connect: number }
  | { readonly open: number; readonly hold?: number }
  | { readonly keepalive: number }
  | { readonly announce: number; readonly prefixes: string; readonly path: readonly number[] }
  | { readonly close: number }
  | { readonly pass: number }
  | { readonly teardown: number; readonly subcode: number; readonly text: string }
  /** Waits until the peer is in this state. */
  | { readonly peer: number; readonly is: string }
  /** Waits until the peer hears a message, `says` being its body where that matters. */
  | { readonly hears: number; readonly what: Told; readonly says?: string }
  /** Waits until its connection is closed. */
  | { readonly closed: number };

interface Peers {
  readonly [host: string]: Partial<PeerSettings> & { readonly maximum?: number; readonly idle?: number };
}

const root = import.meta.dirname;
for (const folder of readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
  test(`scenario ${folder.name}`, async () => {
    const read = (name: string): string => readFileSync(join(root, folder.name, name), 'utf8');
    const steps = read('events.jsonl')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Step);
    const told = await play(JSON.parse(read('peers.json')) as Peers, steps);
    const file = join(root, folder.name, 'expected.jsonl');
    if (process.env['UPDATE'] === '1' || !existsSync(file)) writeFileSync(file, told.map((line) => `${line}\n`).join(''));
    assert.deepEqual(told, read('expected.jsonl').split('\n').filter(Boolean));
  });
}

async function play(peers: Peers, steps: readonly Step[]): Promise<readonly string[]> {
  const clock = new ManualClock();
  const settings = Object.entries(peers).map(([host, { maximum, idle, ...more }]) =>
    peerSettings(Number(host), {
      families: [family(257, { prefixMaximum: maximum ?? 1000, idleTimeoutSeconds: idle ?? 0 })],
      ...more,
    }),
  );
  await using lab = await Lab.of(settings, {}, clock);
  lab.reactor.interest(~(1 << 1), 0);
  const speakers = new Map<number, Speaker>();
  const speaker = (host: number): Speaker => speakers.get(host)!;
  for (const step of steps) {
    if ('connect' in step) speakers.set(step.connect, await lab.connect(step.connect));
    else if ('open' in step) speaker(step.open).send(speaker(step.open).open(undefined, step.hold));
    else if ('keepalive' in step) speaker(step.keepalive).send(keepalive());
    else if ('announce' in step) speaker(step.announce).send(update('', attributes(...step.path), step.prefixes));
    else if ('close' in step) speaker(step.close).destroy();
    else if ('pass' in step) clock.advance(step.pass);
    else if ('teardown' in step)
      await lab.reactor.teardown(
        settings.findIndex((one) => one.name === `p${step.teardown}`),
        step.subcode,
        step.text,
      );
    else if ('is' in step) await until(async () => (await lab.state(step.peer)) === step.is, `peer ${step.peer} is ${step.is}`);
    else if ('closed' in step) await speaker(step.closed).ends();
    else {
      const body = toHex(await speaker(step.hears).hears(TYPES[step.what]));
      if (step.says !== undefined) assert.equal(body, step.says);
    }
  }
  const start = new ManualClock().wall();
  const rows = lab.sink.rows.map((row) => ({
    at: row.at - start,
    peer: row.peer,
    kind: row.kind,
    ...(row.direction === 'unspecified' ? {} : { direction: row.direction }),
    ...(row.state === '' ? {} : { state: row.state }),
    ...(row.reason === '' ? {} : { reason: row.reason }),
    ...(row.family === 0 ? {} : { family: row.family }),
    ...(row.kind === 'notification' ? { bytes: toHex(row.bytes) } : {}),
    ...(row.negotiated === undefined
      ? {}
      : { negotiated: { hold: row.negotiated.holdTimeSeconds, families: row.negotiated.families } }),
  }));
  const reports = lab.sink.reports.map(({ severity, code, subject, message }) => ({ severity, code, subject, message }));
  return [...rows, ...reports].map((one) => JSON.stringify(one));
}
