/** Which target an editing command means: the file it names, or the daemon that runs that file (or any, when none is named). */
import { existsSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import type { CommitTarget } from '../../config/edit/commit-target.ts';
import { CandidateSession } from '../../config/edit/session.ts';
import { loadConfig } from '../../config/load.ts';
import { FileTarget } from '../../config/revisions/file-target.ts';
import { setting } from '../../core/control-socket.ts';
import { systemClock } from '../../core/clock.ts';
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { ask, NoDaemon } from '../client.ts';
import { loadOptions } from './config-command.ts';
import { DaemonTarget } from './daemon-target.ts';
import { EXIT, type CliIo } from '../io.ts';
import { Refused } from '../refused.ts';
import { type GlobalOptions, UsageError } from '../options.ts';
import { targetOf } from '../run-command.ts';
import { isMap, textOf } from '../answers/table.ts';

export interface TargetWish {
  readonly file: string | undefined;
  /** Only the file, whatever daemon runs it. */
  readonly offline: boolean;
  /** Plugins may be asked what they declare. */
  readonly askPlugins: boolean;
  readonly author: string | undefined;
}

const STATUS_MS = 2000;

export async function openSession(wish: TargetWish, io: CliIo, options: GlobalOptions): Promise<CandidateSession> {
  const target = await findTarget(wish, io, options);
  const daemon = target instanceof DaemonTarget ? target : undefined;
  // Programs and modules of the text lie where the daemon's file does.
  const path = daemon?.configPath ?? wish.file ?? target.name;
  return CandidateSession.open(
    {
      target,
      author: wish.author ?? authorOf(io),
      prepare: (text) => loadOptions(text, path, io, wish.askPlugins, daemon?.declared),
    },
    io.interrupted,
  );
}

export async function findTarget(wish: TargetWish, io: CliIo, options: GlobalOptions): Promise<CommitTarget> {
  const { file } = wish;
  if (file === '-') throw new UsageError('standard input cannot be edited: name a file');
  const running = wish.offline ? undefined : await runningConfig(io, options);
  if (running instanceof Error) {
    if (file === undefined) throw new UsageError(`${messageOf(running)}; or name a file: zest config edit FILE`);
  } else if (running !== undefined && (file === undefined || sameFile(file, running)))
    return new DaemonTarget(targetOf(io, options).path, io.uid, running);
  if (file === undefined) throw new UsageError('--file needs a FILE');
  if (!existsSync(dirname(file))) throw new Refused(EXIT.nothing, `${file}: there is no folder ${dirname(file)}`);
  return fileTarget(file, wish.askPlugins, io);
}

export function fileTarget(file: string, askPlugins: boolean, io: CliIo): FileTarget {
  const limit = Number(setting(io.environment, 'ze.config.revisions') ?? '');
  return new FileTarget({
    path: file,
    read: async (text) => loadConfig(text, await loadOptions(text, file, io, askPlugins)),
    clock: systemClock,
    limit: Number.isInteger(limit) && limit > 0 ? limit : undefined,
  });
}

/** Path of the configuration that the daemon at the socket runs; the error when none answers. */
async function runningConfig(io: CliIo, options: GlobalOptions): Promise<string | Error> {
  try {
    const status = await ask(targetOf(io, options).path, io.uid, 'config status', [], AbortSignal.timeout(STATUS_MS));
    return isMap(status) ? textOf(status['config']) : '';
  } catch (error) {
    if (error instanceof NoDaemon || error instanceof Error) return error;
    throw error;
  }
}

function sameFile(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}

export function authorOf(io: CliIo): string {
  const name = io.environment['USER'] ?? io.environment['LOGNAME'] ?? '';
  return name === '' ? accountOf(io.uid) : name;
}

/** A service's shell has neither; an account without a name is its number. */
function accountOf(uid: number): string {
  try {
    const { uid: own, username } = userInfo();
    return own === uid ? username : `uid ${uid}`;
  } catch {
    return `uid ${uid}`;
  }
}
