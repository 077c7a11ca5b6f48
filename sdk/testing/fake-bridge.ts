/** The bridge of an in-process plugin under test: what crosses it goes to the fake engine, updates and states come as rows. */
import type { EngineMethod, Methods } from '../../yang/generated/methods.ts';
import type { Bridge, BridgeHandlers, DispatchMethod } from '../plugin/bridge.ts';
import { type PeerDirectory, STRUCTURED_KIND, type StructuredBatch } from '../plugin/structured.ts';
import { AnswerReader, type AnswerSource } from '../rpc/answer.ts';
import { RpcError } from '../rpc/errors.ts';
import { viewOf } from '../wire/bytes.ts';
import { parseFamily } from '../wire/family.ts';
import type { TestPeer } from './events.ts';

/** Answers the plugin's calls, whichever way they come. */
export interface CallServer {
  call(method: EngineMethod, input: unknown): Promise<unknown>;
  dispatch(method: DispatchMethod, input: unknown): Promise<AnswerSource>;
}

export class FakeBridge implements Bridge {
  readonly routes = undefined;
  /** Resolves when the plugin has gone over to the bridge. */
  readonly attached: Promise<BridgeHandlers>;
  readonly #server: CallServer;
  #attach: (handlers: BridgeHandlers) => void = () => undefined;
  #closed = false;

  constructor(server: CallServer) {
    this.#server = server;
    this.attached = new Promise((resolve) => {
      this.#attach = resolve;
    });
  }

  attach(handlers: BridgeHandlers): void {
    this.#attach(handlers);
  }

  async call<M extends EngineMethod>(method: M, input: Methods[M]['input']): Promise<Methods[M]['output']> {
    if (this.#closed) throw new RpcError('closed', 'the fake engine is closed');
    return (await this.#server.call(method, input)) as Methods[M]['output'];
  }

  dispatch<M extends DispatchMethod>(method: M, input: Methods[M]['input']): AnswerReader {
    return new AnswerReader(this.#server.dispatch(method, input));
  }

  close(): void {
    this.#closed = true;
  }
}

/** One row of a batch. */
export interface TestRow {
  readonly kind: 'update' | 'state';
  readonly peer: number;
  readonly direction: 'received' | 'sent';
  readonly id: number;
  readonly body: Uint8Array;
  readonly asn4: boolean;
  readonly addPath: readonly string[];
  readonly up: boolean;
  readonly reason: string;
  readonly initialReplay?: number;
  readonly unheldRoles?: readonly string[];
}

/** Rows as the engine's main thread hands them over: one object, bytes one behind the other. */
export function testBatch(rows: readonly TestRow[], peers: PeerDirectory): StructuredBatch {
  const bytes = Uint8Array.from(rows.flatMap((row) => [...row.body]));
  const starts: number[] = [];
  let at = 0;
  for (const row of rows) {
    starts.push(at);
    at += row.body.length;
  }
  const one = (row: number): TestRow => {
    const found = rows[row];
    if (found === undefined) throw new RangeError(`row ${row} of ${rows.length}`);
    return found;
  };
  return {
    count: rows.length,
    bytes,
    view: viewOf(bytes),
    peers,
    kind: (row) => STRUCTURED_KIND[one(row).kind],
    peer: (row) => one(row).peer,
    direction: (row) => (one(row).kind === 'state' ? 0 : one(row).direction === 'sent' ? 2 : 1),
    messageId: (row) => one(row).id,
    at: (row) => starts[row] ?? 0,
    length: (row) => one(row).body.length,
    asn4: (row) => one(row).asn4,
    addPath: (row, family) => one(row).addPath.some((name) => parseFamily(name) === family),
    up: (row) => one(row).up,
    reason: (row) => one(row).reason,
    initialReplay: (row) => one(row).initialReplay ?? 0,
    unheldRoles: (row) => one(row).unheldRoles ?? [],
  };
}

/** Peers in the order they were first named. */
export class TestPeers implements PeerDirectory {
  readonly #peers: TestPeer[] = [];

  get capacity(): number {
    return this.#peers.length;
  }

  /** The peer's number; it gets one when it is new. */
  see(peer: TestPeer): number {
    const known = this.#peers.findIndex((one) => one.name === peer.name);
    if (known < 0) return this.#peers.push(peer) - 1;
    this.#peers[known] = peer;
    return known;
  }

  byName(name: string): TestPeer | undefined {
    return this.#peers.find((one) => one.name === name);
  }

  name(peer: number): string {
    return this.#peers[peer]?.name ?? '';
  }

  address(peer: number): string {
    return this.#peers[peer]?.address ?? '';
  }

  remoteAs(peer: number): number {
    return this.#peers[peer]?.as ?? 0;
  }

  localAs(peer: number): number {
    return this.#peers[peer]?.localAs ?? 0;
  }

  group(peer: number): string {
    return this.#peers[peer]?.group ?? '';
  }
}
