// The reactor as the main thread has it: in its own thread, or in this one for debugging and embedding (`ze.reactor.thread false`).
import type { LogRecord, ReactorAnswer, ReactorPort, ReactorQuestion, ReactorSink } from '../bgp/port.ts';
import { RemoteReactor, startInline } from '../bgp/remote.ts';
import type { EventBus } from '../bus/bus.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { startInThread } from '../host/bridge/start-in-thread.ts';
import type { ReactorThread } from './reactor-thread.ts';

export interface ReactorStart {
  /** undefined = in this thread. */
  readonly thread: ReactorThread | undefined;
  readonly clock: Clock;
  readonly log: (subsystem: string) => Log;
  readonly bus: EventBus;
  /** Answers what the reactor asks; never rejects. */
  readonly question: (question: ReactorQuestion) => Promise<ReactorAnswer>;
  /** The thread has died of a bug of ours: no session is left. */
  readonly onLost: (reason: string) => void;
}

export interface StartedReactor {
  readonly port: ReactorPort;
  /** Ends the thread; the sessions have had their Cease by then. */
  readonly close: () => Promise<void>;
}

export async function startReactor(start: ReactorStart): Promise<StartedReactor> {
  const sink = sinkOf(start);
  if (start.thread === undefined) {
    const { port } = await startInline({
      clock: start.clock,
      random: Math.random,
      sink,
      startPlugin: startInThread,
      warmUpMessages: 0,
    });
    return { port, close: () => port.stop('') };
  }
  const { thread } = start;
  const port = new RemoteReactor(thread.worker, thread.boot, sink, start.clock);
  thread.onLost((reason) => {
    port.lost(reason);
    start.onLost(reason);
  });
  return { port, close: () => thread.end() };
}

/** What the reactor tells, to where it belongs. */
export function sinkOf({ bus, log, question }: Pick<ReactorStart, 'bus' | 'log' | 'question'>): ReactorSink {
  const logs = new Map<string, Log>();
  const reports = log('bgp.report');
  return {
    event: (row) => bus.event(row),
    ample: () => bus.ample,
    peers: (list) => bus.peers(list),
    report: (report) => {
      bus.report(report);
      if (report.clear === true) return;
      const { code, subject, message: reason, detail } = report;
      reports.warn({ code, subject, reason, detail }, 'reported');
    },
    log: (record: LogRecord) => {
      let target = logs.get(record.subsystem);
      if (target === undefined) logs.set(record.subsystem, (target = log(record.subsystem)));
      target[record.level](record.fields, record.message);
    },
    question,
  };
}
