// The reactor as the main thread has it: in its own thread, or in this one for debugging and embedding (`ze.reactor.thread false`).
import type { MessagePort } from 'node:worker_threads';
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import type { LogRecord, ReactorPort, ReactorSink } from '../bgp/port.ts';
import { Reactor } from '../bgp/reactor.ts';
import type { EventBus } from '../bus/bus.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { startInThread } from '../host/start-in-thread.ts';

export interface ReactorStart {
  readonly thread: boolean;
  readonly clock: Clock;
  readonly log: (subsystem: string) => Log;
  readonly bus: EventBus;
}

export async function startReactor(start: ReactorStart): Promise<ReactorPort> {
  const sink = sinkOf(start);
  return new Reactor({ clock: start.clock, random: Math.random, sink, startPlugin: startRoutePlugin });
}

/** Runs a plugin of the route path in the thread this is called in. */
export function startRoutePlugin(
  name: string,
  moduleUrl: string,
  pipe: MessagePort,
  bridge: MessagePort,
  routes: RoutePath,
): void {
  void startInThread(name, moduleUrl, pipe, bridge, routes);
}

function sinkOf({ bus, log }: ReactorStart): ReactorSink {
  const logs = new Map<string, Log>();
  return {
    event: (row) => bus.event(row),
    peers: (list) => bus.peers(list),
    report: (report) => bus.report(report),
    log: (record: LogRecord) => {
      let target = logs.get(record.subsystem);
      if (target === undefined) logs.set(record.subsystem, (target = log(record.subsystem)));
      target[record.level](record.fields, record.message);
    },
  };
}
