// What `config validate` prints: results and errors on standard output, usage and the word of incomplete peers on standard error.
import { formatIpv4 } from '../../sdk/wire/address.ts';
import { unreadableText } from '../core/settled-file.ts';
import type { ConfigFault, ConfigWarning } from './fault.ts';
import { type LoadOptions, type LoadResult, loadConfig } from './load.ts';
import type { RunningConfig } from './running.ts';

export interface ReportOptions extends Omit<LoadOptions, 'path'> {
  readonly verbose?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  /** Of everything found, what concerns this root alone, and what keeps the text from being read. */
  readonly limit?: string | undefined;
}

export interface ValidateReport {
  readonly stdout: string;
  readonly stderr: string;
  /** 0 valid, 1 invalid, 2 unreadable. */
  readonly exitCode: 0 | 1 | 2;
}

/** Validates a text; `path` is its name in the output. */
export function validateReport(text: string, path: string, options: ReportOptions = {}): ValidateReport {
  const { verbose = false, json = false, quiet = false, limit, ...load } = options;
  const result = limited(loadConfig(text, { ...load, path }), limit);
  const exitCode = result.ok ? 0 : 1;
  const incomplete = result.warnings.filter(isIncomplete);
  if (quiet) return { stdout: '', stderr: '', exitCode };
  const stderr = json ? '' : incomplete.map((warning) => `${warningText(warning)}\n`).join('');
  return { stdout: json ? jsonText(result, path) : plainText(result, path, verbose), stderr, exitCode };
}

/** What a report needs of a result; a text whose faults all lie outside the limit has no configuration, and is not called wrong. */
type Reported =
  | { readonly ok: true; readonly config: RunningConfig | undefined; readonly warnings: readonly ConfigWarning[] }
  | { readonly ok: false; readonly faults: readonly ConfigFault[]; readonly warnings: readonly ConfigWarning[] };

function limited(result: LoadResult, limit: string | undefined): Reported {
  const within = ({ path, message }: ConfigWarning): boolean =>
    limit === undefined ||
    path === '' ||
    path === limit ||
    path.startsWith(`${limit}/`) ||
    message.startsWith('unknown top-level keyword');
  const warnings = result.warnings.filter(within).sort((a, b) => a.line - b.line || a.column - b.column);
  if (result.ok) return { ok: true, config: limit === undefined ? result.config : undefined, warnings };
  const faults = result.faults.filter(within);
  return faults.length === 0 ? { ok: true, config: undefined, warnings } : { ok: false, faults, warnings };
}

/** The report for a file that is missing or cannot be read. */
export function unreadableReport(path: string, reason: string, quiet = false, json = false): ValidateReport {
  if (json && !quiet) {
    const message = unreadableText(path, reason);
    const report = { valid: false, path, errors: [{ line: 0, column: 0, path: '', message }], warnings: [], config: {} };
    return { stdout: `${JSON.stringify(report, undefined, 2)}\n`, stderr: '', exitCode: 2 };
  }
  return { stdout: '', stderr: quiet ? '' : `${unreadableText(path, reason)}\n`, exitCode: 2 };
}

/** A fault as one line: `line 3: unknown field in peer: adress (did you mean "address"?) [column 5]`. */
export function faultText(fault: ConfigFault): string {
  if (fault.line === 0) return messageOf(fault);
  const { line, column, message, expected } = fault;
  const more = expected === undefined || message.includes(expected) ? '' : `, expected ${expected}`;
  return `line ${line}: ${messageOf(fault)} [column ${column}${more}]`;
}

function messageOf({ message, hint }: ConfigFault): string {
  return hint === undefined ? message : `${message} (${hint})`;
}

function isIncomplete(warning: ConfigWarning): boolean {
  return warning.message.startsWith('incomplete peer');
}

function warningText(warning: ConfigWarning): string {
  return `warning: ${warning.line > 0 ? `line ${warning.line}: ` : ''}${warning.message}`;
}

function plainText(result: Reported, path: string, verbose: boolean): string {
  // Incomplete peers stand on standard error already: said once.
  const warnings = result.warnings.filter((warning) => !isIncomplete(warning)).map(warningText);
  const lines = result.ok
    ? [`configuration valid: ${path}`, ...(verbose && result.config !== undefined ? summary(result.config) : []), ...warnings]
    : [`configuration invalid: ${path}`, '', 'Errors:', ...result.faults.map((fault) => `  ${faultText(fault)}`), ...warnings];
  return `${lines.join('\n')}\n`;
}

function summary(config: RunningConfig): string[] {
  const { reactor, plugins } = config;
  return [
    '',
    'Configuration summary:',
    `  router-id: ${reactor.routerId === 0 ? '-' : formatIpv4(reactor.routerId)}`,
    `  local-as: ${reactor.localAs === 0 ? '-' : reactor.localAs}`,
    `  peers: ${reactor.peers.length}`,
    ...reactor.peers.map((peer) => `    - ${peer.remoteAddress} AS${peer.remoteAs}`),
    `  plugins: ${plugins.length}`,
    ...plugins.map((plugin) => `    - ${plugin.name}`),
  ];
}

function jsonText(result: Reported, path: string): string {
  const faults = result.ok ? [] : result.faults;
  const reactor = result.ok ? result.config?.reactor : undefined;
  const config =
    reactor === undefined
      ? {}
      : {
          'router-id': reactor.routerId === 0 ? '' : formatIpv4(reactor.routerId),
          'local-as': reactor.localAs,
          peers: reactor.peers.length,
        };
  const report = {
    valid: result.ok,
    path,
    errors: faults.map((fault) => ({
      line: fault.line,
      column: fault.column,
      path: fault.path,
      message: messageOf(fault),
      expected: fault.expected,
    })),
    warnings: result.warnings.map((warning) => ({ line: warning.line, path: warning.path, message: warning.message })),
    config,
  };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}
