// The rows of `rib adjacent show`: bytes as hex, and the prefix as text where the family has one.
import type { RoutePath } from '../../sdk/plugin/route-path.ts';
import type { Walker } from '../../sdk/plugin/walk.ts';
import { formatPrefix } from '../../sdk/wire/address.ts';
import { toHex } from '../../sdk/wire/bytes.ts';
import { AFI_IPV4, familyName, isPrefixFamily } from '../../sdk/wire/family.ts';
import type { Inbox, Store } from './store.ts';

export class ShowWalker implements Walker {
  readonly #routes: RoutePath;
  readonly #store: Store;
  readonly #inboxes: readonly Inbox[];
  readonly #nlri = new Uint8Array(0x10000);
  #at = 0;
  #row = 0;

  constructor(routes: RoutePath, store: Store, inboxes: readonly Inbox[]) {
    this.#routes = routes;
    this.#store = store;
    this.#inboxes = inboxes;
  }

  /** A source that went down meanwhile has given its handles back: its rows are passed over. */
  resume(): void {
    const inbox = this.#inboxes[this.#at];
    if (inbox !== undefined && !this.#store.inboxes().includes(inbox)) this.#row = inbox.table.used;
  }

  scan(count: number, emit: (json: string) => void): boolean {
    for (let left = count; left > 0; ) {
      const inbox = this.#inboxes[this.#at];
      if (inbox === undefined) return false;
      if (this.#row >= inbox.table.used) {
        this.#at++;
        this.#row = 0;
        this.resume();
        continue;
      }
      left--;
      const row = this.#row++;
      if (inbox.table.has(row)) emit(this.#text(inbox, row));
    }
    return true;
  }

  #text(inbox: Inbox, row: number): string {
    const { attributes } = this.#store;
    const handle = inbox.handles[row]!;
    const length = inbox.write(row, this.#nlri, 0);
    const { family } = inbox;
    const peer = JSON.stringify(this.#routes.peers.address(inbox.peer));
    let text = `{"index":${inbox.sequences[row]},"peer":${peer},"family":"${familyName(family)}"`;
    if (isPrefixFamily(family)) {
      text += `,"prefix":"${formatPrefix(this.#nlri, 1, this.#nlri[0]!, family >>> 8 === AFI_IPV4 ? 4 : 16)}"`;
    }
    if (inbox.addPath) text += `,"path-id":${inbox.pathId(row)}`;
    text += `,"attributes":"${toHex(attributes.bytes, attributes.at(handle), attributes.length(handle))}"`;
    if (attributes.hopLength(handle) !== 0) {
      text += `,"next-hop":"${toHex(attributes.bytes, attributes.hopAt(handle), attributes.hopLength(handle))}"`;
    }
    return `${text},"nlri":"${toHex(this.#nlri, 0, length)}"}`;
  }
}
