// Names of the wire that the tests of this folder share.
export { KEEPALIVE, OPEN, ROUTE_REFRESH, UPDATE, keepalive } from '../../../sdk/wire/message.ts';
export { message } from './lab.ts';
