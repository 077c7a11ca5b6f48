/** Names of NOTIFICATION codes (RFC 4271 §4.5, 4486, 6608, 7313, 8538, 9384 and the IANA registry) as events show them. */

const CODES: readonly string[] = [
  '',
  'Message Header Error',
  'OPEN Message Error',
  'UPDATE Message Error',
  'Hold Timer Expired',
  'Finite State Machine Error',
  'Cease',
  'ROUTE-REFRESH Message Error',
  'Send Hold Timer Expired',
];

const SUBCODES: readonly (readonly string[])[] = [
  [],
  ['Unspecific', 'Connection Not Synchronized', 'Bad Message Length', 'Bad Message Type'],
  [
    'Unspecific',
    'Unsupported Version Number',
    'Bad Peer AS',
    'Bad BGP Identifier',
    'Unsupported Optional Parameter',
    '',
    'Unacceptable Hold Time',
    'Unsupported Capability',
    '',
    '',
    '',
    'Role Mismatch',
  ],
  [
    'Unspecific',
    'Malformed Attribute List',
    'Unrecognized Well-known Attribute',
    'Missing Well-known Attribute',
    'Attribute Flags Error',
    'Attribute Length Error',
    'Invalid ORIGIN Attribute',
    '',
    'Invalid NEXT_HOP Attribute',
    'Optional Attribute Error',
    'Invalid Network Field',
    'Malformed AS_PATH',
  ],
  ['Unspecific'],
  [
    'Unspecific',
    'Receive Unexpected Message in OpenSent State',
    'Receive Unexpected Message in OpenConfirm State',
    'Receive Unexpected Message in Established State',
  ],
  [
    'Unspecific',
    'Maximum Number of Prefixes Reached',
    'Administrative Shutdown',
    'Peer De-configured',
    'Administrative Reset',
    'Connection Rejected',
    'Other Configuration Change',
    'Connection Collision Resolution',
    'Out of Resources',
    'Hard Reset',
    'BFD Down',
  ],
  ['Unspecific', 'Invalid Message Length'],
  ['Unspecific'],
];

/** '' when the code is not known. */
export function notificationName(code: number): string {
  return CODES[code] ?? '';
}

/** `Unspecific` for 0, `Subcode(N)` for one that has no name; '' when the code itself is not known. */
export function subcodeName(code: number, subcode: number): string {
  const names = SUBCODES[code];
  if (names === undefined || code === 0) return '';
  const name = names[subcode];
  return name === undefined || name === '' ? `Subcode(${subcode})` : name;
}
