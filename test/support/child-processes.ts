// Processes that a daemon has started, found by what the kernel says: nothing of them may be left over.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface Found {
  readonly pid: number;
  readonly parent: number;
  /** `R`, `S`, `Z`, … */
  readonly state: string;
  /** Words of the command line, '' once it is dead. */
  readonly command: string;
}

export function processes(): readonly Found[] {
  return readdirSync('/proc').flatMap((name): Found[] => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // The command's name stands in brackets and may hold anything.
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state = '', parent = '0'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return [{ pid: Number(name), parent: Number(parent), state, command }];
    } catch {
      return [];
    }
  });
}

/** Children of the process that are dead and not reaped. */
export function zombiesOf(pid: number): readonly Found[] {
  return processes().filter((process) => process.parent === pid && process.state === 'Z');
}

/** Processes that work in this folder, whoever their parent is, and what they run; but for one. */
export function workingIn(folder: string, but = 0): readonly Found[] {
  return processes().filter((process) => {
    if (process.pid === but) return false;
    try {
      return readlinkSync(`/proc/${process.pid}/cwd`) === folder;
    } catch {
      return false;
    }
  });
}

/** Plugins among them: `raw-plugin.mjs` and what it forked, not what the daemon keeps for its own order. */
export function pluginsIn(folder: string): readonly Found[] {
  return workingIn(folder).filter(({ command }) => /raw-plugin|plugin\.py|sleep 3600/.test(command));
}
