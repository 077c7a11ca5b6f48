// The SDK's public surface by method: how an author calls the engine, and how an author answers it.
import type { Plugin } from '../../sdk/plugin/plugin.ts';
import { failedAnswer } from '../../sdk/rpc/records.ts';
import type { Methods } from '../../yang/generated/methods.ts';
import { fieldAt } from './fields.ts';

/** The public method of the SDK for each engine method: takes the input's fields as its author would, resolves to the result. */
export const CALLS: { readonly [M in keyof Methods]?: (plugin: Plugin, input: never) => Promise<unknown> } = {
  'ze-plugin-engine:update-route': (plugin, input: Methods['ze-plugin-engine:update-route']['input']) =>
    input.meta === undefined
      ? plugin.updateRoute(input['peer-selector'] ?? '*', input.command)
      : plugin.updateRouteWithMeta(input['peer-selector'] ?? '*', input.command, input.meta),
  'ze-plugin-engine:forward-cached': (plugin, input: Methods['ze-plugin-engine:forward-cached']['input']) =>
    plugin.forwardCached(input.ids, input.destinations),
  'ze-plugin-engine:release-cached': (plugin, input: Methods['ze-plugin-engine:release-cached']['input']) =>
    plugin.releaseCached(input.ids),
  'ze-plugin-engine:relay-stored-route': (plugin, input: Methods['ze-plugin-engine:relay-stored-route']['input']) =>
    plugin.relayStoredRoute(input.destination, input.routes),
  'ze-plugin-engine:route-install': (plugin, input: Methods['ze-plugin-engine:route-install']['input']) =>
    plugin.routeInstall(input.routes),
  'ze-plugin-engine:route-remove': (plugin, input: Methods['ze-plugin-engine:route-remove']['input']) =>
    plugin.routeRemove(input.routes),
  'ze-plugin-engine:inject-wire-route': (plugin, input: Methods['ze-plugin-engine:inject-wire-route']['input']) =>
    plugin.injectWireRoute(input.protocol, input['peer-key'], Buffer.from(input['update-body'], 'base64')),
  'ze-plugin-engine:batch-validate': (plugin, input: Methods['ze-plugin-engine:batch-validate']['input']) =>
    plugin.batchValidate(input.decisions),
  'ze-plugin-engine:dispatch-command': (plugin, input: Methods['ze-plugin-engine:dispatch-command']['input']) =>
    plugin.dispatchCommand(input.command),
  'ze-plugin-engine:dispatch-command-args': (plugin, input: Methods['ze-plugin-engine:dispatch-command-args']['input']) =>
    plugin.dispatchCommandArgs(input),
  'ze-plugin-engine:emit-event': (plugin, input: Methods['ze-plugin-engine:emit-event']['input']) => plugin.emitEvent(input),
  'ze-plugin-engine:subscribe-events': (plugin, input: Methods['ze-plugin-engine:subscribe-events']['input']) =>
    plugin.subscribeEvents(input),
  'ze-plugin-engine:unsubscribe-events': (plugin) => plugin.unsubscribeEvents(),
  'ze-plugin-engine:decode-nlri': (plugin, input: Methods['ze-plugin-engine:decode-nlri']['input']) => plugin.decodeNlri(input),
  'ze-plugin-engine:encode-nlri': (plugin, input: Methods['ze-plugin-engine:encode-nlri']['input']) => plugin.encodeNlri(input),
  'ze-plugin-engine:decode-mp-reach': (plugin, input: Methods['ze-plugin-engine:decode-mp-reach']['input']) =>
    plugin.decodeMpReach(input.hex, input['add-path']),
  'ze-plugin-engine:decode-mp-unreach': (plugin, input: Methods['ze-plugin-engine:decode-mp-unreach']['input']) =>
    plugin.decodeMpUnreach(input.hex, input['add-path']),
  'ze-plugin-engine:decode-update': (plugin, input: Methods['ze-plugin-engine:decode-update']['input']) =>
    plugin.decodeUpdate(input.hex, input['add-path']),
  'ze-plugin-engine:resolve-dns': (plugin, input: Methods['ze-plugin-engine:resolve-dns']['input']) =>
    plugin.resolveDns(input.name, input.type),
  'ze-plugin-engine:state-get': (plugin, input: Methods['ze-plugin-engine:state-get']['input']) => plugin.stateGet(input.key),
  'ze-plugin-engine:state-put': (plugin, input: Methods['ze-plugin-engine:state-put']['input']) =>
    plugin.statePut(input.key, input.data),
  'ze-plugin-engine:state-remove': (plugin, input: Methods['ze-plugin-engine:state-remove']['input']) =>
    plugin.stateRemove(input.key),
  'ze-plugin-engine:state-list': (plugin, input: Methods['ze-plugin-engine:state-list']['input']) => plugin.stateList(input.key),
  'ze-plugin-engine:state-increment': (plugin, input: Methods['ze-plugin-engine:state-increment']['input']) =>
    plugin.stateIncrement(input.key),
};

