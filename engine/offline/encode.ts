/**
 * `zest bgp encode`: a route in words to the UPDATE that carries it, as hex. The same language as `update text`, or `route PREFIX
 * ATTRIBUTES`. A pure function of its arguments.
 */
import * as code from '../../sdk/wire/attribute/code.ts';
import { AttributeCursor } from '../../sdk/wire/attribute/cursor.ts';
import { toHex, viewOf } from '../../sdk/wire/bytes.ts';
import { AttributeRewriter, exportRule, KEEP, STRIP } from '../../sdk/wire/export.ts';
import { afiOf, familyName, IPV4_UNICAST, isPrefixFamily } from '../../sdk/wire/family.ts';
import { nextHopBytes } from '../../sdk/wire/nlri/next-hop.ts';
import { HEADER_LENGTH, MAX_MESSAGE } from '../../sdk/wire/message.ts';
import { PrefixCursor } from '../../sdk/wire/nlri/prefix.ts';
import { ADDED, UpdateWriter, writeEndOfRib } from '../../sdk/wire/writer.ts';
import { CodecRegistry } from '../codec/registry.ts';
import { RouteCommands } from '../codec/route-command.ts';
import type { RouteCommand } from '../codec/update-text.ts';
import type { ToolResult } from './decode.ts';

export const ENCODE_HELP = `zest bgp encode [-f FAMILY] [-a ASN] [-z ASN] [-i] [-n] [--no-header] [--asn4|--asn2] ROUTE — write the UPDATE of a route as hex
  ROUTE is the language of "update text", or: route PREFIX next-hop ADDRESS [ATTRIBUTE VALUE]…
  -f FAMILY     family of the prefix (default: unicast of its address)
  -a ASN        local AS (65533)      -z ASN  peer's AS (65533); equal is an internal session
  -i            NLRI carry path identifiers (ADD-PATH)
  -n            the NLRI alone        --no-header  the body alone
  --asn2        AS numbers in two octets
`;

interface Options {
  family: string;
  localAs: number;
  peerAs: number;
  addPath: boolean;
  nlriOnly: boolean;
  header: boolean;
  asn4: boolean;
  words: string[];
}

type Section = RouteCommand['sections'][number];

/** `args` follow `bgp encode`. */
export function encodeCommand(args: readonly string[], registry = new CodecRegistry()): ToolResult {
  if (args.includes('--help')) return { stdout: ENCODE_HELP, stderr: '', code: 0 };
  const options = readArguments(args);
  if (typeof options === 'string') return failed(options);
  const command = commandOf(options);
  if (command === '') return { stdout: '', stderr: 'nothing to encode: give a ROUTE\n', code: 2 };
  const parsed = new RouteCommands(registry).parse(command);
  if (!parsed.ok) return failed(`${parsed.fault.message}\n  ${command}\n  ${' '.repeat(parsed.fault.column - 1)}^`);
  const [foreign] = parsed.value.foreign;
  if (foreign !== undefined) return failed(`${familyName(foreign.family)} is written by a plugin: encode it through the daemon`);
  const lines: string[] = [];
  for (const section of parsed.value.sections) {
    const bytes = options.nlriOnly ? nlriBytes(section, options.addPath) : sectionBytes(section, parsed.value, options);
    if (typeof bytes === 'string') return failed(bytes);
    lines.push(...bytes.map((one) => toHex(one)));
  }
  return { stdout: lines.map((line) => `${line}\n`).join(''), stderr: '', code: 0 };
}

function failed(message: string): ToolResult {
  return { stdout: '', stderr: `${message}\n`, code: 1 };
}

function readArguments(args: readonly string[]): Options | string {
  const options: Options = {
    family: '',
    localAs: 65533,
    peerAs: 65533,
    addPath: false,
    nlriOnly: false,
    header: true,
    asn4: true,
    words: [],
  };
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    switch (arg) {
      case '-f':
      case '--family':
      case '-a':
      case '-z': {
        const value = args[++i];
        if (value === undefined) return `${arg} requires a value`;
        if (arg === '-f' || arg === '--family') {
          options.family = value;
          break;
        }
        const as = /^\d{1,10}$/.test(value) ? Number(value) : 0;
        if (as < 1 || as > 0xffffffff) return `${arg}: ${value} is not an AS number`;
        if (arg === '-a') options.localAs = as;
        else options.peerAs = as;
        break;
      }
      case '-i':
        options.addPath = true;
        break;
      case '-n':
        options.nlriOnly = true;
        break;
      case '--no-header':
        options.header = false;
        break;
      case '--asn4':
        options.asn4 = true;
        break;
      case '--asn2':
        options.asn4 = false;
        break;
      default:
        if (arg.startsWith('-')) return `unknown option: ${arg}`;
        options.words.push(arg);
    }
  }
  return options;
}

