// Processes that a daemon has started, found by what the kernel says: nothing of them may be left over.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface Found {
  readonly pid: number;
  readonly parent: number;
  /** `R`, `S`, `Z`, … */
  readonly state: string;
}

function processes(): readonly Found[] {
  return readdirSync('/proc').flatMap((name): Found[] => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // The command's name stands in brackets and may hold anything.
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state = '', parent = '0'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return [{ pid: Number(name), parent: Number(parent), state }];
    } catch {
      return [];
    }
  });
}

/** Children of the process, those that are dead and not reaped included. */
export function childrenOf(pid: number): readonly Found[] {
  return processes().filter((process) => process.parent === pid);
}

/** Processes that work in this folder, whoever their parent is, but for one. */
export function workingIn(folder: string, but: number): readonly Found[] {
  return processes().filter((process) => {
    if (process.pid === but) return false;
    try {
      return readlinkSync(`/proc/${process.pid}/cwd`) === folder;
    } catch {
      return false;
    }
  });
}
