// The codec's public face; the story of the room is in README.md.
export * from './address.ts';
export * from './attribute/block.ts';
export * as attributeCode from './attribute/code.ts';
export * from './attribute/cursor.ts';
export * from './attribute/table.ts';
export * from './bytes.ts';
export * from './context.ts';
export * from './family.ts';
export * as faultCode from './fault.ts';
export * from './fault-list.ts';
export { DISCARD, OK, type Outcome, outcomeName, reasonText, RESET, WITHDRAW } from './fault.ts';
export * from './message.ts';
export * from './nlri/next-hop.ts';
export * from './nlri/prefix.ts';
export * from './nlri/syntax.ts';
export * from './update.ts';
export * from './utf8.ts';
