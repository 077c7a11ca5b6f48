/**
 * Who provides what: everything plugins declare, keyed by plugin, so that all of it goes when the plugin goes. Registering is
 * all or nothing: the first refusal undoes what the same declaration has registered, in reverse (plugin-rpc-types §2).
 */
import type {
  CapabilityDecl,
  CommandDecl,
  ConfigOperationDecl,
  DeclareRegistrationInput,
  DoctorCheckDecl,
  EnricherDecl,
  FamilyDecl,
  FilterDecl,
  RegistryCommand,
} from '../../../yang/generated/methods.ts';
import { writeCapability } from '../../../sdk/wire/capability/typed.ts';
import { type Family, IPV4_UNICAST } from '../../../sdk/wire/family.ts';
import type { PluginCapability } from '../../bgp/port.ts';
import { type CodecRegistry, ENGINE, type FamilyEntry } from '../../codec/registry.ts';
import { configSchema } from '../../config/load.ts';
import { PluginSchemas } from '../../config/schema/plugin-schemas.ts';
import { checkCommandName, checkParts, checkRegistration, MAX_BUDGET_SECONDS } from './registration-checks.ts';
import { clamp, commandKey, quote } from '../quote.ts';
import type { CommandRegistry, ReportSink } from '../services.ts';

export type FailurePolicy = 'restart' | 'ignore' | 'fatal';

interface Entry {
  readonly declaration: DeclareRegistrationInput;
  capabilities: readonly PluginCapability[];
  /** Run last to first when the plugin goes. */
  readonly undo: (() => void)[];
}

export interface Terms {
  /** The operator's `respawn` leaf. */
  readonly respawn: boolean | undefined;
  /** Is the plugin of this name up? */
  available(dependency: string): boolean;
}

export interface Refusal {
  readonly code: 'plugin-registration' | 'plugin-dependency' | 'plugin-respawn';
  /** The error line's message. */
  readonly message: string;
}

export class Registry {
  /** What running plugins add to the configuration's schema. */
  readonly schemas = new PluginSchemas(configSchema());
  readonly #commands: CommandRegistry;
  readonly #codecs: CodecRegistry;
  readonly #report: ReportSink;
  readonly #entries = new Map<string, Entry>();
  /** Command key → plugin. Deprecated spellings are the tree's business. */
  readonly #commandOwners = new Map<string, string>();
  /** `code` or `code peer` → plugin */
  readonly #capabilityOwners = new Map<string, string>();
  /** Outlives the registration: while a plugin is down, what its filters' errors mean is what it said last. */
  readonly #filters = new Map<string, readonly FilterDecl[]>();

  constructor(commands: CommandRegistry, codecs: CodecRegistry, report: ReportSink = () => undefined) {
    this.#commands = commands;
    this.#codecs = codecs;
    this.#report = report;
  }

  /** Registers a Stage 1 declaration. A refusal leaves nothing of it. */
  register(plugin: string, declaration: DeclareRegistrationInput, terms: Terms): Refusal | undefined {
    const entry: Entry = { declaration, capabilities: [], undo: [] };
    const refusal = this.#register(plugin, declaration, terms, entry);
    if (refusal === undefined) {
      this.#entries.set(plugin, entry);
      this.#filters.set(plugin, declaration.filters ?? []);
    } else undoAll(entry);
    return refusal;
  }

