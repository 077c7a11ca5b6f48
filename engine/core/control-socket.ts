/**
 * Where the control socket is, and whether its folder can be trusted. The daemon and the command line agree on it here
 * (design §3): `--socket`, else `ze.control.socket`, else `$XDG_RUNTIME_DIR/zest/control.sock`, else `/tmp/zest-<uid>/control.sock`.
 */
import { lstatSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { makeFolders } from './folders.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** `sun_path` of Linux, without its final zero. */
const MAXIMUM_PATH_BYTES = 107;

/** A setting with a dotted name, in any of its spellings: `ze.control.socket`, `ze_control_socket`, `ZE_CONTROL_SOCKET`. */
export function setting(environment: Environment, name: string): string | undefined {
  const lower = name.replaceAll(/[.-]/g, '_');
  return environment[name] ?? environment[lower] ?? environment[lower.toUpperCase()];
}

export function controlSocketPath(option: string | undefined, environment: Environment, uid: number): string {
  const named = option ?? setting(environment, 'ze.control.socket');
  if (named !== undefined && named !== '') return resolve(named);
  const runtime = environment['XDG_RUNTIME_DIR'];
  if (runtime?.startsWith('/') === true) return join(runtime, 'zest', 'control.sock');
  return `/tmp/zest-${uid}/control.sock`;
}

/**
 * Says why the socket's folder cannot be trusted, or `undefined`. It must belong to us (or to root) and nobody else may put
 * files into it; a folder like /tmp, where the sticky bit guards what is ours, will do for a path somebody named. `alsoUid` is the
 * user the daemon becomes.
 */
export function untrustedFolder(path: string, uid: number, alsoUid = uid): string | undefined {
  const folder = dirname(path);
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined) return `${folder} does not exist`;
  if (!stat.isDirectory()) return `${folder} is not a folder`;
  const isTheirs = stat.uid !== uid && stat.uid !== 0 && stat.uid !== alsoUid;
  if (isTheirs && !(uid === 0 && isRootsAlone(dirname(folder)))) return `${folder} belongs to user ${stat.uid}, not to ${uid}`;
  const sticky = (stat.mode & 0o1000) !== 0;
  if ((stat.mode & 0o022) !== 0 && !sticky) return `${folder} can be written by others (mode ${(stat.mode & 0o777).toString(8)})`;
  return undefined;
}

/** Only root can have made what lies in it: `/run/zest` of a service's user is root's gift. */
function isRootsAlone(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  return stat?.uid === 0 && (stat.mode & 0o022) === 0;
}

/** Makes the folder (0700) when it is not there and checks it. Throws with the reason. */
export function prepareFolder(path: string, uid: number, alsoUid = uid): void {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAXIMUM_PATH_BYTES)
    throw new Error(`the socket path has ${bytes} bytes, at most ${MAXIMUM_PATH_BYTES} can be used: ${path}`);
  makeFolders(dirname(path), 0o700);
  const reason = untrustedFolder(path, uid, alsoUid);
  if (reason !== undefined) throw new Error(`the control socket cannot be there: ${reason}`);
}
