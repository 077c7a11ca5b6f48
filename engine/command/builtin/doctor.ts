/** `doctor`: runs every check and gives a line for each finding, as they come. */
import { records } from '../../../sdk/rpc/records.ts';
import { runDoctor } from '../../core/doctor.ts';
import type { Call, Handler } from '../dispatch.ts';

export const doctorCommands: Readonly<Record<string, Handler>> = { doctor };

function doctor(call: Call): unknown {
  const stop = new AbortController();
  return records(rows(call, AbortSignal.any([call.signal, stop.signal])), {
    envelope: 'checks',
    immediate: true,
    onCancel: () => stop.abort(),
  });
}

async function* rows({ context }: Call, signal: AbortSignal): AsyncGenerator<unknown, void> {
  const scene = { clock: context.clock, platform: process.platform, hasConfig: context.doctor.hasConfig(), signal };
  for await (const { undeclared, ...line } of runDoctor(context.doctor.checks(), scene))
    yield undeclared ? { ...line, undeclared } : line;
}
