// An external plugin in raw lines, from the protocol's text alone: no SDK. Runs as a process of its own (`writeScript` puts it down as
// JavaScript); what it does wrong, and where, its arguments say as key=value words:
//   policy=restart|ignore|fatal   the failure policy it declares
//   at=N                          the stage of the misdeed: 0 before the auth line, 1 to 5, 6 running, 7 at the first batch of events
//   how=…                         the misdeed, see `misdeeds`; without one it is a good plugin
// A good one counts events (`NAME count`) and streams records (`NAME rows N`).
import { spawn } from 'node:child_process';
import { connect } from 'node:tls';

const options: Record<string, string | undefined> = Object.fromEntries(
  process.argv.slice(2).map((word) => word.split('=')) as [string, string][],
);
const { ZE_PLUGIN_HUB_HOST: host, ZE_PLUGIN_HUB_PORT: port, ZE_PLUGIN_CA_PEM: ca } = process.env;
const name = process.env['ZE_PLUGIN_NAME'] ?? 'raw-plugin';
const token = options['how'] === 'wrong-token' ? 'x'.repeat(64) : process.env['ZE_PLUGIN_HUB_TOKEN'];
/** With a timer: a socket that is not read and has nothing to write keeps no process alive. */
const forever = (): Promise<void> => new Promise(() => setInterval(() => undefined, 60_000));

const socket = connect({ host: host ?? '', port: Number(port), ca: ca ?? '', minVersion: 'TLSv1.3' });
socket.on('error', () => process.exit(1));
socket.on('close', () => process.exit(0));
await new Promise<void>((resolve) => socket.once('secureConnect', () => resolve()));

const misdeeds: Readonly<Record<string, () => Promise<void> | undefined>> = {
  kill: () => (process.kill(process.pid, 'SIGKILL'), forever()),
  exit: () => process.exit(0),
  silent: forever,
  rubbish: () => (socket.write(`${'what is this\n'.repeat(200)}\0\x1b[31m\xff\n`, 'latin1'), forever()),
  'bad-lines': () => (socket.write('#x\n'.repeat(101)), forever()),
  'few-bad-lines': () => void socket.write('#x\n'.repeat(99)),
  'half-line': () => (socket.end('#5 ze-plugin-engine:ready {"a'), forever()),
  'long-line': () => (socket.write(`#9 ze-plugin-engine:x ${'y'.repeat(20 * 1024 * 1024)}\n`), forever()),
  'deep-json': () => (
    socket.write(`#9 ze-plugin-engine:emit-event ${'{"a":['.repeat(100_000)}${']}'.repeat(100_000)}\n`), undefined
  ),
  'wrong-method': () => (socket.write('#1 ze-plugin-engine:ready {}\n'), forever()),
  fork: () => (spawn('sleep', ['3600'], { stdio: 'inherit' }), process.kill(process.pid, 'SIGKILL'), forever()),
  /** Says nothing and never returns to the event loop. */
  spin: () => {
    for (;;);
  },
  /** Never reads its socket again. */
  deaf: () => (socket.pause(), forever()),
};
const at = async (stage: number): Promise<void> => {
  if (Number(options['at']) === stage) await misdeeds[options['how'] ?? '']?.();
};

await at(0);
socket.write(`#0 auth ${JSON.stringify({ token, name })}\n`);

let lastId = 0;
const calls = new Map<string, (line: string) => void>();
let callback: (id: string, method: string, params: string) => Promise<void> | void = () => undefined;
let rest = Buffer.alloc(0);
socket.on('data', (chunk: Buffer) => {
  rest = Buffer.concat([rest, chunk]);
  for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
    const line = rest.subarray(0, end).toString('utf8');
    rest = rest.subarray(end + 1);
    const [, id = '', verb = '', , params = ''] = /^#(\d+) (\S+)( (.*))?$/s.exec(line) ?? [];
    if (verb === 'ok' || verb === 'error') calls.get(id)?.(line);
    else void callback(id, verb.replace('ze-plugin-callback:', ''), params);
  }
});
const answered = (id: number): Promise<string> => new Promise((resolve) => calls.set(String(id), resolve));
const ask = (method: string, params: unknown): Promise<string> => {
  const answer = answered(++lastId);
  socket.write(`#${lastId} ze-plugin-engine:${method} ${JSON.stringify(params)}\n`);
  return answer;
};
/** Answers the first callback of this name by `ok`. */
const serve = (wanted: string, stage: number): Promise<void> =>
  new Promise((resolve) => {
    callback = async (id, method) => {
      if (method !== wanted) return;
      await at(stage);
      socket.write(`#${id} ok\n`);
      resolve();
    };
  });

await answered(0);
await at(1);
const configured = serve('configure', 2);
await ask('declare-registration', {
  commands: [
    { name: `${name} count`, 'short-help': 'Events seen' },
    { name: `${name} rows`, 'short-help': 'Many records', args: ['count'], shape: 'map' },
  ],
  ...(options['policy'] === undefined ? {} : { 'failure-policy': options['policy'] }),
});
await configured;
await at(3);
const shared = serve('share-registry', 4);
await ask('declare-capabilities', { capabilities: [] });
await shared;
await at(5);

let count = 0;
const counted = (text: string): string => `${Buffer.byteLength(text)}:${text}`;
callback = async (id, method, params) => {
  if (method === 'deliver-batch') {
    await at(7);
    count += (JSON.parse(params) as { events: string[] }).events.length;
    socket.write(`#${id} ok\n`);
  } else if (method === 'execute-command') {
    const { command, args = [] } = JSON.parse(params) as { command: string; args?: string[] };
    const wanted = Number(args[0] ?? 0);
    if (command.endsWith('count')) {
      socket.write(`#${id} top doc 0: 0:\n#${id} row ${counted(JSON.stringify({ count }))}\n#${id} end 1 0 0:\n`);
    } else {
      let lines = `#${id} top map ${counted('rows')} 0:\n`;
      for (let i = 0; i < wanted; i++)
        lines += `#${id} row ${counted(JSON.stringify({ number: i, text: `Zürich 東京 🚀 ${i}\n` }))}\n`;
      socket.write(`${lines}#${id} end ${wanted} 0 0:\n`);
    }
  } else socket.write(`#${id} ok\n`);
};
await ask('ready', { subscribe: { events: ['update', 'state'], peers: ['*'], format: 'parsed' } });
await at(6);