export type Answerer = (input: unknown) => unknown;
/** Registers a handler for a callback, one that answers with the output's fields. */
export const HANDLERS: Readonly<Record<string, (plugin: Plugin, answer: Answerer) => void>> = {
  configure: (plugin, answer) => plugin.onConfigure((input) => void answer(input)),
  'share-registry': (plugin, answer) => plugin.onShareRegistry((input) => void answer(input)),
  'deliver-event': (plugin, answer) => plugin.onEvent((text) => void answer({ event: text })),
  'deliver-batch': (plugin, answer) => plugin.onEvent((text) => void answer(text)),
  'execute-command': (plugin, answer) =>
    plugin.onExecuteCommand((input) => {
      const { status, data } = answer(input) as { readonly status?: string; readonly data?: unknown };
      return status === 'error' ? failedAnswer('bad') : data;
    }),
  'encode-nlri': (plugin, answer) => plugin.onEncodeNlri((input) => fieldAt(answer(input), 'hex') as string),
  'decode-nlri': (plugin, answer) => plugin.onDecodeNlri((input) => fieldAt(answer(input), 'json')),
  'decode-capability': (plugin, answer) => plugin.onDecodeCapability((input) => fieldAt(answer(input), 'json')),
  'config-verify': (plugin, answer) => plugin.onConfigVerify((input) => answer(input) as never),
  'config-apply': (plugin, answer) => plugin.onConfigApply((input) => answer(input) as never),
  'config-rollback': (plugin, answer) => plugin.onConfigRollback((input) => void answer(input)),
  'config-committed': (plugin, answer) => plugin.onConfigCommitted((input) => void answer(input)),
  'config-operation-decompose': (plugin, answer) => plugin.onConfigOperationDecompose((input) => answer(input) as never),
  'config-operation-verify': (plugin, answer) => plugin.onConfigOperationVerify((input) => answer(input) as never),
  'config-operation-apply': (plugin, answer) => plugin.onConfigOperationApply((input) => answer(input) as never),
  'config-operation-rollback': (plugin, answer) => plugin.onConfigOperationRollback((input) => answer(input) as never),
  'config-operation-commit': (plugin, answer) => plugin.onConfigOperationCommit((input) => answer(input) as never),
  'validate-open': (plugin, answer) => plugin.onValidateOpen((input) => answer(input) as never),
  'filter-update': (plugin, answer) => plugin.onFilterUpdate((input) => answer(input) as never),
  'doctor-check': (plugin, answer) => plugin.onDoctorCheck((input) => fieldAt(answer(input), 'diagnostics') as never),
  'enrich-show': (plugin, answer) => plugin.onEnrichShow((input) => fieldAt(answer(input), 'data') as never),
  'post-startup': (plugin, answer) => plugin.onAllPluginsReady(() => void answer(undefined)),
  bye: (plugin, answer) => plugin.onBye((reason) => void answer({ reason })),
};
