// OPENs whose optional parameters are malformed or unusual (RFC 4271 §6.2, RFC 5492, RFC 9072), and capabilities of a wrong length.
import { open } from './build.ts';

export interface OpenRow {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Number of capabilities, or code/subcode and data. */
  readonly want: string;
}

const AS4 = '41040000fc00';

export const OPENS: readonly OpenRow[] = [
  { name: 'H06 RFC 4271 §6.2 version 3', bytes: open('00', '03fc00005ac000024d'), want: '2/1 0004' },
  { name: 'H06 RFC 4271 §6.2 version 5', bytes: open('00', '05fc00005ac000024d'), want: '2/1 0004' },
  { name: 'H07 RFC 4271 §6.2 parameters beyond the message', bytes: open(`ff0206${AS4}`), want: '2/0 ' },
  { name: 'H07 RFC 4271 §6.2 octets after the parameters', bytes: open('0000'), want: '2/0 ' },
  { name: 'H07 RFC 4271 §6.2 one stray octet', bytes: open('0102'), want: '2/0 ' },
  { name: 'H07 RFC 4271 §6.2 parameter length beyond the field', bytes: open('0202ff'), want: '2/0 ' },
  { name: 'H07 RFC 5492 §4 capability length beyond the parameter', bytes: open('040202 4104'), want: '2/0 ' },
  { name: 'H07 RFC 5492 §4 capability of one octet', bytes: open('030201 41'), want: '2/0 ' },
  { name: 'H07 RFC 4271 §6.2 authentication parameter', bytes: open('03010100'), want: '2/4 ' },
  { name: 'H07 RFC 4271 §6.2 unknown parameter', bytes: open('020900'), want: '2/4 ' },
  { name: 'H07 parameters of exactly 255 octets', bytes: open(`ff02fdc8fb${'00'.repeat(251)}`), want: '1' },
  { name: 'H07 RFC 9072 §2 extended form', bytes: open(`ffff000902 0006${AS4}`), want: '1' },
  { name: 'H07 RFC 9072 §3 extended form with a short length that is not 255', bytes: open(`01ff000902 0006${AS4}`), want: '1' },
  { name: 'H07 RFC 9072 §2 extended form, no parameters', bytes: open('ffff0000'), want: '0' },
  { name: 'H07 RFC 9072 §2 extended form cut in its length', bytes: open('ffff00'), want: '2/0 ' },
  { name: 'H07 RFC 9072 §2 extended length beyond the message', bytes: open(`ffff00ff02 0006${AS4}`), want: '2/0 ' },
  { name: 'H07 RFC 9072 §2 extended form, parameter cut in its head', bytes: open('ffff00020200'), want: '2/0 ' },
  { name: 'H07 RFC 9072 §3 parameter 255 further on is an unknown one', bytes: open(`0a0206${AS4}ff00`), want: '2/4 ' },
  { name: 'H09 RFC 5492 60 capabilities in one parameter', bytes: open(`7a0278${'c800'.repeat(60)}`), want: '60' },
  { name: 'H09 RFC 5492 several parameters', bytes: open(`0c0204020046000204c80201ff`), want: '3' },
  { name: 'RFC 5492 no parameters', bytes: open('00'), want: '0' },
];

/** Code and value in hex: each is ignored (hostile inputs H08). */
export const WRONG_LENGTHS: readonly (readonly [number, string])[] = [
  [1, '000100'],
  [1, '0001000100'],
  [5, '0001000100'],
  [9, ''],
  [9, '0304'],
  [64, '00'],
  [64, '0078000101'],
  [65, ''],
  [65, '0001'],
  [65, '0000fc0000'],
  [69, '000101'],
  [71, '00010100'],
  [73, ''],
  [73, '0561'],
  [73, '0161ff'],
  [75, ''],
  [75, '05'],
];
