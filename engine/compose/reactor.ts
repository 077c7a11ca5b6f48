// The reactor as the main thread has it: in its own thread, or in this one for debugging and embedding (`ze.reactor.thread false`).
import { Worker } from 'node:worker_threads';
import type { LogRecord, ReactorAnswer, ReactorPort, ReactorQuestion, ReactorSink } from '../bgp/port.ts';
import { reactorBoot, RemoteReactor, startInline } from '../bgp/remote.ts';
import type { EventBus } from '../bus/bus.ts';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { engineModule } from '../core/program.ts';
import { startInThread } from '../host/bridge/start-in-thread.ts';

export interface ReactorStart {
  readonly thread: boolean;
  readonly clock: Clock;
  readonly log: (subsystem: string) => Log;
  readonly bus: EventBus;
  /** Answers what the reactor asks; never rejects. */
  readonly question: (question: ReactorQuestion) => Promise<ReactorAnswer>;
  /** The thread has died of a bug of ours: no session is left. */
  readonly onLost: (reason: string) => void;
}

/** Messages the real classes see before the first session: enough for the compiler to have made up its mind. */
const WARM_UP_MESSAGES = 14_000;

/**
 * The route path makes no garbage worth a larger young generation, but warm-up and long answers would let it grow to 48 MB, all of it
 * resident from then on.
 */
const YOUNG_MB = 3;

export interface StartedReactor {
  readonly port: ReactorPort;
  /** Ends the thread; the sessions have had their Cease by then. */
  readonly close: () => Promise<void>;
}

export async function startReactor(start: ReactorStart): Promise<StartedReactor> {
  const sink = sinkOf(start);
  if (!start.thread) {
    const { port } = await startInline({
      clock: start.clock,
      random: Math.random,
      sink,
      startPlugin: startInThread,
      warmUpMessages: 0,
    });
    return { port, close: () => port.stop('') };
  }
  const boot = reactorBoot(WARM_UP_MESSAGES);
  const worker = new Worker(engineModule('thread'), {
    workerData: boot,
    name: 'reactor',
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });
  const port = new RemoteReactor(worker, boot, sink, start.clock);
  let closing = false;
  const lost = (reason: string): void => {
    port.lost(reason);
    if (!closing) start.onLost(reason);
  };
  worker.on('error', (error: unknown) => lost(error instanceof Error ? (error.stack ?? error.message) : String(error)));
  worker.on('exit', (code) => lost(`the reactor thread ended with code ${code}`));
  return {
    port,
    close: async () => {
      closing = true;
      await worker.terminate();
    },
  };
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
