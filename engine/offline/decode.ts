/**
 * `zest bgp decode`: a message, or NLRI of a family, from hex to JSON or to a list of fields with their offsets. A pure function of its
 * arguments and what standard input held.
 */
import { fromHex } from '../../sdk/wire/bytes.ts';
import { NAMED_FAMILIES, NO_FAMILY } from '../../sdk/wire/family.ts';
import { OK, outcomeName, reasonText, RESET } from '../../sdk/wire/fault.ts';
import { attributeName } from '../../sdk/wire/attribute/table.ts';
import { HEADER_LENGTH, KEEPALIVE, MARKER_LENGTH, NOTIFICATION, OPEN, ROUTE_REFRESH, UPDATE } from '../../sdk/wire/message.ts';
import { refreshName } from '../../sdk/wire/refresh.ts';
import { CodecRegistry } from '../codec/registry.ts';
import { UpdateReader } from '../codec/update-reader.ts';
import type { FieldList } from './decode-fields.ts';
import { fieldLines, messageFields, nlriFields } from './decode-fields.ts';
import { document, type Json, jsonText, nlriJson, notificationJson, openJson, refreshJson, updateJson } from './decode-json.ts';

export interface ToolResult {
  readonly stdout: string;
  readonly stderr: string;
  /** 0 done · 1 malformed input or bad usage · 2 nothing to decode */
  readonly code: number;
}

export const DECODE_HELP = `zest bgp decode [--open|--update|--nlri FAMILY] [--json] [--add-path] [--asn2] HEX|- — read a BGP message
  HEX is a whole message (it begins with the marker), or the body of an UPDATE (--update, also the default) or an OPEN (--open);
  blanks and colons in it are skipped, - reads it from standard input
  --nlri FAMILY   HEX is NLRI of this family (-f FAMILY is the same)
  --json          one JSON document instead of fields with their offsets
  --add-path      NLRI carry path identifiers
  --asn2          AS numbers in AS_PATH and AGGREGATOR have two octets
`;

interface Options {
  kind: 'auto' | 'open' | 'update' | 'nlri';
  family: string;
  json: boolean;
  addPath: boolean;
  asn4: boolean;
  hex: string;
}

/** `args` follow `bgp decode`. `registry` holds the families that plugins read, when there are any. */
export function decodeCommand(args: readonly string[], stdin: string, json = false, registry = new CodecRegistry()): ToolResult {
  const options = readArguments(args, json);
  if (typeof options === 'string') return { stdout: '', stderr: `${options}\n`, code: 1 };
  if (args.includes('--help')) return { stdout: DECODE_HELP, stderr: '', code: 0 };
  const text = (options.hex === '-' ? stdin : options.hex).replace(/[\s:]/g, '').replace(/^0x/i, '');
  if (text === '') return { stdout: '', stderr: 'nothing to decode: give HEX, or - for standard input\n', code: 2 };
  const bytes = fromHex(text);
  if (bytes === undefined) return { stdout: '', stderr: `${hexFault(text)}\n`, code: 1 };
  return options.kind === 'nlri' ? decodeNlri(bytes, options, registry) : decodeMessage(bytes, options, registry);
}

function readArguments(args: readonly string[], json: boolean): Options | string {
  const options: Options = { kind: 'auto', family: '', json, addPath: false, asn4: true, hex: '' };
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    switch (arg) {
      case '--open':
      case '--update':
        options.kind = arg === '--open' ? 'open' : 'update';
        break;
      case '--nlri':
      case '-f':
      case '--family':
      case '--plugin': {
        const value = args[++i];
        if (value === undefined) return `${arg} requires a value`;
        if (arg === '--plugin') break;
        options.family = value;
        if (arg === '--nlri') options.kind = 'nlri';
        break;
      }
      case '--json':
        options.json = true;
        break;
      case '--add-path':
        options.addPath = true;
        break;
      case '--asn2':
        options.asn4 = false;
        break;
      case '--help':
        break;
      default:
        if (arg.startsWith('-') && arg !== '-') return `unknown option: ${arg}`;
        options.hex = arg === '-' ? arg : options.hex + arg;
    }
  }
  // `-f FAMILY` alone names the NLRI that is given; beside a whole message it is a hint nobody needs.
  if (options.kind === 'auto' && options.family !== '' && !/^f{8}/i.test(options.hex) && options.hex !== '-')
    options.kind = 'nlri';
  return options;
}

