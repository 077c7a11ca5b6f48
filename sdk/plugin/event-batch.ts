/**
 * The texts of one `deliver-batch`. A batch comes a thousand times a second and is almost all texts, so what every engine writes,
 * `{"events":["…","…"]}`, is taken apart by JSON.parse alone: nothing of it but strings is looked at, however deep the rest may be.
 */
import { isAscii } from 'node:buffer';
import { decodePayload } from '../rpc/decode.ts';

/** Throws RpcError `invalid-params`. */
export function eventTexts(payload: Buffer): readonly string[] {
  return plainTexts(payload) ?? decodePayload('ze-plugin-callback:deliver-batch', payload).events;
}

function plainTexts(payload: Buffer): readonly string[] | undefined {
  let value: unknown;
  try {
    // Events are ASCII but for texts of people, and ASCII is a string in half the time.
    value = JSON.parse(payload.toString(isAscii(payload) ? 'latin1' : 'utf8'));
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || !('events' in value) || !Array.isArray(value.events)) return undefined;
  const events: readonly unknown[] = value.events;
  for (let i = 0; i < events.length; i++) if (typeof events[i] !== 'string') return undefined;
  return Object.keys(value).length === 1 ? (events as readonly string[]) : undefined;
}