  /** In the order of the table in §2. What is taken stands in `entry.undo`. */
  #register(plugin: string, declaration: DeclareRegistrationInput, terms: Terms, entry: Entry): Refusal | undefined {
    const invalid =
      checkRegistration(declaration) ?? this.#takeSchema(plugin, declaration, entry) ?? checkParts(plugin, declaration);
    if (invalid !== undefined) return { code: 'plugin-registration', message: invalid };
    const policy = policyOf(declaration);
    if (terms.respawn === true && policy !== 'restart')
      return { code: 'plugin-respawn', message: respawnConflict(plugin, policy) };
    const missing = (declaration.dependencies ?? []).find((name) => name !== plugin && !terms.available(name));
    if (missing !== undefined) return { code: 'plugin-dependency', message: missingDependency(plugin, missing) };
    const foreign = this.#foreign(declaration.families ?? []);
    const refused =
      this.#takeCommands(plugin, declaration.commands ?? [], entry) ??
      this.#decodeConflict(plugin, foreign) ??
      this.#checkPipes(plugin, declaration) ??
      this.#takeFamilies(plugin, foreign, entry);
    return refused === undefined ? undefined : { code: 'plugin-registration', message: refused };
  }

  /** Stage 3. Returns the error message; nothing of the list is registered then. */
  declareCapabilities(plugin: string, declared: readonly CapabilityDecl[]): string | undefined {
    const entry = this.#entries.get(plugin);
    if (entry === undefined) return 'capabilities before a registration';
    const capabilities: PluginCapability[] = [];
    for (const decl of declared) {
      const value = capabilityValue(decl);
      if (typeof value === 'string') return `invalid capabilities: ${value}`;
      capabilities.push({ plugin, code: decl.code, value, peers: decl.peers ?? [] });
    }
    const keys = new Set<string>();
    for (const { code, peers } of capabilities) {
      for (const peer of peers.length === 0 ? [''] : peers) {
        const key = `${code} ${peer}`;
        const owner = keys.has(key) ? plugin : this.#capabilityOwners.get(key);
        const where = peer === '' ? '' : ` for peer ${clamp(peer)}`;
        if (owner !== undefined)
          return `capability conflict: capability conflict: code ${code}${where} already registered by ${owner}`;
        keys.add(key);
      }
    }
    for (const key of keys) this.#capabilityOwners.set(key, plugin);
    entry.capabilities = capabilities;
    entry.undo.push(() => {
      for (const key of keys) this.#capabilityOwners.delete(key);
      entry.capabilities = [];
    });
    return undefined;
  }

  /** Stage 5: the commands enter the tree. Returns the names that were left out because the engine has them. */
  activate(plugin: string): readonly string[] {
    const entry = this.#entries.get(plugin);
    if (entry === undefined) return [];
    const { commands = [], pipes = [] } = entry.declaration;
    entry.undo.push(() => this.#commands.remove(plugin));
    const refused = this.#commands.add(plugin, commands);
    if (refused.length > 0) this.#sayUnreachable(plugin, refused, entry);
    if (pipes.length > 0) this.#commands.addPipes(plugin, pipes);
    return refused;
  }

  /** A command that nobody can reach is only warned of (§2.2); the warning goes with the plugin. */
  #sayUnreachable(plugin: string, commands: readonly string[], entry: Entry): void {
    const names = commands.map((name) => quote(name)).join(', ');
    const warning = { severity: 'warning', code: 'plugin-command', source: 'plugin', subject: plugin } as const;
    this.#report({ ...warning, message: `commands left out: ${names}: the engine has them, or a word is an option` });
    entry.undo.push(() => this.#report({ ...warning, message: '', clear: true }));
  }

  /** Takes back everything the plugin has registered, in reverse order. */
  release(plugin: string): void {
    const entry = this.#entries.get(plugin);
    if (entry === undefined) return;
    this.#entries.delete(plugin);
    undoAll(entry);
  }

  of(plugin: string): DeclareRegistrationInput | undefined {
    return this.#entries.get(plugin)?.declaration;
  }

  /** As last declared, also while the plugin is down; undefined: it never declared anything. */
  filtersOf(plugin: string): readonly FilterDecl[] | undefined {
    return this.#filters.get(plugin);
  }

  /** The plugin is gone from the configuration. */
  forget(plugin: string): void {
    this.#filters.delete(plugin);
  }

  /** Who declared a capability of this code; '' = nobody. */
  capabilityOwner(code: number): string {
    return this.capabilities().find((one) => one.code === code)?.plugin ?? '';
  }

  /** What a plugin asks for its config transactions, in seconds; cut at 600. */
  budgets(plugin: string): { readonly verifySeconds: number; readonly applySeconds: number } {
    const declaration = this.of(plugin);
    return {
      verifySeconds: Math.min(declaration?.['verify-budget'] ?? 0, MAX_BUDGET_SECONDS),
      applySeconds: Math.min(declaration?.['apply-budget'] ?? 0, MAX_BUDGET_SECONDS),
    };
  }

  /** Filters by their owner; chains name them `<plugin>:<filter>`. */
  filters(): readonly (FilterDecl & { readonly plugin: string })[] {
    return this.#declared((declaration) => declaration.filters);
  }

  doctorChecks(): readonly (DoctorCheckDecl & { readonly plugin: string })[] {
    return this.#declared((declaration) => declaration['doctor-checks']);
  }

  enrichers(): readonly (EnricherDecl & { readonly plugin: string })[] {
    return this.#declared((declaration) => declaration.enrichers);
  }

  /** Who decomposes changes of which config root, and the labels it may emit. */
  configOperations(): readonly (ConfigOperationDecl & { readonly plugin: string })[] {
    return this.#declared((declaration) => declaration['config-operations']);
  }

  #declared<T>(
    of: (declaration: DeclareRegistrationInput) => readonly T[] | undefined,
  ): readonly (T & { readonly plugin: string })[] {
    return [...this.#entries].flatMap(([plugin, { declaration }]) => (of(declaration) ?? []).map((one) => ({ ...one, plugin })));
  }

  plugins(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** For share-registry: every command of every registered plugin, and the engine's own. */
  commands(): readonly RegistryCommand[] {
    const list = [...this.#commands.list()];
    for (const [plugin, { declaration }] of this.#entries) {
      for (const { name } of declaration.commands ?? []) list.push({ name, plugin });
    }
    return list;
  }

  /** Sorted union of the claims of all plugins but one. */
  claimsBut(plugin: string): readonly string[] {
    const claims = new Set<string>();
    for (const [name, { declaration }] of this.#entries) {
      if (name !== plugin) for (const claim of declaration.claims ?? []) claims.add(claim);
    }
    return [...claims].sort();
  }

  /** What plugins add to OPENs; the families they decode go to every peer that states none of its own (§2.1), sorted by name. */
  capabilities(): readonly PluginCapability[] {
    const declared = [...this.#entries.values()].flatMap((entry) => entry.capabilities);
    const families = this.decodedFamilies().map(({ decoder, family }) => multiprotocol(decoder, family));
    // Whoever names any family has to name this one as well: it is what a peer without a list speaks (RFC 4760 §8).
    return families.length === 0 ? declared : [...declared, multiprotocol(ENGINE, IPV4_UNICAST), ...families];
  }

  /** Families some plugin decodes, sorted by name: they are advertised in OPEN. */
  decodedFamilies(): readonly FamilyEntry[] {
    return this.#codecs.list().filter((entry) => entry.decoder !== '' && entry.decoder !== ENGINE);
  }

  /** Who decodes a family, by name: a plugin, `engine`, or '' = nobody. */
  decoderOf(name: string): string {
    return this.#codecs.decoder(this.#codecs.number(name));
  }

  #takeCommands(plugin: string, commands: readonly CommandDecl[], entry: Entry): string | undefined {
    for (const { name } of commands) {
      const invalid = checkCommandName(name);
      if (invalid !== undefined) return `registration conflict: ${invalid}`;
      const key = commandKey(name);
      const owner = this.#commandOwners.get(key);
      if (owner !== undefined) return `registration conflict: command conflict: "${clamp(name)}" already registered by ${owner}`;
      this.#commandOwners.set(key, plugin);
      entry.undo.push(() => this.#commandOwners.delete(key));
    }
    return undefined;
  }

  #checkPipes(plugin: string, { pipes = [] }: DeclareRegistrationInput): string | undefined {
    const seen = new Set<string>();
    for (const pipe of pipes) {
      const key = `${commandKey(pipe.command)}\n${pipe.name}`;
      const refused = seen.has(key) ? `"${pipe.name}" is declared twice` : this.#commands.checkPipe(plugin, pipe);
      if (refused !== undefined) return `pipe alias refused: ${refused}`;
      seen.add(key);
    }
    return undefined;
  }

  #takeSchema(plugin: string, { schema }: DeclareRegistrationInput, entry: Entry): string | undefined {
    if (schema === undefined) return undefined;
    const refused = this.schemas.claim(plugin, schema);
    if (refused !== undefined) return `invalid registration: ${refused}`;
    entry.undo.push(() => this.schemas.release(plugin));
    return undefined;
  }

  /** A family that the engine itself reads and writes stays the engine's; a plugin that names it has said nothing new. */
  #foreign(families: readonly FamilyDecl[]): readonly FamilyDecl[] {
    return families.filter(({ name, afi = 0, safi = 0 }) => {
      const known = this.#codecs.number(name);
      return this.#codecs.decoder(known) !== ENGINE || (afi !== 0 && (afi << 8) + safi !== known);
    });
  }

  #decodeConflict(plugin: string, families: readonly FamilyDecl[]): string | undefined {
    for (const { name, mode, afi = 0, safi = 0 } of families) {
      if (mode !== 'decode' && mode !== 'both') continue;
      const known = this.#codecs.number(name);
      const family = afi === 0 && safi === 0 ? known : (afi << 8) + safi;
      const owner = known === 0 || known === family ? this.#codecs.decoder(family) : '';
      if (owner !== '' && owner !== plugin)
        return `registration conflict: family conflict: ${clamp(name)} already registered by ${owner}`;
    }
    return undefined;
  }

  /** Names and numbers last: a family's name outlives the plugin, so it is taken only when nothing else was refused. */
  #takeFamilies(plugin: string, foreign: readonly FamilyDecl[], entry: Entry): string | undefined {
    for (const { name, afi = 0, safi = 0 } of foreign) {
      if (isWithin(afi, 0xffff) && isWithin(safi, 0xff)) continue;
      return `family registration conflict: family ${quote(name)}: AFI ${afi} SAFI ${safi} out of range`;
    }
    const refused = this.#codecs.claim(plugin, foreign);
    if (refused === undefined) {
      entry.undo.push(() => this.#codecs.release(plugin));
      return undefined;
    }
    return /^(?:family )?registration conflict: /.test(refused) ? refused : `family registration conflict: ${refused}`;
  }
}

