// What a plugin that was started for a candidate says to it: it is configured with it already, and asked to verify the whole of what it wants.
import type { RunningConfig } from '../config/running.ts';
import { DEFAULT_SECONDS } from '../config/transaction/allowance.ts';
import { type Ack, ask } from '../config/transaction/asking.ts';
import { Changes, type ConfigView } from '../config/transaction/changes.ts';
import type { Participant } from '../config/transaction/participant.ts';

/** Before there was anything. */
const NOTHING: ConfigView = { roots: () => [], section: () => undefined };

/** `undefined`: it wants nothing of the configuration, so there is nothing to ask. */
export async function verifyFresh(
  participant: Participant,
  candidate: RunningConfig,
  signal: AbortSignal,
): Promise<Ack<'ze-plugin-callback:config-verify'> | undefined> {
  const share = new Changes(NOTHING, candidate).share(participant.wants);
  if (share === undefined) return undefined;
  const ms = (participant.verifySeconds || DEFAULT_SECONDS) * 1000;
  return await ask(participant, 'ze-plugin-callback:config-verify', { sections: share.candidate }, ms, signal);
}
