/** Entry of a plugin's own thread (`isolation thread`). The thread ends when the plugin does. */
import { type MessagePort, workerData } from 'node:worker_threads';
import { startInThread } from './start-in-thread.ts';

export interface ThreadStart {
  readonly name: string;
  readonly moduleUrl: string;
  readonly pipe: MessagePort;
  readonly bridge: MessagePort;
}

const { name, moduleUrl, pipe, bridge } = workerData as ThreadStart;
await startInThread(name, moduleUrl, pipe, bridge, undefined);
process.exit();
