// What stands behind the method or the verb of a line, as text going out and as bytes coming in.
import { messageOf, RpcError } from './errors.ts';
import { parseShallow, stringifyJson } from './json.ts';

export function paramsOf(input: unknown): string {
  return input === undefined || input === null ? '' : (stringifyJson(input) ?? '');
}

export function parsePayload(payload: Buffer): unknown {
  if (payload.length === 0) return undefined;
  try {
    return parseShallow(payload.toString('utf8'));
  } catch (error) {
    throw new RpcError('unreadable', `the result cannot be read: ${messageOf(error)}`);
  }
}
