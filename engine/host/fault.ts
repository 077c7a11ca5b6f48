/** Why a plugin failed, as a stable code for reports and a text for people. The table of codes is in this room's README. */
export type FaultCode =
  | 'plugin-start'
  | 'plugin-connect'
  | 'plugin-protocol'
  | 'plugin-registration'
  | 'plugin-respawn'
  | 'plugin-dependency'
  | 'plugin-config'
  | 'plugin-stage-timeout'
  | 'plugin-crash'
  | 'plugin-silent'
  | 'plugin-broken'
  | 'plugin-stopped';

export class PluginFault extends Error {
  override readonly name = 'PluginFault';
  readonly code: FaultCode;
  /** 1 to 5; 0 = before the stages, 6 = running. */
  readonly stage: number;

  constructor(code: FaultCode, message: string, stage: number, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.stage = stage;
  }
}

export const STAGES = [
  'launch',
  'declare-registration',
  'configure',
  'declare-capabilities',
  'share-registry',
  'ready',
  'running',
] as const;

/** `stage 3 (declare-capabilities)` */
export function stageName(stage: number): string {
  return `stage ${stage} (${STAGES[stage] ?? ''})`;
}
