/**
 * OPENs put before the plugins that want to see them (plugin-lifecycle §13): one after the other, 5 s each; the first refusal ends the
 * session with its NOTIFICATION, a plugin that fails is passed over.
 */
import { formatIpv4 } from '../../../sdk/wire/address.ts';
import { toHex } from '../../../sdk/wire/bytes.ts';
import { RpcError } from '../../../sdk/rpc/errors.ts';
import type { OpenMessage, ValidateOpenInput } from '../../../yang/generated/methods.ts';
import type { OpenFacts, ReactorAnswer, ReactorQuestion } from '../../bgp/port.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { type PluginLink, withDeadline } from '../link.ts';
import type { ReportSink } from '../services.ts';

export type OpenQuestion = Extract<ReactorQuestion, { readonly kind: 'open' }>;

export interface OpenValidationOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly report: ReportSink;
  /** Running plugins that want to validate OPENs, in the order in which they are asked. */
  validators(): readonly string[];
  link(plugin: string): Pick<PluginLink, 'call'> | undefined;
}

const VALIDATE_MS = 5000;
const MAX_REASON = 256;

export class OpenValidation {
  readonly #options: OpenValidationOptions;

  constructor(options: OpenValidationOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async ask({ peer, local, remote }: OpenQuestion): Promise<ReactorAnswer> {
    const { clock, log, report } = this.#options;
    const input: ValidateOpenInput = {
      peer: peer.name,
      ...(peer.group === '' ? {} : { group: peer.group }),
      local: openMessage(local),
      remote: openMessage(remote),
    };
    for (const plugin of this.#options.validators()) {
      const link = this.#options.link(plugin);
      if (link === undefined) continue;
      try {
        const output = await withDeadline(clock, VALIDATE_MS, undefined, (signal) =>
          link.call('ze-plugin-callback:validate-open', input, signal),
        );
        if (output.accept) continue;
        const { 'notify-code': code = 0, 'notify-subcode': subcode = 0, reason = '' } = output;
        const text = reason.slice(0, MAX_REASON);
        log.info({ peer: peer.name, plugin, code, subcode, reason: text }, 'a plugin refuses the OPEN');
        return {
          kind: 'teardown',
          code: octet(code),
          subcode: octet(subcode),
          reason: text === '' ? `refused by ${plugin}` : text,
        };
      } catch (error) {
        const late = error instanceof RpcError && error.code === 'deadline';
        const message = late
          ? `no answer within ${VALIDATE_MS / 1000} s`
          : error instanceof Error
            ? error.message
            : String(error);
        log.warn({ peer: peer.name, plugin, error: message }, 'OPEN validation failed, the plugin is passed over');
        report({
          severity: 'error',
          code: 'open-unvalidated',
          source: 'plugin',
          subject: plugin,
          message: `${peer.name}: ${message}`,
        });
      }
    }
    return { kind: 'accept' };
  }
}

function openMessage({ asn, routerId, holdTimeSeconds, capabilities }: OpenFacts): OpenMessage {
  return {
    asn,
    'router-id': formatIpv4(routerId),
    'hold-time': holdTimeSeconds,
    ...(capabilities.length === 0 ? {} : { capabilities: capabilities.map(({ code, value }) => ({ code, hex: toHex(value) })) }),
  };
}

/** 0 stands for Cease / Connection Rejected. */
function octet(value: number): number {
  return Number.isInteger(value) && value >= 0 && value <= 255 ? value : 0;
}
