/**
 * The reactor's thread. It begins before the main thread has loaded the daemon or read the configuration: it needs neither to load its own
 * modules and to rehearse, which takes longer than both. Imports little, for the same reason.
 */
import { Worker } from 'node:worker_threads';
import { type ReactorBoot, reactorBoot } from '../bgp/reactor-boot.ts';
import { engineModule } from '../core/program.ts';

/** Messages the real classes see before the first session: enough for the compiler to have made up its mind. */
const WARM_UP_MESSAGES = 14_000;

/**
 * The route path makes no garbage worth a larger young generation, but warm-up and long answers would let it grow to 48 MB, all of it
 * resident from then on.
 */
const YOUNG_MB = 3;

export class ReactorThread {
  readonly boot: ReactorBoot = reactorBoot(WARM_UP_MESSAGES);
  readonly worker: Worker;
  #lost: string | undefined;
  #onLost: ((reason: string) => void) | undefined;
  #ending = false;

  /** The process lives as long as the thread: whoever begins it ends it. */
  constructor() {
    this.worker = new Worker(engineModule('thread'), {
      workerData: this.boot,
      name: 'reactor',
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    this.worker.on('error', (error: unknown) =>
      this.#over(error instanceof Error ? (error.stack ?? error.message) : String(error)),
    );
    this.worker.on('exit', (code) => this.#over(`the reactor thread ended with code ${code}`));
  }

  /** The thread has died of a bug of ours, which may have been before this call: no session is left. */
  onLost(listener: (reason: string) => void): void {
    this.#onLost = listener;
    if (this.#lost !== undefined && !this.#ending) listener(this.#lost);
  }

  async end(): Promise<void> {
    this.#ending = true;
    await this.worker.terminate();
  }

  #over(reason: string): void {
    this.#lost ??= reason;
    if (!this.#ending) this.#onLost?.(reason);
  }
}
