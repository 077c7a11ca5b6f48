/**
 * The engine's end of a plugin's link, a step at a time: for tests of the start itself (a stage refused, a wrong method, a link that
 * breaks off). `FakeEngine` is the comfortable way for everything after it.
 */
import type { Duplex } from 'node:stream';
import type {
  ConfigureInput,
  DeclareCapabilitiesInput,
  DeclareRegistrationInput,
  ReadyInput,
  ShareRegistryInput,
} from '../../yang/generated/methods.ts';
import { decodePayload } from '../rpc/decode.ts';
import type { InboundRequest } from '../rpc/inbound.ts';
import { Mux } from '../rpc/mux.ts';

/** What a plugin said in its five stages. */
export interface Handshake {
  readonly registration: DeclareRegistrationInput;
  readonly capabilities: DeclareCapabilitiesInput;
  readonly ready: ReadyInput;
}

export class EngineLink implements AsyncDisposable {
  /** The link itself: calls, served methods, raw requests. */
  readonly mux: Mux;

  /** `trace` gets each line; `in` is what the plugin said. */
  constructor(stream: Duplex, trace?: (direction: 'in' | 'out', line: string) => void) {
    this.mux = new Mux(stream, { held: true, trace });
  }

  /** The plugin's next request of the stages; throws when it is another one. */
  async expect(method: string): Promise<InboundRequest> {
    const request = await this.mux.next();
    if (request.method === method) return request;
    const error = new Error(`the plugin called ${request.method} where ${method} was due`);
    request.fail(error);
    throw error;
  }

  /** All five stages, each answered `ok`; `beforeOk` runs before the last answer leaves. */
  async start(
    configure: ConfigureInput = { sections: [] },
    registry: ShareRegistryInput = { commands: [] },
    beforeOk: (handshake: Handshake) => void = () => undefined,
  ): Promise<Handshake> {
    const first = await this.expect('ze-plugin-engine:declare-registration');
    first.reply();
    await this.mux.call('ze-plugin-callback:configure', configure);
    const third = await this.expect('ze-plugin-engine:declare-capabilities');
    third.reply();
    await this.mux.call('ze-plugin-callback:share-registry', registry);
    const fifth = await this.expect('ze-plugin-engine:ready');
    const handshake = {
      registration: decodePayload('ze-plugin-engine:declare-registration', first.payload),
      capabilities: decodePayload('ze-plugin-engine:declare-capabilities', third.payload),
      ready: decodePayload('ze-plugin-engine:ready', fifth.payload),
    };
    beforeOk(handshake);
    fifth.reply();
    this.mux.start();
    return handshake;
  }

  /** Says goodbye; resolves with the plugin's answer. */
  async bye(reason = 'shutdown'): Promise<void> {
    await this.mux.call('ze-plugin-callback:bye', { reason });
  }

  /** Ends the link. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.mux.close();
  }
}
