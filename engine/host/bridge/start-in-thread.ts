/** What a thread does that is told to start a plugin: load its module, run it over the pipe and the bridge it was given. */
import type { MessagePort } from 'node:worker_threads';
import type { RoutePath } from '../../../sdk/plugin/route-path.ts';
import { messageOf } from '../../../sdk/rpc/errors.ts';
import { threadBridge } from './bridge-port.ts';
import { loadPlugin } from '../startup/load-plugin.ts';
import { PortDuplex } from './port-duplex.ts';

/**
 * A plugin of the reactor's thread. Resolves when its run is over, for whatever reason; the other side has been told it then.
 * Never rejects. Closing either port stops the plugin.
 */
export async function startInThread(
  name: string,
  moduleUrl: string,
  pipe: MessagePort,
  bridgePort: MessagePort,
  routes: RoutePath | undefined,
): Promise<void> {
  const bridge = threadBridge(bridgePort, routes);
  const conn = streamOf(pipe);
  const stopping = new AbortController();
  void bridge.closed.then(() => stopping.abort());
  try {
    const definition = await loadPlugin(moduleUrl);
    await definition.run({ name, conn, bridge, signal: stopping.signal, log: bridge.log });
    bridge.close();
  } catch (error) {
    bridge.fail(messageOf(error));
  } finally {
    conn.destroy();
  }
}

/** A plugin that has a thread to itself: it stays on the pipe. Rejects with what the plugin died of. */
export async function runOnPipe(name: string, moduleUrl: string, pipe: MessagePort): Promise<void> {
  const conn = streamOf(pipe);
  const stopping = new AbortController();
  conn.once('close', () => stopping.abort());
  try {
    const definition = await loadPlugin(moduleUrl);
    await definition.run({ name, conn, signal: stopping.signal });
  } finally {
    conn.destroy();
  }
}

function streamOf(pipe: MessagePort): PortDuplex {
  const conn = new PortDuplex(pipe);
  conn.on('error', () => undefined);
  return conn;
}
