/** Which stage a line of the startup belongs to, for `npm run demo --trace` and the log: requests say it, replies by their id. */
import { STAGES } from '../fault.ts';

/** One line of one plugin's startup. `in` = from the plugin. */
export interface StageEvent {
  readonly plugin: string;
  /** 1 to 5 */
  readonly stage: number;
  readonly direction: 'in' | 'out';
  /** LF excluded */
  readonly line: string;
}

/** A function for the mux's `trace` that passes on lines of stages and nothing after them. */
export function stageTrace(plugin: string, sink: (event: StageEvent) => void): (direction: 'in' | 'out', line: string) => void {
  const asked = { in: new Map<string, number>(), out: new Map<string, number>() };
  let over = false;
  return (direction, line) => {
    if (over) return;
    const [id = '', verb = ''] = line.split(' ', 2);
    const reply = verb === 'ok' || verb === 'error';
    const requests = reply ? asked[direction === 'in' ? 'out' : 'in'] : asked[direction];
    const stage = reply ? (requests.get(id) ?? 0) : STAGES.indexOf(verb.slice(verb.indexOf(':') + 1) as (typeof STAGES)[number]);
    if (stage < 1) return;
    if (!reply) requests.set(id, stage);
    sink({ plugin, stage, direction, line });
    over = reply && stage === 5;
  };
}
