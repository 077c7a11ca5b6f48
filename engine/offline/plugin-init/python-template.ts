/** Files of an external plugin in Python, with the standard library alone. \`@NAME@\` is the plugin's name. */

/** The plugin: the protocol needs no SDK. */
export const PYTHON_PLUGIN = String.raw`#!/usr/bin/env python3
"""@NAME@: counts the updates of each peer. Python 3 and its standard library; the daemon starts it and it connects back over TLS.

One thread, one request at a time. A plugin that calls the daemon while it answers a command needs a thread for that.
"""
import json
import os
import socket
import ssl
import sys

NAME = "@NAME@"
DECLARATION = {
    "commands": [
        {"name": NAME + " peers", "short-help": "Peers and their updates", "shape": "map", "columns": ["peer", "up", "updates"]},
    ],
    "failure-policy": "restart",
}


def encode(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def connect():
    """TLS 1.3, trusting only the root that the daemon handed over; then the auth line."""
    token = os.environ.pop("ZE_PLUGIN_HUB_TOKEN", "")
    pem = os.environ.get("ZE_PLUGIN_CA_PEM", "")
    host = os.environ.get("ZE_PLUGIN_HUB_HOST", "127.0.0.1")
    if not token or not pem:
        raise SystemExit("not started by the daemon: ZE_PLUGIN_HUB_TOKEN and ZE_PLUGIN_CA_PEM are not set")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cadata=pem)
    raw = socket.create_connection((host, int(os.environ["ZE_PLUGIN_HUB_PORT"])), timeout=10)
    link = context.wrap_socket(raw, server_hostname=host)
    link.settimeout(None)
    stream = link.makefile("rwb")
    stream.write(b"#0 auth " + encode({"token": token, "name": os.environ.get("ZE_PLUGIN_NAME", NAME)}) + b"\n")
    stream.flush()
    if stream.readline() != b"#0 ok\n":
        raise SystemExit("the hub refused the token")
    return stream


class Plugin:
    def __init__(self, stream):
        self.stream = stream
        self.calls = 0
        self.peers = {}

    def write(self, number, words, value=None):
        tail = b"" if value is None else b" " + encode(value)
        self.stream.write(b"#%s %s%s\n" % (number, words, tail))
        self.stream.flush()

    def read(self):
        """The next line as (id, word, payload), None at the end."""
        line = self.stream.readline()
        if not line.endswith(b"\n"):
            return None
        number, _, rest = line[1:-1].partition(b" ")
        word, _, payload = rest.partition(b" ")
        return number, word.decode(), payload

    def call(self, name, params):
        """A request of ours during the stages: nothing else can come in between."""
        self.calls += 1
        self.write(b"%d" % self.calls, b"ze-plugin-engine:" + name, params)
        answer = self.read()
        if answer is None or answer[1] != "ok":
            raise SystemExit("%s: %s" % (name.decode(), answer and answer[2].decode()))

    def expect(self, name):
        request = self.read()
        if request is None or request[1] != "ze-plugin-callback:" + name:
            raise SystemExit("expected " + name)
        self.write(request[0], b"ok")

    def run(self):
        self.call(b"declare-registration", DECLARATION)
        self.expect("configure")
        self.call(b"declare-capabilities", {"capabilities": []})
        self.expect("share-registry")
        self.call(b"ready", {"subscribe": {"events": ["update direction received", "state"]}})
        while (request := self.read()) is not None:
            number, word, payload = request
            name = word.partition(":")[2]
            try:
                params = json.loads(payload) if payload else {}
                if name == "execute-command":
                    self.execute(number, params)
                elif name in ("deliver-batch", "deliver-event"):
                    for text in params.get("events", [params["event"]] if "event" in params else []):
                        self.event(json.loads(text).get("bgp", {}))
                    self.write(number, b"ok")
                elif name in ("config-verify", "config-apply"):
                    self.write(number, b"ok", {"status": "ok"})
                elif name in ("post-startup", "config-rollback", "config-committed", "bye"):
                    self.write(number, b"ok")
                    if name == "bye":
                        return
                else:
                    self.write(number, b"error", {"code": "error", "message": "unknown method: " + word})
            except (KeyError, TypeError, ValueError) as fault:
                self.write(number, b"error", {"code": "error", "message": str(fault)})

    def event(self, bgp):
        peer = bgp.get("peer", {})
        seen = self.peers.setdefault(peer.get("name", ""), {"peer": peer.get("name", ""), "up": False, "updates": 0})
        kind = bgp.get("message", {}).get("type")
        if kind == "state":
            seen["up"] = bgp["state"] == "up"
        elif kind == "update":
            seen["updates"] += 1

    def execute(self, number, params):
        """A record answer: head, rows, end. A text is its length in BYTES, a colon, the bytes."""
        if params["command"] != NAME + " peers":
            raise ValueError("no such command: " + params["command"])
        lines = [b"#%s top map 0: 0:\n" % number]
        for row in map(encode, self.peers.values()):
            lines.append(b"#%s row %d:%s\n" % (number, len(row), row))
        lines.append(b"#%s end %d 0 0:\n" % (number, len(self.peers)))
        self.stream.write(b"".join(lines))
        self.stream.flush()


if __name__ == "__main__":
    if os.environ.get("ZE_PLUGIN_MODE") == "declare":  # asked, not started: one line, nothing else
        sys.stdout.buffer.write(b"#1 ze-plugin-engine:declare-registration " + encode(DECLARATION) + b"\n")
    else:
        try:
            Plugin(connect()).run()
        except KeyboardInterrupt:
            pass
`;

/** Its test, from outside: any language is tested so. */
export const PYTHON_TEST = `// The plugin as a process, over TLS, against an engine in memory.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { queryDeclaration, startProcess } from '@PACKAGE@/sdk/testing';

const command = ['python3', join(import.meta.dirname, '../src/plugin.py')];

test('updates are counted by peer', async (t) => {
  const plugin = await startProcess(command, { name: '@NAME@' });
  t.after(() => plugin.close());
  const { engine } = plugin;
  await engine.up('edge');
  await engine.update('edge', { announce: { 'ipv4/unicast': ['192.0.2.0/24'] } });
  await engine.up('other');
  await engine.down('other');
  const { rows } = await engine.execute('@NAME@ peers');
  assert.deepEqual(rows, [
    { peer: 'edge', up: true, updates: 1 },
    { peer: 'other', up: false, updates: 0 },
  ]);
  assert.equal(await plugin.close(), 0, plugin.stderr());
});

test('what it declares can be asked without starting it', async () => {
  const { line, code } = await queryDeclaration(command);
  assert.equal(code, 0);
  assert.match(line, /^#1 ze-plugin-engine:declare-registration \\{"commands":\\[\\{"name":"@NAME@ peers"/);
});
`;
