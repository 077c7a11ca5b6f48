// Enough of pcap and pcapng to get TCP payloads out of a capture, in order of sequence number per direction. Ethernet, VLAN, Linux cooked,
// raw IP, IPv4 and IPv6 without extension headers.
import { viewOf } from '../../sdk/wire/bytes.ts';

interface Packet {
  readonly linkType: number;
  readonly data: Uint8Array;
}

/**
 * Each direction of each TCP connection on the port: its bytes in order, without what was sent twice. Where segments are missing from the
 * capture another run begins.
 */
export function tcpStreams(file: Uint8Array, port: number): readonly Uint8Array[] {
  const flows = new Map<string, { at: number; data: Uint8Array }[]>();
  for (const packet of packets(file)) {
    const segment = tcpSegment(packet);
    if (segment === undefined || segment.data.length === 0) continue;
    if (segment.from !== port && segment.to !== port) continue;
    const flow = flows.get(segment.flow) ?? [];
    flow.push({ at: segment.sequence, data: segment.data });
    flows.set(segment.flow, flow);
  }
  return [...flows.values()].flatMap(join);
}

function join(segments: { at: number; data: Uint8Array }[]): Uint8Array[] {
  segments.sort((a, b) => a.at - b.at);
  const runs: number[][] = [];
  let run: number[] = [];
  let next = -1;
  for (const { at, data } of segments) {
    if (next < 0 || at > next) {
      run = [];
      runs.push(run);
      next = at;
    }
    for (const byte of data.subarray(next - at)) run.push(byte);
    next = Math.max(next, at + data.length);
  }
  return runs.map((bytes) => Uint8Array.from(bytes));
}

function packets(file: Uint8Array): Packet[] {
  const view = viewOf(file);
  const magic = view.getUint32(0);
  if (magic === 0x0a0d0d0a) return ngPackets(file, view);
  const little = magic === 0xd4c3b2a1 || magic === 0x4d3cb2a1;
  const out: Packet[] = [];
  const linkType = view.getUint32(20, little) & 0xffff;
  for (let at = 24; at + 16 <= file.length; ) {
    const size = view.getUint32(at + 8, little);
    out.push({ linkType, data: file.subarray(at + 16, at + 16 + size) });
    at += 16 + size;
  }
  return out;
}

/** Enhanced and simple packet blocks of one section. */
function ngPackets(file: Uint8Array, view: DataView): Packet[] {
  const little = view.getUint32(8, true) === 0x1a2b3c4d;
  const links: number[] = [];
  const out: Packet[] = [];
  for (let at = 0; at + 12 <= file.length; ) {
    const type = view.getUint32(at, little);
    const size = view.getUint32(at + 4, little);
    if (size < 12) break;
    if (type === 1) links.push(view.getUint16(at + 8, little));
    else if (type === 6) {
      const captured = view.getUint32(at + 20, little);
      const linkType = links[view.getUint32(at + 8, little)] ?? 1;
      out.push({ linkType, data: file.subarray(at + 28, at + 28 + captured) });
    } else if (type === 3) out.push({ linkType: links[0] ?? 1, data: file.subarray(at + 12, at + size - 4) });
    at += size;
  }
  return out;
}

interface Segment {
  readonly flow: string;
  readonly from: number;
  readonly to: number;
  readonly sequence: number;
  readonly data: Uint8Array;
}

function tcpSegment({ linkType, data }: Packet): Segment | undefined {
  const ip = ipAt(linkType, data);
  if (ip < 0 || ip + 20 > data.length) return undefined;
  const view = viewOf(data);
  const version = view.getUint8(ip) >>> 4;
  const tcp = version === 4 ? ip + 4 * (view.getUint8(ip) & 15) : ip + 40;
  const protocol = version === 4 ? view.getUint8(ip + 9) : view.getUint8(ip + 6);
  const end = version === 4 ? ip + view.getUint16(ip + 2) : ip + 40 + view.getUint16(ip + 4);
  if (protocol !== 6 || tcp + 20 > data.length) return undefined;
  const from = view.getUint16(tcp);
  const to = view.getUint16(tcp + 2);
  const addresses = data.subarray(version === 4 ? ip + 12 : ip + 8, version === 4 ? ip + 20 : ip + 40);
  return {
    flow: `${addresses.join('.')} ${from} ${to}`,
    from,
    to,
    sequence: view.getUint32(tcp + 4),
    data: data.subarray(tcp + 4 * (view.getUint8(tcp + 12) >>> 4), Math.min(end, data.length)),
  };
}

/** Where the IP header begins, -1 when there is none. */
function ipAt(linkType: number, data: Uint8Array): number {
  switch (linkType) {
    case 1: // Ethernet
      return afterEtherType(data, 12);
    case 0: // loopback
      return 4;
    case 9: // PPP in HDLC
      return data[3] === 0x21 ? 4 : -1;
    case 12: // raw IP
    case 101:
    case 228:
      return 0;
    case 104: // Cisco HDLC
      return afterEtherType(data, 2);
    case 113: // Linux cooked
      return afterEtherType(data, 14);
    case 276: // Linux cooked, version 2: the type comes first
      return 20;
    default:
      return -1;
  }
}

function afterEtherType(data: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const type = (data[at]! << 8) | data[at + 1]!;
    if (type === 0x0800 || type === 0x86dd) return at + 2;
    if (type === 0x8847) return afterLabels(data, at + 2);
    if (type !== 0x8100 && type !== 0x88a8) return -1;
    at += 4;
  }
}

function afterLabels(data: Uint8Array, from: number): number {
  for (let at = from; at + 4 < data.length; at += 4) if ((data[at + 2]! & 1) !== 0) return at + 4;
  return -1;
}
