// A plugin of route filters in raw lines, from the protocol's text alone: no SDK. Runs as a process of its own (`writeScript` puts it
// down as JavaScript). Its filters `rules` and `lenient` (which accepts when it fails) do what the third octet of 198.51.N.0/24 says,
// see `ANSWERS`; it refuses OPENs of AS 64999, and puts a capability of its own into ours.
import { connect } from 'node:tls';

const { ZE_PLUGIN_HUB_HOST: host, ZE_PLUGIN_HUB_PORT: port, ZE_PLUGIN_CA_PEM: ca } = process.env;
const socket = connect({ host: host ?? '', port: Number(port), ca: ca ?? '', minVersion: 'TLSv1.3' });
socket.on('error', () => process.exit(1));
socket.on('close', () => process.exit(0));
await new Promise<void>((resolve) => socket.once('secureConnect', () => resolve()));

interface FilterCall {
  readonly filter: string;
  readonly direction: string;
  readonly peer: string;
  readonly update: string;
  readonly raw?: string;
}

const modify = (update: string): unknown => ({ action: 'modify', update });
/** By the third octet of the first prefix; undefined: no answer at all. */
const ANSWERS: Readonly<Record<number, (call: FilterCall) => unknown>> = {
  2: () => ({ action: 'reject' }),
  3: () => modify('local-preference 300 community-add 64500:7'),
  4: () => modify('as-path-prepend 2'),
  5: () => modify('nlri ipv4/unicast add 198.51.5.0/24'),
  // 198.51.7.0/24 is 18c63307 on the wire.
  7: ({ raw = '' }) => ({
    action: 'modify',
    raw: Buffer.from(Buffer.from(raw, 'base64').toString('hex').replace('18c63307', '18c63346'), 'hex').toString('base64'),
  }),
  8: () => ({ action: 'reject', teardown: true, 'notify-code': 6, 'notify-subcode': 4 }),
  9: () => ({ action: 'perhaps' }),
  10: () => undefined,
  11: () => process.kill(process.pid, 'SIGKILL'),
};

const seen: FilterCall[] = [];
let lastId = 0;
const calls = new Map<string, () => void>();
const reply = (id: string, value?: unknown): void =>
  void socket.write(value === undefined ? `#${id} ok\n` : `#${id} ok ${JSON.stringify(value)}\n`);
const served: Record<string, () => void> = {};
const serving = (method: string): Promise<void> => new Promise((resolve) => (served[method] = resolve));

function callback(id: string, method: string, params: string): void {
  if (method === 'filter-update') {
    const call = JSON.parse(params) as FilterCall;
    seen.push(call);
    const octet = Number(/ 198\.51\.(\d+)\./.exec(call.update)?.[1] ?? 1);
    const answer = (ANSWERS[octet] ?? (() => ({ action: 'accept' })))(call);
    if (answer !== undefined) reply(id, answer);
  } else if (method === 'validate-open') {
    const { remote } = JSON.parse(params) as { readonly remote: { readonly asn: number } };
    const refused = { accept: false, 'notify-code': 2, 'notify-subcode': 2, reason: 'AS 64999 is not wanted' };
    reply(id, remote.asn === 64999 ? refused : { accept: true });
  } else if (method === 'decode-capability') {
    const { code, hex } = JSON.parse(params) as { readonly code: number; readonly hex: string };
    reply(id, { json: { code, octets: hex.length / 2 } });
  } else if (method === 'execute-command') {
    const text = JSON.stringify({ calls: seen });
    socket.write(`#${id} top doc 0: 0:\n#${id} row ${Buffer.byteLength(text)}:${text}\n#${id} end 1 0 0:\n`);
  } else {
    reply(id);
    served[method]?.();
  }
}

let rest = Buffer.alloc(0);
socket.on('data', (chunk: Buffer) => {
  rest = Buffer.concat([rest, chunk]);
  for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
    const line = rest.subarray(0, end).toString('utf8');
    rest = rest.subarray(end + 1);
    const [, id = '', verb = '', , params = ''] = /^#(\d+) (\S+)( (.*))?$/s.exec(line) ?? [];
    if (verb === 'ok' || verb === 'error') calls.get(id)?.();
    else callback(id, verb.replace('ze-plugin-callback:', ''), params);
  }
});
const ask = (method: string, params: unknown): Promise<void> => {
  const answered = new Promise<void>((resolve) => calls.set(String(++lastId), resolve));
  socket.write(`#${lastId} ze-plugin-engine:${method} ${JSON.stringify(params)}\n`);
  return answered;
};

const authenticated = new Promise<void>((resolve) => calls.set('0', resolve));
socket.write(`#0 auth ${JSON.stringify({ token: process.env['ZE_PLUGIN_HUB_TOKEN'], name: process.env['ZE_PLUGIN_NAME'] })}\n`);
await authenticated;
const configured = serving('configure');
const shared = serving('share-registry');
await ask('declare-registration', {
  'wants-validate-open': true,
  'failure-policy': 'ignore',
  commands: [{ name: `${process.env['ZE_PLUGIN_NAME'] ?? ''} seen` }],
  filters: [
    { name: 'rules', direction: 'both', raw: true },
    { name: 'lenient', direction: 'both', 'on-error': 'accept' },
    { name: 'inbound', direction: 'import', attributes: ['med'] },
  ],
});
await configured;
await ask('declare-capabilities', { capabilities: [{ code: 250, encoding: 'hex', payload: 'abcd' }] });
await shared;
await ask('ready', {});
