// Bytes that are no UTF-8 were replaced when the text was read: written back, they would be lost.
import type { Findings } from '../fault.ts';

const REPLACEMENT = '\uFFFD';

/** A fault at the first such byte. For whoever writes a text back; to read it, it is good enough. */
export function checkLossless(text: string, findings: Findings): void {
  const at = text.indexOf(REPLACEMENT);
  if (at < 0) return;
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  findings.fault({ line, column: at - before.lastIndexOf('\n') }, '', 'a byte that is no UTF-8: written back, it would be lost', {
    hint: 'convert the file to UTF-8 first',
  });
}
