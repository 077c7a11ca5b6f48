/**
 * From root to the user that the configuration names, for good. The user is looked up before anything is opened, so that a wrong name costs
 * nothing; what root made until then (state, log, sockets) is handed over; then groups, group and user change, in every thread of the
 * process (the C library does that), and the way back is tried and must be closed.
 */
import { chownSync, lchownSync, lstatSync, readdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';

export interface User {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** Of Node, and not of its types. */
interface Grouping {
  readonly initgroups?: (user: string, extraGroup: number) => void;
}

/** Entries of a folder that are handed over at most: a state folder holds some thousands, a slip of the pen millions. */
const MAXIMUM_ENTRIES = 100_000;

/** Asks the system's user database, whatever stands behind it. Throws with the reason in the operator's words. */
export function findUser(name: string): User {
  const { seteuid, geteuid } = process;
  if (seteuid === undefined || geteuid === undefined) throw new Error(`daemon/user ${name}: this system has no users to become`);
  const self = geteuid.call(process);
  if (self !== 0) {
    if (userInfo().username === name) return { name, uid: self, gid: process.getgid?.() ?? 0, home: userInfo().homedir };
    throw new Error(`daemon/user ${name}: only root can become another user, this is ${userInfo().username} (uid ${self})`);
  }
  try {
    // Node knows names only where it changes to them.
    seteuid.call(process, name);
  } catch (error) {
    throw new Error(`daemon/user ${name}: there is no such user`, { cause: error });
  }
  try {
    const { uid, gid, homedir } = userInfo();
    return { name, uid, gid, home: homedir };
  } finally {
    seteuid.call(process, 0);
  }
}

/** `nobody`: for a name that does not exist, so that its slip runs nothing as root. */
const NOBODY = 65534;

/** Whom another program is to be started as by a root that is going to be `name`; undefined: as who we are. */
export function identityOf(name: string): { readonly uid: number; readonly gid: number } | undefined {
  if (name === '' || process.geteuid?.() !== 0) return undefined;
  try {
    const { uid, gid } = findUser(name);
    return { uid, gid };
  } catch {
    return { uid: NOBODY, gid: NOBODY };
  }
}

/** Becomes the user, with its groups. Throws when the system refuses, or when root is still within reach. */
export function becomeUser(user: User): void {
  const { setgid, setuid, getuid, geteuid } = process;
  if (geteuid?.call(process) === user.uid && getuid?.call(process) === user.uid) return;
  (process as Grouping).initgroups?.(user.name, user.gid);
  setgid?.call(process, user.gid);
  setuid?.call(process, user.uid);
  if (getuid?.call(process) !== user.uid || (user.uid !== 0 && canReturn())) throw new Error(`could not become ${user.name}`);
}

function canReturn(): boolean {
  try {
    process.setuid?.(0);
    return true;
  } catch {
    return false;
  }
}

/** Gives a file, or a folder and all in it, to the user. Links are given themselves, never followed. What is not there is nobody's. */
export function handOver(path: string, user: User): void {
  let left = MAXIMUM_ENTRIES;
  const give = (at: string): void => {
    const stat = lstatSync(at, { throwIfNoEntry: false });
    if (stat === undefined) return;
    if (left-- <= 0) throw new Error(`${path} holds more than ${MAXIMUM_ENTRIES} files: give it to ${user.name} by hand`);
    if (stat.isDirectory()) for (const name of readdirSync(at)) give(join(at, name));
    if (stat.uid !== user.uid || stat.gid !== user.gid) (stat.isSymbolicLink() ? lchownSync : chownSync)(at, user.uid, user.gid);
  };
  give(path);
}
