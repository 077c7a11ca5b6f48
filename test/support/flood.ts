// A flood-speaker child of a test, and what it says of itself.
import { type ChildProcess, spawn } from 'node:child_process';
import { MANDATORY, open, toHex } from '../wire/build.ts';

export interface Flood {
  readonly child: ChildProcess;
  /** Prefixes it has written so far, repetitions included. */
  announced: number;
  /** Largest gap between KEEPALIVEs that came, ms. */
  gap: number;
  error: string | undefined;
}

/** AS 64512 at `local`; `flood-speaker.mjs` must be in the folder (`writeScript`). `pace`: messages a second after the first round, 0 = as fast as can be. */
export function startFlood(folder: string, port: number, local: string, prefixes: number, pace = 0): Flood {
  // Optional parameters of the OPEN: IPv4 unicast and a four-octet AS number.
  const openHex = toHex(open('0e020c01040001000141040000fc00'));
  const child = spawn(
    process.execPath,
    ['flood-speaker.mjs', String(port), local, openHex, MANDATORY, String(prefixes), String(pace)],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const flood: Flood = { child, announced: 0, gap: 0, error: undefined };
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) Object.assign(flood, JSON.parse(line));
  });
  return flood;
}
