// One question of a transaction to one plugin, with its answer folded into an acknowledgement.
import type { Methods } from '../../../yang/generated/methods.ts';
import type { AckCode, ConfigMethod, Participant } from './participant.ts';

export interface Ack<M extends ConfigMethod> {
  readonly code: Exclude<AckCode, 'broken'>;
  /** '' with `ok`. */
  readonly error: string;
  readonly value: Methods[M]['output'] | undefined;
}

/** Never rejects. A result without a status is `ok`: older plugins answer a bare line. */
export async function ask<M extends ConfigMethod>(
  participant: Participant,
  method: M,
  input: Methods[M]['input'],
  ms: number,
  signal: AbortSignal,
): Promise<Ack<M>> {
  if (!participant.alive()) return { code: 'transient', error: 'the plugin is gone, or was started anew', value: undefined };
  const answer = await participant.call(method, input, ms, signal);
  if (!answer.ok) {
    const error = answer.code === 'timeout' ? `no answer to ${short(method)} within ${seconds(ms)}` : bounded(answer.message);
    return { code: answer.code, error, value: undefined };
  }
  const { value } = answer;
  const { status = '', error = '' } = (value ?? {}) as { readonly status?: string; readonly error?: string };
  if (status === '' || status === 'ok') return { code: 'ok', error: '', value };
  if (status !== 'error') return { code: 'error', error: `unknown status "${status.slice(0, 32)}"`, value };
  return { code: 'error', error: error === '' ? `${short(method)} refused` : bounded(error), value };
}

/** Letters of a plugin's reason that reports, events and answers repeat. */
export const REASON_LENGTH = 1000;

function bounded(text: string): string {
  return text.length > REASON_LENGTH ? `${text.slice(0, REASON_LENGTH)}… (${text.length} letters)` : text;
}

export function short(method: ConfigMethod): string {
  return method.slice('ze-plugin-callback:'.length);
}

export function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(1))} s`;
}
