// What the engine does for plugins outside of BGP: values that last (`state-…`) and names (`resolve-dns`).
import { RpcError } from '../../sdk/rpc/errors.ts';
import type { Methods } from '../../yang/generated/methods.ts';
import type { EngineServices } from '../host/services.ts';
import { keyFault, MAX_VALUE } from '../host/services/state-store.ts';
import type { ServiceParts } from './call-parts.ts';

type Output<M extends keyof Methods> = Methods[M]['output'];

/** Base64 of `MAX_VALUE` bytes. */
const MAX_TEXT = 4 * Math.ceil(MAX_VALUE / 3);

export function storeCalls(parts: ServiceParts): EngineServices['calls'] {
  const { state, dns } = parts;
  return {
    'ze-plugin-engine:state-get': async (plugin, input): Promise<Output<'ze-plugin-engine:state-get'>> => {
      const { data, ...answer } = await state.get(plugin, checked('state-get', input.key));
      return data === undefined ? answer : { ...answer, data: base64(data) };
    },
    'ze-plugin-engine:state-put': (plugin, input) =>
      state.put(plugin, checked('state-put', input.key), bytesOf('state-put', input.data)),
    'ze-plugin-engine:state-remove': async (plugin, input) => {
      const { status } = await state.remove(plugin, checked('state-remove', input.key));
      return { status };
    },
    'ze-plugin-engine:state-list': async (plugin, input): Promise<Output<'ze-plugin-engine:state-list'>> => {
      const { status, keys } = await state.list(plugin, checked('state-list', input.key, true));
      return keys === undefined ? { status } : { status, keys };
    },
    'ze-plugin-engine:state-increment': async (plugin, input): Promise<Output<'ze-plugin-engine:state-increment'>> => {
      const { status, value } = await state.increment(plugin, checked('state-increment', input.key));
      return value === undefined ? { status } : { status, value };
    },
    'ze-plugin-engine:resolve-dns': async (_plugin, input, signal) => {
      const answer = await dns.resolve(input.name, input.type, signal);
      if (typeof answer === 'string') throw new RpcError('error', `resolve-dns: ${answer}`);
      return answer;
    },
  };
}

function checked(method: string, key: string, prefix = false): string {
  const fault = keyFault(key, prefix);
  if (fault !== undefined) throw new RpcError('error', `${method}: ${fault}`);
  return key;
}

function bytesOf(method: string, text: string): Uint8Array {
  if (text.length > MAX_TEXT) throw new RpcError('error', `${method}: data is longer than ${MAX_VALUE} bytes`);
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new RpcError('error', `${method}: data is no base64`);
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length > MAX_VALUE) throw new RpcError('error', `${method}: data is longer than ${MAX_VALUE} bytes`);
  return bytes;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
