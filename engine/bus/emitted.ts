// Events that plugins emit (`emit-event`): their shape, and who hears of them within the engine.

/** Input of `emit-event` (plugin-rpc-types §5.8). */
export interface EmitInput {
  readonly namespace: string;
  readonly type: string;
  readonly direction?: string | undefined;
  readonly peerAddress?: string | undefined;
  readonly text: string;
}

export type EmitResult = { readonly ok: true; readonly delivered: number } | { readonly ok: false; readonly message: string };

/** What in-engine subscribers of emitted events are told. */
export type EmittedListener = (event: EmitInput) => void;

/** An emitted text may not be larger: one line holds it with its escapes. */
export const MAX_EMITTED = 1024 * 1024;

export class EmittedListeners {
  readonly #byType = new Map<string, Set<EmittedListener>>();

  /** Type `*` = every type of the namespace; the returned function ends it. */
  add(namespace: string, type: string, listener: EmittedListener): () => void {
    const key = `${namespace}/${type}`;
    let listeners = this.#byType.get(key);
    if (listeners === undefined) this.#byType.set(key, (listeners = new Set()));
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  tell(event: EmitInput): void {
    for (const key of [`${event.namespace}/${event.type}`, `${event.namespace}/*`]) {
      for (const listener of this.#byType.get(key) ?? []) listener(event);
    }
  }
}
