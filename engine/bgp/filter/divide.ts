/** One UPDATE too long for its session as several that are not: the routes divided, the attributes repeated. */
import { viewOf } from '../../../sdk/wire/bytes.ts';
import type { WireContext } from '../../../sdk/wire/context.ts';
import { type Family, IPV4_UNICAST } from '../../../sdk/wire/family.ts';
import { RESET } from '../../../sdk/wire/fault.ts';
import { entryLength } from '../../../sdk/wire/nlri/syntax.ts';
import { UpdateView } from '../../../sdk/wire/update.ts';
import { TOO_LARGE, UpdateWriter } from '../../../sdk/wire/writer.ts';
import { messagesOf } from './announced.ts';

/** Room for all the messages one message can become: each repeats at most its attributes. */
const ROOM = 4 * 1024 * 1024;

export interface Divided {
  readonly messages: readonly Uint8Array[];
  /** Withdrawals of the routes that fit no message with these attributes. */
  readonly refused: readonly Uint8Array[];
}

export function divided(message: Uint8Array, context: WireContext): Divided {
  const view = new UpdateView();
  if (view.locate(message, viewOf(message), 0, message.length, context) === RESET) return { messages: [], refused: [] };
  const writer = new UpdateWriter().over(new Uint8Array(ROOM));
  const refused = new UpdateWriter().over(new Uint8Array(4 * 65_536));
  const { block, maxMessage } = { block: view.block, maxMessage: context.maxMessage };
  let refusing: Family = -1;
  const add = (family: Family, at: number, length: number, addPath: boolean, withdrawn: boolean): void => {
    for (let from = at, end = at + length; from < end; ) {
      const head = addPath ? 4 : 0;
      const size = head + Math.max(1, entryLength(view.view, from + head, end - from - head, family, withdrawn));
      if (writer.addNlri(message, from, size) === TOO_LARGE) {
        if (refusing !== family) refused.beginWithdraw((refusing = family), false, maxMessage);
        refused.addNlri(message, from, size);
      }
      from += size;
    }
  };
  // Whether an entry has a path identifier is in its bytes; the writer copies them as they are.
  writer.beginWithdraw(IPV4_UNICAST, false, maxMessage);
  add(IPV4_UNICAST, view.withdrawnAt, view.withdrawnLength, context.addPathIpv4Unicast, true);
  if (view.unreachLength > 0) {
    writer.beginWithdraw(view.unreachFamily, false, maxMessage);
    add(view.unreachFamily, view.unreachAt, view.unreachLength, view.unreachAddPath, true);
  }
  writer.beginAnnounce(IPV4_UNICAST, false, maxMessage, block.bytes, block.at, block.length);
  add(IPV4_UNICAST, view.nlriAt, view.nlriLength, context.addPathIpv4Unicast, false);
  if (view.reachLength > 0) {
    const { bytes, at, length } = block;
    writer.beginAnnounce(
      view.reachFamily,
      false,
      maxMessage,
      bytes,
      at,
      length,
      message,
      view.reachNextHopAt,
      view.reachNextHopLength,
    );
    add(view.reachFamily, view.reachAt, view.reachLength, view.reachAddPath, false);
  }
  return { messages: messagesOf(writer), refused: messagesOf(refused) };
}
