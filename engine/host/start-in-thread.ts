/** What a thread does that is told to start a plugin: load its module, run it over the pipe and the bridge it was given. */
import type { MessagePort } from 'node:worker_threads';
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import { messageOf } from '../../sdk/rpc/errors.ts';
import { threadBridge } from './bridge-port.ts';
import { loadPlugin } from './load-plugin.ts';
import { PortDuplex } from './port-duplex.ts';

/**
 * Resolves when the plugin's run is over, for whatever reason; the other side has been told it then. Never rejects. The plugin
 * is stopped by closing either port.
 */
export async function startInThread(
  name: string,
  moduleUrl: string,
  pipe: MessagePort,
  bridgePort: MessagePort,
  routes: RoutePath | undefined,
): Promise<void> {
  const bridge = threadBridge(bridgePort, routes);
  const conn = new PortDuplex(pipe);
  conn.on('error', () => undefined);
  const stopping = new AbortController();
  void bridge.closed.then(() => stopping.abort());
  try {
    const definition = await loadPlugin(moduleUrl);
    await definition.run({ name, conn, bridge, signal: stopping.signal });
    bridge.close();
  } catch (error) {
    bridge.fail(messageOf(error));
  } finally {
    conn.destroy();
  }
}
