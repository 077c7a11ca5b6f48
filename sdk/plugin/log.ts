/** A plugin's log: constant lower-case messages, values as fields. Without the engine's it writes JSON lines to stderr, whose level the engine keeps. */
export interface PluginLog {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

export function stderrLog(name: string, write: (line: string) => void = (line) => void process.stderr.write(line)): PluginLog {
  const at =
    (level: string) =>
    (fields: object, message: string): void =>
      write(`${JSON.stringify({ level, plugin: name, msg: message, ...fields })}\n`);
  return { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
}
