// The engine's side of a plugin link, for tests of the SDK: runs the five stages and then lends its mux.
import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { decodePayload, type InboundRequest, Mux } from '../../sdk/rpc/index.ts';
import type {
  ConfigureInput,
  DeclareCapabilitiesInput,
  DeclareRegistrationInput,
  ReadyInput,
  ShareRegistryInput,
} from '../../yang/generated/methods.ts';

export interface Handshake {
  readonly registration: DeclareRegistrationInput;
  readonly capabilities: DeclareCapabilitiesInput;
  readonly ready: ReadyInput;
}

export class FakeEngine {
  readonly mux: Mux;

  constructor(stream: Duplex) {
    this.mux = new Mux(stream, { held: true });
  }

  async expect(method: string): Promise<InboundRequest> {
    const request = await this.mux.next();
    assert.equal(request.method, method);
    return request;
  }

  /** All five stages; `start` false leaves the plugin's later requests waiting. */
  async start(
    configure: ConfigureInput = { sections: [] },
    registry: ShareRegistryInput = { commands: [] },
    beforeOk: () => void = () => undefined,
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
    beforeOk();
    fifth.reply();
    this.mux.start();
    return handshake;
  }

  async bye(reason = 'shutdown'): Promise<void> {
    await this.mux.call('ze-plugin-callback:bye', { reason });
  }
}
