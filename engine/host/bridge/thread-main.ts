/** Entry of a plugin's own thread (`isolation thread`). The thread ends when the plugin does; what it died of ends the thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { runOnPipe } from './start-in-thread.ts';

export interface ThreadStart {
  readonly name: string;
  readonly moduleUrl: string;
  readonly pipe: MessagePort;
}

// Shows that the event loop turns, without keeping it alive.
parentPort?.on('message', (message) => parentPort?.postMessage(message)).unref();

const { name, moduleUrl, pipe } = workerData as ThreadStart;
await runOnPipe(name, moduleUrl, pipe);
process.exit();
