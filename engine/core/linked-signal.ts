/**
 * One signal for several, for as long as some work takes. `AbortSignal.any` is not for this on Node 20: what it makes of a signal that lives
 * long is never quite forgotten (60 bytes a call), and what it makes of `AbortSignal.timeout` may be collected before the time is up and then
 * never aborts.
 */
export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal;
  /** The work is over: the signals, and the timer, are let go. Idempotent. */
  release(): void;
}

/** Aborts with the first of `signals`, for its reason. Absent ones are left out. */
export function linkSignals(...signals: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const linked = new AbortController();
  const sources = signals.filter((signal) => signal !== undefined);
  const abort = (event: Event): void => linked.abort((event.target as AbortSignal).reason);
  for (const source of sources) {
    if (source.aborted) linked.abort(source.reason);
    else source.addEventListener('abort', abort, { once: true });
  }
  const release = (): void => {
    for (const source of sources) source.removeEventListener('abort', abort);
  };
  return { signal: linked.signal, release, [Symbol.dispose]: release };
}

/** The same with a deadline in milliseconds, which aborts with a TimeoutError. 0 = none. It does not keep the process alive. */
export function deadlineSignal(ms: number, ...signals: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const late = new AbortController();
  const timer = ms > 0 ? setTimeout(() => late.abort(new DOMException('deadline exceeded', 'TimeoutError')), ms) : undefined;
  timer?.unref();
  const linked = linkSignals(late.signal, ...signals);
  const release = (): void => {
    clearTimeout(timer);
    linked.release();
  };
  return { signal: linked.signal, release, [Symbol.dispose]: release };
}
