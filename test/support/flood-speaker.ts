// A neighbour that announces without end: opens with the bytes it is given, then announces the same prefixes again and again, each time with
// another MED, as fast as the daemon takes them. A process of its own, so that nobody else waits for it.
//   node flood-speaker.mjs PORT LOCAL OPEN-HEX ATTRIBUTES-HEX PREFIXES MESSAGES
// MESSAGES a second after the first round, 0 for as many as the daemon takes.
// Says on stdout, once a second, `{"announced":N,"gap":MS}`: prefixes announced so far, the largest gap between KEEPALIVEs that came.
import { connect } from 'node:net';

const [port = '', local = '', openHex = '', attributesHex = '', prefixes = '100000', pace = '0'] = process.argv.slice(2);
const A_MESSAGE = 200;
const attributes = Buffer.from(attributesHex, 'hex');
const keepalive = Buffer.from(`${'ff'.repeat(16)}001304`, 'hex');
const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: local });
socket.setNoDelay(true);
socket.on('error', (error) => {
  process.stdout.write(`${JSON.stringify({ error: error.message })}\n`);
  process.exit(1);
});
socket.on('close', () => {
  process.stdout.write(`${JSON.stringify({ error: 'the session has ended' })}\n`);
  process.exit(1);
});
process.on('SIGTERM', () => process.exit(0));

let announced = 0;
let gap = 0;
let heardAt = 0;
let rest = Buffer.alloc(0);
let up = false;
socket.once('connect', () => socket.write(Buffer.from(openHex, 'hex')));
socket.on('data', (chunk) => {
  rest = Buffer.concat([rest, chunk]);
  while (rest.length >= 19 && rest.length >= rest.readUInt16BE(16)) {
    const type = rest[18];
    rest = rest.subarray(rest.readUInt16BE(16));
    if (type === 3) process.stdout.write(`${JSON.stringify({ error: 'NOTIFICATION' })}\n`);
    if (type === 1) socket.write(keepalive);
    if (type !== 4) continue;
    const now = performance.now();
    if (up) gap = Math.max(gap, now - heardAt);
    heardAt = now;
    if (!up) begin();
    up = true;
  }
});

function begin(): void {
  setInterval(() => socket.write(keepalive), 2000);
  setInterval(() => process.stdout.write(`${JSON.stringify({ announced, gap: Math.round(gap) })}\n`), 1000);
  announce();
}

/** MED is the attribute that changes; prefixes are /24 from 10.0.0.0 on. */
function announce(): void {
  const count = Number(prefixes);
  for (let sent = 0; ; sent++) {
    if (announced > count && sent > 0 && sent >= Number(pace) / 10 && pace !== '0') {
      setTimeout(announce, 100);
      return;
    }
    const round = Math.floor(announced / count) + 1;
    const message = Buffer.alloc(23 + attributes.length + 7 + A_MESSAGE * 4);
    message.fill(0xff, 0, 16);
    message.writeUInt16BE(message.length, 16);
    message[18] = 2;
    message.writeUInt16BE(attributes.length + 7, 21);
    attributes.copy(message, 23);
    let at = 23 + attributes.length;
    message.set([0x80, 4, 4], at);
    message.writeUInt32BE(round, at + 3);
    at += 7;
    for (let i = 0; i < A_MESSAGE; i++, at += 4) {
      const prefix = (0x0a0000 + ((announced + i) % count)) >>> 0;
      message.set([24, prefix >>> 16, (prefix >>> 8) & 0xff, prefix & 0xff], at);
    }
    announced += A_MESSAGE;
    if (!socket.write(message)) break;
  }
  socket.once('drain', () => setImmediate(announce));
}
