/**
 * A pid file that belongs to one living process. Made whole by a link, so that nobody reads half of it and of two who start at once one
 * wins. A file whose process is gone is stale and replaced; so is one whose number the system has given to somebody else since (the
 * process began after the file was written), as after a reboot or in a container.
 */
import {
  chownSync,
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { makeFolders } from '../core/folders.ts';

/** Another daemon has the file, or what stands there is no pid file: the daemon does not start. */
export class PidFileTaken extends Error {}

/** A process that began this much later than the file was written is another one; clocks of the kernel tick in 10 ms. */
const SLACK_MS = 2000;
const ATTEMPTS = 5;

export class PidFile {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Throws PidFileTaken when a live process has it, the system's error when it cannot be written. */
  static claim(path: string, pid = process.pid): PidFile {
    makeFolders(dirname(path));
    const own = `${path}.${pid}`;
    try {
      writeFileSync(own, `${pid}\n`, { mode: 0o644 });
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        try {
          linkSync(own, path);
          return new PidFile(path);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        }
        const holder = livingHolder(path, pid);
        if (holder !== undefined)
          throw new PidFileTaken(`another daemon, process ${holder}, has ${path}: stop it, or name another file (daemon/pid)`);
        if (!isStale(path)) throw new PidFileTaken(`${path} is no pid file: take it away, or name another one (daemon/pid)`);
        takeAside(path, pid);
      }
      throw new PidFileTaken(`${path} keeps coming back: another daemon is starting`);
    } finally {
      remove(own);
    }
  }

  /** To the user the daemon becomes: it may have to empty it. */
  giveTo(uid: number, gid: number): void {
    chownSync(this.path, uid, gid);
  }

  /** Takes it away, unless another daemon has written its own there. In a folder that is no longer ours it is left empty: stale. */
  release(): void {
    if (pidIn(this.path) !== process.pid) return;
    if (!remove(this.path)) truncateSync(this.path);
  }
}

/** The pid of the live process that the file names; undefined: nobody, it is stale or no pid at all. */
export function livingHolder(path: string, self: number): number | undefined {
  const pid = pidIn(path);
  if (pid === undefined || pid === self || !isAlive(pid)) return undefined;
  const written = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs;
  const began = beganAt(pid);
  return written !== undefined && began !== undefined && began > written + SLACK_MS ? undefined : pid;
}

function pidIn(path: string): number | undefined {
  const text = textOf(path);
  return text !== undefined && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined;
}

/**
 * May it be taken away? A number, or what a writer that was killed has left. A link is: what it leads to is not touched. Somebody's file or
 * folder is not: whoever names it as the pid file has made a mistake.
 */
function isStale(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isSymbolicLink()) return true;
  return /^\d*$/.test(textOf(path) ?? 'none');
}

const LONGEST = 32;

/** Without blanks around; undefined when it is no file, cannot be read, or holds more than a number. Never waits. */
function textOf(path: string): string | undefined {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      const found = fstatSync(file);
      return found.isFile() && found.size <= LONGEST ? readFileSync(file, 'utf8').trim() : undefined;
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** ms since the epoch at which a process began; undefined where there is no /proc to ask. */
function beganAt(pid: number): number | undefined {
  try {
    // The folder of a process is as old as the process; it shows the time of its first look-up on some kernels, so the clock ticks count.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const ticks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
    const boot = Number(/^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1]);
    return Number.isFinite(ticks) && Number.isFinite(boot) ? boot * 1000 + ticks * 10 : undefined;
  } catch {
    return undefined;
  }
}

/** Moves a stale file out of the way; if somebody else's took its place meanwhile, that is put back. */
function takeAside(path: string, self: number): void {
  const aside = `${path}.stale-${self}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (livingHolder(aside, self) !== undefined && statSync(path, { throwIfNoEntry: false }) === undefined) renameSync(aside, path);
  else remove(aside);
}

function remove(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
