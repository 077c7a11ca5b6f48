/** How a plugin's own words appear in our messages: clamped, escaped, never raw (plugin-rpc-types §2). */

/** Characters of a quoted value that are shown. */
const CLAMP = 64;

export function clamp(text: string): string {
  if (text.length <= CLAMP) return text;
  const points = Array.from(text.slice(0, CLAMP * 2 + 2));
  return points.length <= CLAMP && text.length <= CLAMP * 2 ? text : `${points.slice(0, CLAMP).join('')}…`;
}

/** `"value"`, clamped, control characters as JSON shows them. */
export function quote(text: string): string {
  return JSON.stringify(clamp(text));
}

/** `0x1b at byte 4` of the first control character; `\n` passes when `linesAllowed`. */
export function controlCharacter(text: string, linesAllowed: boolean): string | undefined {
  const bytes = Buffer.from(text, 'utf8');
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if ((byte < 0x20 || byte === 0x7f) && !(linesAllowed && byte === 0x0a)) {
      return `control character 0x${byte.toString(16).padStart(2, '0')} at byte ${at}`;
    }
  }
  return undefined;
}

/** One or more groups of `[a-z0-9]` joined by single hyphens. */
export function isLowerKebab(text: string): boolean {
  return /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(text);
}

/** Command paths compare without regard to case or runs of blanks. */
export function commandKey(path: string): string {
  return path.trim().split(/\s+/).join(' ').toLowerCase();
}