function hexFault(text: string): string {
  const bad = /[^0-9a-fA-F]/.exec(text);
  if (bad !== null) return `invalid hex: not a hex digit at digit ${bad.index + 1}`;
  return `invalid hex: odd number of digits (${text.length})`;
}

function decodeNlri(bytes: Uint8Array, options: Options, registry: CodecRegistry): ToolResult {
  const family = registry.number(options.family);
  if (family === NO_FAMILY) return { stdout: '', stderr: `unknown family: ${options.family}\n`, code: 1 };
  const list = nlriFields(bytes, family, options);
  return answer(list, () => nlriJson(bytes, family, options.addPath, registry), [], options);
}

function decodeMessage(bytes: Uint8Array, options: Options, registry: CodecRegistry): ToolResult {
  const whole = bytes.length >= HEADER_LENGTH && bytes.subarray(0, MARKER_LENGTH).every((byte) => byte === 0xff);
  if (!whole && options.kind === 'auto' && bytes[0] === 0xff) return failed(0, `message cut short: ${bytes.length} bytes`);
  const at = whole ? HEADER_LENGTH : 0;
  const length = whole ? (bytes[16]! << 8) | bytes[17]! : bytes.length;
  const type = whole ? bytes[18]! : options.kind === 'open' ? OPEN : UPDATE;
  if (whole && length < bytes.length) return failed(length, `${bytes.length - length} bytes after the message`);
  if (whole && length > bytes.length) return failed(16, `message of ${length} bytes is cut short at ${bytes.length}`);
  if (whole && options.kind === 'open' && type !== OPEN) return failed(18, `type ${type} is not OPEN`);
  if (whole && options.kind === 'update' && type !== UPDATE) return failed(18, `type ${type} is not UPDATE`);
  if (type < OPEN || type > ROUTE_REFRESH) return failed(18, `unknown message type ${type}`);
  const list = messageFields(bytes, at, type, whole, options);
  if (type !== UPDATE || list.fault !== undefined) return answer(list, () => messageJson(bytes, at, type), [], options);
  const reader = new UpdateReader().over(bytes, at, bytes.length - at, options.asn4, options.addPath ? NAMED_FAMILIES : [], true);
  return answer(list, () => document('update', updateJson(bytes, at, options, registry)), judgement(reader), options);
}

function messageJson(bytes: Uint8Array, at: number, type: number): Json {
  const length = bytes.length - at;
  if (type === OPEN) return document('open', openJson(bytes, at, length));
  if (type === NOTIFICATION) return document('notification', notificationJson(bytes, at, length));
  if (type === KEEPALIVE) return document('keepalive', {});
  return document(refreshName(bytes[at + 2]!), refreshJson(bytes, at));
}

/** What RFC 7606 makes of it, one line a fault; the first says what becomes of the message. */
function judgement(reader: UpdateReader): readonly string[] {
  const { update } = reader;
  if (update.outcome === OK) return [];
  const { faults } = update;
  const found = Array.from({ length: faults.count }, (_, index) => {
    const number = faults.code(index);
    return `${number === 0 ? 'message' : attributeName(number)}: ${reasonText(faults.reason(index))} (${outcomeName(faults.approach(index))})`;
  });
  const what =
    update.outcome === RESET ? `session reset, NOTIFICATION ${update.code}/${update.subcode}` : outcomeName(update.outcome);
  return [`a speaker would answer: ${what} (RFC 7606)`, ...found];
}

function answer(list: FieldList, json: () => Json, notes: readonly string[], options: Options): ToolResult {
  if (list.fault !== undefined) {
    const shown = options.json ? '' : fieldLines(list.fields);
    return { stdout: shown, stderr: `offset ${list.fault.at}: ${list.fault.message}\n`, code: 1 };
  }
  if (!options.json) return { stdout: fieldLines(list.fields), stderr: lines(notes), code: 0 };
  return { stdout: `${jsonText(json())}\n`, stderr: lines(notes), code: 0 };
}

function lines(notes: readonly string[]): string {
  return notes.map((note) => `${note}\n`).join('');
}

function failed(at: number, message: string): ToolResult {
  return { stdout: '', stderr: `offset ${at}: ${message}\n`, code: 1 };
}
