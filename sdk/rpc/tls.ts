/** Connecting back: what the engine put into a child's environment, and the TLS link made from it. */
import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { AUTH_LINE_LIMIT, authLine, PLUGIN_NAME, readFirstLine } from './auth.ts';
import { describeRpcError, errorFromPayload, messageOf, RpcError } from './errors.ts';
import { parseLine } from './frame.ts';

/** Dial and handshake together. */
export const CONNECT_DEADLINE_MS = 10_000;
const DEFAULT_PORT = 12700;

export type Environment = Record<string, string | undefined>;

export interface HubEnvironment {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  /** PEM of the one root to trust. */
  readonly caPem: string;
  /** Name to claim. */
  readonly name: string;
}

/** A variable in any spelling: `ZE_PLUGIN_HUB_HOST`, `ze.plugin.hub.host`, … The exact upper-case one wins. */
export function readVariable(environment: Environment, name: string): string | undefined {
  const exact = environment[name];
  if (exact !== undefined) return exact;
  const wanted = normal(name);
  return Object.entries(environment).find(([key]) => normal(key) === wanted)?.[1];
}

function normal(name: string): string {
  return name.toLowerCase().replaceAll('.', '_');
}

/** Takes the hub's data out of the environment; the token is removed from it in every spelling. Throws what is missing. */
export function takeHubEnvironment(environment: Environment, programName: string): HubEnvironment {
  const token = readVariable(environment, 'ZE_PLUGIN_HUB_TOKEN') ?? '';
  const wanted = normal('ZE_PLUGIN_HUB_TOKEN');
  for (const key of Object.keys(environment)) if (normal(key) === wanted) Reflect.deleteProperty(environment, key);
  if (token === '') throw new RpcError('error', 'ZE_PLUGIN_HUB_TOKEN is not set: the plugin was not started by an engine');
  const caPem = readVariable(environment, 'ZE_PLUGIN_CA_PEM') ?? '';
  checkPem(caPem);
  const name = readVariable(environment, 'ZE_PLUGIN_NAME') ?? '';
  return {
    host: readVariable(environment, 'ZE_PLUGIN_HUB_HOST') ?? '127.0.0.1',
    port: portOf(readVariable(environment, 'ZE_PLUGIN_HUB_PORT')),
    token,
    caPem,
    name: name === '' ? programName : name,
  };
}

function checkPem(pem: string): void {
  if (pem === '') throw new RpcError('error', 'ZE_PLUGIN_CA_PEM is not set: the engine cannot be verified');
  try {
    new X509Certificate(pem);
  } catch (error) {
    throw new RpcError('error', `ZE_PLUGIN_CA_PEM holds no certificate: ${messageOf(error)}`, { cause: error });
  }
}

function portOf(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULT_PORT;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535)
    throw new RpcError('error', `ZE_PLUGIN_HUB_PORT is not a port: ${text}`);
  return port;
}

/** Dials, verifies (TLS 1.3, this root alone, the dialled host's name) and authenticates. The socket is then the bus's link. */
export async function connectBack(hub: HubEnvironment, deadlineMs = CONNECT_DEADLINE_MS): Promise<TLSSocket> {
  if (!PLUGIN_NAME.test(hub.name)) throw new RpcError('error', `invalid plugin name: ${hub.name}`);
  const due = performance.now() + deadlineMs;
  const socket = await dial(hub, deadlineMs);
  try {
    socket.write(authLine(hub.token, hub.name));
    const line = parseLine(await readFirstLine(socket, AUTH_LINE_LIMIT, Math.max(1, due - performance.now())));
    if (line.kind === 'error') throw errorFromPayload(line.payload);
    if (line.kind !== 'ok' || line.id !== '0') throw new RpcError('unreadable', 'the hub did not answer the auth line');
    return socket;
  } catch (error) {
    socket.destroy();
    throw new RpcError('closed', `authenticate to ${hub.host}:${hub.port}: ${describeRpcError(error)}`, { cause: error });
  }
}

function dial(hub: HubEnvironment, deadlineMs: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: hub.host,
      port: hub.port,
      ca: hub.caPem,
      minVersion: 'TLSv1.3',
      rejectUnauthorized: true,
      ...(isIP(hub.host) === 0 ? { servername: hub.host } : {}),
    });
    const fail = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(new RpcError('closed', `connect to ${hub.host}:${hub.port}: ${error.message}`, { cause: error }));
    };
    const timer = setTimeout(() => fail(new Error(`no connection within ${deadlineMs} ms`)), deadlineMs);
    socket.setNoDelay(true);
    socket.once('error', fail);
    socket.once('secureConnect', () => {
      clearTimeout(timer);
      socket.off('error', fail);
      // A later error is followed by `close`, which every owner watches.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}
