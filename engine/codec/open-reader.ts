/** An OPEN message as its events show it (events.md §4.2). One that cannot be read whole shows its fixed fields alone. */
import { formatIpv4 } from '../../sdk/wire/address.ts';
import { toHex, viewOf } from '../../sdk/wire/bytes.ts';
import type { Capability } from '../../sdk/wire/capability/capability.ts';
import { capabilityEventName } from '../../sdk/wire/capability/capability.ts';
import { readCapability } from '../../sdk/wire/capability/typed.ts';
import { afiName, familyName } from '../../sdk/wire/family.ts';
import { HEADER_LENGTH } from '../../sdk/wire/message.ts';
import { decodeOpen, openAs } from '../../sdk/wire/open.ts';

export interface ShownCapability {
  readonly code: number;
  readonly name: string;
  readonly value?: string;
}

export interface ShownOpen {
  readonly version: number;
  /** Four octets where capability 65 says so. */
  readonly asn: number;
  readonly holdTimeSeconds: number;
  readonly routerId: string;
  readonly capabilities: readonly ShownCapability[];
}

/** The body of `length` bytes at `at`, without the header; undefined when it is shorter than an OPEN can be. */
export function readOpen(bytes: Uint8Array, at: number, length: number): ShownOpen | undefined {
  if (length < 10) return undefined;
  const view = viewOf(bytes);
  const read = decodeOpen(bytes, at - HEADER_LENGTH, length + HEADER_LENGTH);
  return {
    version: view.getUint8(at),
    asn: read.ok ? openAs(read.value) : view.getUint16(at + 1),
    holdTimeSeconds: view.getUint16(at + 3),
    routerId: formatIpv4(view.getUint32(at + 5)),
    capabilities: read.ok ? read.value.capabilities.flatMap(showCapability) : [],
  };
}

/** One entry a capability; one a family for those that list families. */
export function showCapability(capability: Capability): readonly ShownCapability[] {
  const { code } = capability;
  const typed = readCapability(capability);
  const name = capabilityEventName(code);
  switch (typed.kind) {
    case 'multiprotocol':
      return [{ code, name, value: familyName(typed.family) }];
    case 'asn4':
      return [{ code, name, value: String(typed.asn) }];
    case 'extended-message':
      return [{ code, name }];
    case 'addpath':
      return typed.families.map(({ family, mode }) => ({ code, name, value: `${familyName(family)} ${mode}` }));
    case 'extended-nexthop':
      return typed.nextHops.map(({ family, nextHopAfi }) => ({
        code,
        name,
        value: `${familyName(family)} ${afiName(nextHopAfi)}`,
      }));
    default: {
      const value = toHex(capability.value);
      return [{ code, name, ...(value === '' ? {} : { value }) }];
    }
  }
}
