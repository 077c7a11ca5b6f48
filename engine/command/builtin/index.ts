/** Every built-in command by its handler's name in `zest-cmd.yang`. */
import type { Handler } from '../dispatch.ts';
import { cacheCommands } from './cache.ts';
import { configCommands } from './config.ts';
import { discoveryCommands } from './discovery.ts';
import { doctorCommands } from './doctor.ts';
import { eventCommands } from './events.ts';
import { peerActions } from './peer-actions.ts';
import { peerViews } from './peers.ts';
import { schemaCommands } from './schema.ts';
import { stateCommands } from './state.ts';

export function builtInHandlers(): ReadonlyMap<string, Handler> {
  const all = [
    cacheCommands,
    configCommands,
    peerViews,
    peerActions,
    stateCommands,
    eventCommands,
    discoveryCommands,
    doctorCommands,
    schemaCommands,
  ];
  return new Map(all.flatMap((handlers) => Object.entries(handlers)));
}