/** Capability 1 of a family, for peers whose settings have none. */
function multiprotocol(plugin: string, family: Family): PluginCapability {
  const { code, value } = writeCapability({ kind: 'multiprotocol', family });
  return { plugin, code, value, peers: [] };
}

export function policyOf(declaration: DeclareRegistrationInput): FailurePolicy {
  const policy = declaration['failure-policy'];
  return policy === 'restart' || policy === 'fatal' ? policy : 'ignore';
}

function respawnConflict(plugin: string, policy: FailurePolicy): string {
  return `plugin "${plugin}" declares failure policy ${policy}, so respawn true is refused: it must not be started again`;
}

export function missingDependency(plugin: string, dependency: string): string {
  return `missing dependency: plugin "${plugin}" requires "${clamp(dependency)}"`;
}

function undoAll(entry: Entry): void {
  for (const action of entry.undo.splice(0).reverse()) action();
}

function isWithin(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= max;
}

/** The value's bytes, or the fault as text. */
function capabilityValue(decl: CapabilityDecl): Uint8Array | string {
  const { code, encoding, payload = '' } = decl;
  if (!isWithin(code, 255) || code === 0) return `capability code ${code} out of range`;
  if (code === 1) return 'capability code 1 (Multiprotocol) belongs to the engine';
  const value = decodePayload(encoding, payload);
  if (typeof value === 'string') return value;
  return value.length <= 255 ? value : `capability ${code}: ${value.length} bytes (max 255)`;
}

function decodePayload(encoding: CapabilityDecl['encoding'], payload: string): Uint8Array | string {
  switch (encoding) {
    case 'hex':
      return /^(?:[0-9a-f]{2})*$/i.test(payload) ? Buffer.from(payload, 'hex') : `bad hex payload ${quote(payload)}`;
    case 'b64': {
      const value = Buffer.from(payload, 'base64');
      return value.toString('base64') === payload ? value : `bad base64 payload ${quote(payload)}`;
    }
    case 'text':
      return Buffer.from(payload, 'utf8');
    case undefined:
      return payload === '' ? new Uint8Array(0) : `capability encoding unspecified with payload ${quote(payload)}`;
    default:
      return `unknown capability encoding ${quote(String(encoding))}`;
  }
}
