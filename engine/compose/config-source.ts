/**
 * Where the configuration comes from: the file (or the text of standard input), read anew each time, parsed with what its plugins
 * declare. Plugins are asked what they add where the text needs it; those that run have said so in stage 1.
 */
import { dirname } from 'node:path';
import type { LoadOptions, LoadResult } from '../config/load.ts';
import type { RunningConfig } from '../config/running.ts';
import type { DeclarationRow } from '../config/schema/declared.ts';
import { faultText, validateReport } from '../config/validate-report.ts';
import type { Clock } from '../core/clock.ts';
import type { Environment } from '../core/control-socket.ts';
import { type FileText, readSettled } from '../core/settled-file.ts';
import type { BuiltinPlugin } from '../host/startup/plan.ts';
import { type DeclarationAnswer, declarationRow } from '../host/startup/query.ts';
import { withoutNotify } from '../service/notify.ts';
import { identityOf } from '../service/privileges.ts';
import { autoloadedNames } from './builtins.ts';
import { askAbout, type Asking, loadWithPlugins } from './declarations.ts';

export interface ConfigSourceOptions {
  /** A file, or the text of one that came by standard input. */
  readonly configPath?: string | undefined;
  readonly text?: string | undefined;
  /** Settings of the command line, by dotted name. */
  readonly flags: Readonly<Record<string, string>>;
  readonly env: Environment;
  readonly builtins: readonly BuiltinPlugin[];
  /** Of the compiled program: external plugins that ship with it are found from here. */
  readonly binFolder: string;
  readonly clock: Clock;
  /** Aborted when the daemon stops: nobody is asked any more. */
  readonly signal: AbortSignal;
  /** What a plugin that runs has declared. */
  readonly known: Asking['known'];
}

/** `errors` one line each, for a report; `text` as `zest config validate` prints them. */
export type LoadedText =
  | { readonly ok: true; readonly config: RunningConfig; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly errors: readonly string[]; readonly text: string };

export class ConfigSource {
  readonly #options: ConfigSourceOptions;
  #declaring: Promise<readonly DeclarationAnswer[]> | undefined;

  constructor(options: ConfigSourceOptions) {
    this.#options = options;
  }

  /** Relative paths of the configuration start here. */
  get folder(): string {
    const { configPath } = this.#options;
    return configPath === undefined ? process.cwd() : dirname(configPath);
  }

  read(): Promise<FileText> {
    const { text, configPath = '-', clock } = this.#options;
    return text === undefined ? readSettled(configPath, clock) : Promise.resolve({ ok: true, text });
  }

  async load(file: FileText): Promise<LoadedText> {
    if (!file.ok) return { ok: false, errors: [file.reason], text: `error: ${file.reason}\n` };
    const { result, options } = await this.parse(file.text);
    if (result.ok) return { ok: true, config: result.config, warnings: result.warnings.map((warning) => warning.message) };
    const path = this.#options.configPath ?? '-';
    return { ok: false, errors: result.faults.map(faultText), text: validateReport(file.text, path, options).stdout };
  }

  async parse(text: string): Promise<{ readonly result: LoadResult; readonly options: LoadOptions }> {
    const { configPath, env, flags, clock } = this.#options;
    return this.parseAs(text, { path: configPath ?? '-', env, flags, builtins: this.autoloaded, now: clock.wall() });
  }

  /** As `loading` says, with the plugins that this program has. */
  parseAs(text: string, loading: LoadOptions): Promise<{ readonly result: LoadResult; readonly options: LoadOptions }> {
    const usable = this.#options.builtins.map((builtin) => builtin.name);
    return loadWithPlugins(text, { ...loading, usable }, this.#asking());
  }

  /** Names of the built-in plugins that load without being named. */
  get autoloaded(): readonly string[] {
    return autoloadedNames(this.#options.builtins);
  }

  /** What the plugins of this configuration declare. One asking at a time: whoever wants to know meanwhile shares it. */
  async declarations(plugins: RunningConfig['plugins']): Promise<readonly DeclarationRow[]> {
    const { env, flags } = this.#options;
    this.#declaring ??= askAbout(plugins, { env, flags }, this.#asking()).finally(() => {
      this.#declaring = undefined;
    });
    return (await this.#declaring).map(declarationRow);
  }

  #asking(): Asking {
    const { builtins, binFolder, env, clock, signal, known } = this.#options;
    return {
      builtins,
      folder: this.folder,
      binFolder,
      environment: withoutNotify(env),
      asUser: identityOf,
      clock,
      signal,
      known,
    };
  }
}
