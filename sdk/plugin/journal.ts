/** A config journal: what was applied can be undone, in reverse. For one task at a time. */
export interface Journal {
  /** Runs `apply`; `undo` is kept only when it succeeds. */
  record(apply: () => void | Promise<void>, undo: () => void | Promise<void>): Promise<void>;
  /** Runs every undo, last first, even when one throws; resolves to what was thrown. The journal is empty then. */
  rollback(): Promise<readonly unknown[]>;
  /** Forgets everything: the change is kept. */
  discard(): void;
  /** Undos kept. */
  readonly size: number;
}

export function journal(): Journal {
  let undos: (() => void | Promise<void>)[] = [];
  return {
    async record(apply, undo) {
      await apply();
      undos.push(undo);
    },
    async rollback() {
      const faults: unknown[] = [];
      for (const undo of undos.splice(0).reverse()) {
        try {
          await undo();
        } catch (error) {
          faults.push(error);
        }
      }
      return faults;
    },
    discard() {
      undos = [];
    },
    get size() {
      return undos.length;
    },
  };
}