/** The route in the language of `update text`. */
function commandOf(options: Options): string {
  const words = options.words.join(' ').trim().split(/\s+/);
  if (words[0] === 'update') return words.join(' ');
  const withdraw = words[0] === 'withdraw';
  const rest = words.filter((word, index) => !(index < 2 && (word === 'announce' || word === 'withdraw' || word === 'route')));
  const [prefix = '', ...attributes] = rest;
  if (prefix === '') return '';
  const family = options.family === '' ? (prefix.includes(':') ? 'ipv6/unicast' : 'ipv4/unicast') : options.family;
  const head = attributes.length === 0 ? 'update text' : `update text ${attributes.join(' ')}`;
  return `${head} nlri ${family} ${withdraw ? 'del' : 'add'} ${prefix}`;
}

/** NLRI of a section, announced then withdrawn, path ids in front where asked for. */
function nlriBytes(section: Section, addPath: boolean): readonly Uint8Array[] {
  const writer = new UpdateWriter();
  const out: Uint8Array[] = [];
  for (const nlri of [section.announce, section.withdraw]) {
    if (nlri.length === 0) continue;
    if (!addPath) {
      out.push(nlri);
      continue;
    }
    const buffer = new Uint8Array(nlri.length * 5 + MAX_MESSAGE);
    writer.over(buffer).beginWithdraw(IPV4_UNICAST, true, 0xffff);
    addPrefixes(writer, nlri, section.family, section.pathId);
    writer.close();
    // The entries lie between the withdrawn-routes length and the attributes length.
    out.push(buffer.slice(HEADER_LENGTH + 2, writer.used - 2));
  }
  return out;
}

function sectionBytes(section: Section, command: RouteCommand, options: Options): readonly Uint8Array[] | string {
  const { family } = section;
  const size = 2 * MAX_MESSAGE + 8 * (section.announce.length + section.withdraw.length);
  const buffer = new Uint8Array(Math.max(65536, size * 4));
  if (section.eor) return messages(buffer, writeEndOfRib(buffer, 0, family), options.header);
  const writer = new UpdateWriter().over(buffer);
  if (section.announce.length > 0) {
    if (command.nextHop.length === 0) return 'next-hop ADDRESS is required: there is no session whose own address could stand in';
    const block = attributeBlock(command, family, options);
    if (block === undefined) return 'the attributes do not fit a message';
    const classic = family === IPV4_UNICAST && command.nextHop.length === 4;
    writer.beginAnnounce(
      family,
      options.addPath,
      MAX_MESSAGE,
      block,
      0,
      block.length,
      classic ? undefined : nextHopBytes(command.nextHop, family),
    );
    if (!addPrefixes(writer, section.announce, family, section.pathId)) return 'the route does not fit a message';
  }
  if (section.withdraw.length > 0) {
    writer.beginWithdraw(family, options.addPath, MAX_MESSAGE);
    if (!addPrefixes(writer, section.withdraw, family, section.pathId)) return 'the route does not fit a message';
  }
  writer.close();
  return messages(buffer, writer.used, options.header);
}

function addPrefixes(writer: UpdateWriter, nlri: Uint8Array, family: number, pathId: number): boolean {
  if (!isPrefixFamily(family)) return writer.addNlri(nlri, 0, nlri.length) === ADDED;
  const cursor = new PrefixCursor().over(viewOf(nlri), 0, nlri.length, afiOf(family) === 1 ? 32 : 128, false);
  while (cursor.next()) if (writer.addPrefix(nlri, cursor.prefixAt, cursor.lengthBits, pathId) !== ADDED) return false;
  return true;
}

/** The block as the session of the options would send it: defaults filled in, NEXT_HOP where the family has it. */
function attributeBlock(command: RouteCommand, family: number, options: Options): Uint8Array | undefined {
  const ebgp = options.localAs !== options.peerAs;
  const given = command.attributes;
  const has = (number: number): boolean => new AttributeCursor().over(viewOf(given), 0, given.length).find(number);
  const head: number[] = [];
  if (!has(code.ORIGIN)) head.push(code.TRANSITIVE, code.ORIGIN, 1, 0);
  if (!has(code.AS_PATH)) {
    const as = options.localAs;
    const path = ebgp ? [code.AS_SEQUENCE, 1, as >>> 24, (as >>> 16) & 0xff, (as >>> 8) & 0xff, as & 0xff] : [];
    head.push(code.TRANSITIVE, code.AS_PATH, path.length, ...path);
  }
  const block = Uint8Array.from([...head, ...given]);
  const classic = family === IPV4_UNICAST && command.nextHop.length === 4;
  const nextHop = classic ? viewOf(command.nextHop).getUint32(0) : STRIP;
  const rule = exportRule(ebgp, { asn4: options.asn4, nextHop, med: KEEP, reflection: true });
  const out = new Uint8Array(MAX_MESSAGE);
  const length = new AttributeRewriter().rewrite(block, viewOf(block), 0, block.length, rule, out, 0);
  return length < 0 ? undefined : out.slice(0, length);
}

/** Cuts the buffer into its messages. */
function messages(buffer: Uint8Array, end: number, header: boolean): readonly Uint8Array[] {
  const out: Uint8Array[] = [];
  const view = viewOf(buffer);
  for (let at = 0; at < end; ) {
    const length = view.getUint16(at + 16);
    out.push(buffer.slice(at + (header ? 0 : HEADER_LENGTH), at + length));
    at += length;
  }
  return out;
}
