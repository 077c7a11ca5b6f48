/** Who gives a command, and what they may do. */
import { CommandError } from './fault.ts';
import type { CommandSpec } from './spec.ts';

export interface Caller {
  /** `operator` (the control socket), `plugin:<name>`, or a door's own user name. */
  readonly user: string;
  /** `read` may run read-only commands alone. */
  readonly access: 'read' | 'edit';
}

export const OPERATOR: Caller = { user: 'operator', access: 'edit' };

export function pluginCaller(name: string): Caller {
  return { user: `plugin:${name}`, access: 'edit' };
}

/** The plugin behind a caller; `undefined` when it is none. */
export function pluginOf(caller: Caller): string | undefined {
  return caller.user.startsWith('plugin:') ? caller.user.slice('plugin:'.length) : undefined;
}

/** Throws `CommandError` when the caller may not run the command. */
export function authorise(caller: Caller, spec: CommandSpec): void {
  if (caller.access === 'read' && !spec.readOnly) {
    throw new CommandError('denied', `${spec.path} needs edit permission; ${caller.user} may only read`);
  }
}
