/**
 * What a Stage 1 declaration must keep to before anything of it is registered (plugin-rpc-types §2.2–2.8). Each check returns
 * the first fault as text, or `undefined`. The texts are part of the protocol: tools match them.
 */
import type {
  CommandDecl,
  ConfigOperationDecl,
  DeclareRegistrationInput,
  DoctorCheckDecl,
  EnricherDecl,
  FilterDecl,
  PipeDecl,
} from '../../../yang/generated/methods.ts';
import { clamp, commandKey, controlCharacter, isLowerKebab, quote } from '../quote.ts';

type Fault = string | undefined;

const MAX_DOCTOR_CHECKS = 16;
const MAX_ENRICHERS = 16;
const MAX_PIPES = 32;
const MAX_COLUMNS = 64;
const MAX_ADDRESS_FIELDS = 16;
const MAX_SUMMARY_BYTES = 256;
const MAX_DESCRIPTION_BYTES = 4096;
const MAX_FIELD_BYTES = 64;
/** Seconds (plugin-rpc-types §2): a larger wish is cut, not refused. */
export const MAX_BUDGET_SECONDS = 600;

/** Runs `check` over the list; the first fault wins. */
function first<T>(list: readonly T[] | undefined, check: (entry: T, index: number) => Fault): Fault {
  for (const [index, entry] of (list ?? []).entries()) {
    const fault = check(entry, index);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function oneOf(value: string | undefined, words: readonly string[]): boolean {
  return value === undefined || value === '' || words.includes(value);
}

/** Steps of the table in §2, in their order, up to the ones that need to know other plugins. Full error messages. */
export function checkDeclaration(plugin: string, input: DeclareRegistrationInput): Fault {
  return checkRegistration(input) ?? checkParts(plugin, input);
}

/** The first step: what makes the registration as a whole invalid. */
export function checkRegistration(input: DeclareRegistrationInput): Fault {
  const values = checkValues(input);
  return values === undefined ? undefined : `invalid registration: ${values}`;
}

/** The steps behind it: doctor checks, enrichers, pipes, answer shapes, help texts. */
export function checkParts(plugin: string, input: DeclareRegistrationInput): Fault {
  const doctor = checkDoctorChecks(input['doctor-checks']);
  if (doctor !== undefined) return `invalid doctor check: ${doctor}`;
  const enrichers = checkEnrichers(input.enrichers);
  if (enrichers !== undefined) return `invalid enricher: ${enrichers}`;
  const pipes = checkPipes(input.pipes, input.commands ?? []);
  if (pipes !== undefined) return `invalid pipe alias: ${pipes}`;
  const shapes = first(input.commands, checkShape);
  if (shapes !== undefined) return `invalid answer shape: ${plugin}: ${shapes}`;
  const help = first(input.commands, checkHelp);
  return help === undefined ? undefined : `invalid help text: ${plugin}: ${help}`;
}

/** Words and numbers the decoder takes as any text or number: what an enumeration or a range of the protocol leaves out. */
function checkValues(input: DeclareRegistrationInput): Fault {
  if (!oneOf(input['failure-policy'], ['restart', 'ignore', 'fatal'])) {
    return `failure-policy ${quote(String(input['failure-policy']))} is not restart, ignore or fatal`;
  }
  for (const key of ['verify-budget', 'apply-budget'] as const) {
    const value = input[key] ?? 0;
    if (!Number.isInteger(value) || value < 0) return `${key} ${value} is not a number of seconds`;
  }
  const filters = new Set<string>();
  return (
    first(input.filters, (filter) => checkFilter(filter) ?? checkTwice(filters, filter.name)) ??
    first(input.dependencies, (name) => (name.trim() === '' ? 'empty dependency name' : undefined)) ??
    first(input['config-operations'], checkConfigOperation)
  );
}

function checkTwice(seen: Set<string>, name: string): Fault {
  if (seen.has(name)) return `filter ${quote(name)} is declared twice`;
  seen.add(name);
  return undefined;
}

/** The label under which the engine itself applies what nobody decomposes (§2.3). */
const RESERVED_LABEL = 'section-apply';

function checkConfigOperation({ root, operations = [] }: ConfigOperationDecl): Fault {
  if (root.trim() === '') return 'config operation without a root';
  if (operations.includes(RESERVED_LABEL))
    return `config operation ${quote(RESERVED_LABEL)} of root ${quote(root)} is reserved by the engine`;
  return operations.some((label) => label.trim() === '') ? `config operation of root ${quote(root)} without a label` : undefined;
}

function checkFilter(filter: FilterDecl): Fault {
  if (filter.name.trim() === '') return 'filter without a name';
  if (filter.name.includes(':') || controlCharacter(filter.name, false) !== undefined) return `filter name ${quote(filter.name)}`;
  if (!['import', 'export', 'both'].includes(filter.direction)) {
    return `filter ${quote(filter.name)}: direction ${quote(filter.direction)} is not import, export or both`;
  }
  if (!oneOf(filter['on-error'], ['reject', 'accept'])) {
    return `filter ${quote(filter.name)}: on-error ${quote(String(filter['on-error']))} is not reject or accept`;
  }
  return undefined;
}

export function checkDoctorChecks(checks: readonly DoctorCheckDecl[] | undefined): Fault {
  if (checks === undefined) return undefined;
  if (checks.length > MAX_DOCTOR_CHECKS) return `too many doctor checks: ${checks.length} (max ${MAX_DOCTOR_CHECKS})`;
  const seen = new Set<string>();
  return first(checks, ({ name, phase, order = 0, codes }) => {
    const shown = clamp(name);
    if (name.length < 1 || name.length > 128) return `invalid doctor check name "${shown}" (must be 1-128 chars)`;
    if (!isLowerKebab(name)) return `invalid doctor check name ${quote(name)} (must be kebab-case)`;
    if (seen.has(name)) return `duplicate doctor check name "${shown}"`;
    seen.add(name);
    if (!['pre-config', 'missing-config', 'post-config'].includes(phase)) {
      return `invalid doctor check phase ${quote(phase)} for "${shown}"`;
    }
    if (!Number.isInteger(order) || order < 0 || order > 9999) {
      return `invalid doctor check order ${order} for "${shown}" (must be 0-9999)`;
    }
    if (codes.length < 1 || codes.length > 16)
      return `invalid doctor check codes count ${codes.length} for "${shown}" (must be 1-16)`;
    const bad = codes.find((code) => !code.startsWith('doctor-'));
    return bad === undefined ? undefined : `invalid doctor check code ${quote(bad)} for "${shown}" (must start with "doctor-")`;
  });
}

export function checkEnrichers(enrichers: readonly EnricherDecl[] | undefined): Fault {
  if (enrichers === undefined) return undefined;
  if (enrichers.length > MAX_ENRICHERS) return `too many enrichers: ${enrichers.length} (max ${MAX_ENRICHERS})`;
  const seen = new Set<string>();
  return first(enrichers, ({ command, key }) => {
    if (command.trim() === '') return `enricher ${quote(key)} names no command`;
    if (key.length < 1 || key.length > 128) return `invalid enricher key "${clamp(key)}" (must be 1-128 chars)`;
    if (!isLowerKebab(key)) return `invalid enricher key ${quote(key)} (must be kebab-case)`;
    const id = `${commandKey(command)}\n${key}`;
    if (seen.has(id)) return `duplicate enricher "${key}" on ${quote(command)}`;
    seen.add(id);
    return undefined;
  });
}

export function checkPipes(pipes: readonly PipeDecl[] | undefined, commands: readonly CommandDecl[]): Fault {
  if (pipes === undefined) return undefined;
  if (pipes.length > MAX_PIPES) return `too many pipe aliases: ${pipes.length} (max ${MAX_PIPES})`;
  const own = new Set(commands.map((command) => commandKey(command.name)));
  return first(pipes, ({ command, name, description = '', expansion }) => {
    const shown = clamp(name);
    if (command.trim() === '') return `pipe alias ${quote(name)} declares no command path`;
    if (name.length < 1 || name.length > 64) return `invalid pipe alias name "${shown}" (must be 1-64 chars)`;
    if (!isLowerKebab(name)) return `invalid pipe alias name ${quote(name)} (must be kebab-case)`;
    if (expansion.trim() === '') return `pipe alias "${shown}" on ${quote(command)} expands to nothing`;
    const text = checkText(description, MAX_SUMMARY_BYTES, false);
    if (text !== undefined) return `pipe alias "${shown}" declares an invalid description: ${text}`;
    if (!own.has(commandKey(command)))
      return `pipe alias "${shown}" sits on ${quote(command)}, a command this plugin does not declare`;
    return undefined;
  });
}

function checkShape(command: CommandDecl): Fault {
  const { name, shape, columns = [], 'address-fields': fields = [] } = command;
  const shown = `command ${quote(name)}`;
  const stated = (shape ?? '') !== '';
  if (stated && !['doc', 'map', 'tab'].includes(shape ?? '')) {
    return `${shown} declares answer shape ${quote(shape ?? '')}, which is not doc, map or tab`;
  }
  if (!stated) return columns.length + fields.length > 0 ? `${shown} declares answer fields but no answer shape` : undefined;
  if (name.trim() === '') return 'an answer shape is declared on a command without a name';
  if (shape === 'doc' && columns.length > 0) return `${shown} declares columns, but its answer shape doc has no rows`;
  if (columns.length > MAX_COLUMNS) return `${shown} declares ${columns.length} columns (max ${MAX_COLUMNS})`;
  if (fields.length > MAX_ADDRESS_FIELDS) return `${shown} declares ${fields.length} address fields (max ${MAX_ADDRESS_FIELDS})`;
  return first([...columns, ...fields], (field) => {
    const bytes = Buffer.byteLength(field);
    if (field.trim() === '') return `${shown} declares a blank answer field`;
    if (bytes > MAX_FIELD_BYTES) return `${shown} declares answer field ${quote(field)}: ${bytes} bytes (max ${MAX_FIELD_BYTES})`;
    const control = controlCharacter(field, false);
    return control === undefined ? undefined : `${shown} declares answer field ${quote(field)}: ${control}`;
  });
}

function checkHelp(command: CommandDecl): Fault {
  const shown = `command ${quote(command.name)}`;
  const summary = checkText(command['short-help'] ?? '', MAX_SUMMARY_BYTES, false);
  if (summary !== undefined) return `${shown} short-help: ${summary}`;
  const description = checkText(command.description ?? '', MAX_DESCRIPTION_BYTES, true);
  return description === undefined ? undefined : `${shown} description: ${description}`;
}

function checkText(text: string, maxBytes: number, linesAllowed: boolean): Fault {
  const bytes = Buffer.byteLength(text);
  return bytes > maxBytes ? `${bytes} bytes (max ${maxBytes})` : controlCharacter(text, linesAllowed);
}

/** Letters, digits, hyphens, words divided by blanks (§2.2). */
export function checkCommandName(name: string): Fault {
  return /^[A-Za-z0-9-]+(?: +[A-Za-z0-9-]+)*$/.test(name) && name.length <= 256
    ? undefined
    : `invalid command name ${quote(name)} (letters, digits, spaces and hyphens)`;
}
