/** The engine's end of a bridge, whichever thread the plugin runs in. */
import type { DispatchMethod } from '../../../sdk/plugin/bridge.ts';
import type { AnswerSource } from '../../../sdk/rpc/answer.ts';
import type { EngineMethod, Methods } from '../../../yang/generated/methods.ts';
import type { PluginLink } from '../link.ts';

/** What the plugin's calls over the bridge run into. Rejects with RpcError. */
export interface BridgeCalls {
  call(method: EngineMethod, input: unknown, signal: AbortSignal): Promise<unknown>;
  dispatch<M extends DispatchMethod>(method: M, input: Methods[M]['input'], signal: AbortSignal): Promise<AnswerSource>;
}

export interface BridgeEnd {
  /** Resolves when the plugin has installed its handlers; rejects (`closed`) when the bridge ends before. */
  readonly attached: Promise<PluginLink>;
  /** The engine is done with the plugin: what waits fails, the plugin's calls are refused. Idempotent. */
  close(): void;
}
