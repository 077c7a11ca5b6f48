#!/usr/bin/env python3
"""watch-updates in Python: the same external plugin as examples/watch-updates-ts, with the standard library alone.

    plugin { external pywatch { run "python3 ./examples/watch-updates-py/plugin.py" } }

It shows the whole protocol from the plugin's side: TLS with the engine's own root, the auth line, five stages, requests
both ways over one connection, and record answers whose texts are counted in BYTES.
"""
import json
import os
import queue
import re
import select
import socket
import ssl
import sys
import threading

NAME = "pywatch"

DECLARATION = {
    "commands": [
        {"name": "pywatch status", "short-help": "What was seen so far", "shape": "doc"},
        {"name": "pywatch rows", "short-help": "Answer with N rows", "args": ["count"], "shape": "map", "columns": ["n", "text"]},
        {"name": "pywatch announce", "short-help": "Announce a prefix to every peer", "args": ["prefix"], "shape": "doc"},
        {"name": "pywatch withdraw", "short-help": "Withdraw a prefix from every peer", "args": ["prefix"], "shape": "doc"},
    ],
    "failure-policy": "restart",
}


# --- the link -------------------------------------------------------------------------------------------------------


class RpcError(Exception):
    """The engine answered `error`."""


def variable(name, default=None, remove=False):
    """A variable of the engine's in any spelling (ZE_PLUGIN_HUB_PORT, ze.plugin.hub.port), taken out when it is secret."""
    wanted = name.lower()
    found = [key for key in os.environ if key.lower().replace(".", "_") == wanted]
    value = os.environ.get(name, os.environ[found[0]] if found else default)
    if remove:
        for key in found:
            del os.environ[key]
    return value


def connect():
    """TLS 1.3, trusting only the root the engine handed over, and the auth line. Returns the socket."""
    token = variable("ZE_PLUGIN_HUB_TOKEN", remove=True)
    pem = variable("ZE_PLUGIN_CA_PEM")
    host = variable("ZE_PLUGIN_HUB_HOST", "127.0.0.1")
    port = int(variable("ZE_PLUGIN_HUB_PORT", "12700"))
    if not token or not pem:
        raise SystemExit("ZE_PLUGIN_HUB_TOKEN and ZE_PLUGIN_CA_PEM are not set: this program is started by the engine")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks the certificate and the host's name
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cadata=pem)
    raw = socket.create_connection((host, port), timeout=10)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link = context.wrap_socket(raw, server_hostname=host)
    claim = {"token": token, "name": variable("ZE_PLUGIN_NAME", NAME)}
    link.sendall(b"#0 auth " + encode(claim) + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):  # one byte at a time: what follows belongs to the protocol
        byte = link.recv(1)
        if not byte or len(answer) > 4096:
            raise SystemExit("the hub closed the connection")
        answer += byte
    if answer != b"#0 ok\n":
        raise SystemExit("the hub refused: " + answer.decode("utf-8", "replace").strip())
    link.setblocking(False)
    return link


def encode(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def counted(data):
    """A TEXT of the protocol: the number of bytes, a colon, the bytes."""
    return b"%d:%s" % (len(data), data)


class Link:
    """One connection, both directions: our calls by id, the engine's requests to `serve`."""

    def __init__(self, stream):
        self.stream = stream
        self.writing = threading.Lock()  # whole lines only
        self.tls = threading.Lock()  # a TLS connection is not for two threads at once
        self.calling = threading.Lock()
        self.calls = {}  # id -> queue that gets (kind, payload)
        self.last = 0
        self.requests = queue.Queue()
        self.ended = threading.Event()
        threading.Thread(target=self.read, daemon=True).start()

    def write(self, data):
        with self.writing:
            view = memoryview(data)
            while view:
                try:
                    with self.tls:
                        view = view[self.stream.send(view):]
                except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                    select.select([], [self.stream], [], 1)

    def receive(self):
        """The next bytes, b"" at the end."""
        while True:
            try:
                with self.tls:
                    return self.stream.recv(65536)
            except ssl.SSLWantReadError:
                select.select([self.stream], [], [])
            except ssl.SSLWantWriteError:
                select.select([], [self.stream], [], 1)

    def lines(self):
        """The engine sends us requests, ok and error lines: each ends at its LF."""
        rest = []
        while True:
            data = self.receive()
            if not data:
                return
            parts = data.split(b"\n")
            if len(parts) > 1:
                yield b"".join(rest) + parts[0]
                yield from parts[1:-1]
                rest = []
            rest.append(parts[-1])

    def call(self, method, params=None):
        """Sends a request and waits for its `ok` or `error`."""
        answer = queue.Queue(1)
        with self.calling:
            self.last += 1
            number = b"%d" % self.last
            self.calls[number] = answer
        body = b"" if params is None else b" " + encode(params)
        self.write(b"#" + number + b" " + method.encode() + body + b"\n")
        kind, payload = answer.get()
        if kind == b"ok":
            return json.loads(payload) if payload else None
        try:
            raise RpcError(json.loads(payload)["message"])
        except (ValueError, KeyError, TypeError):
            raise RpcError(payload.decode("utf-8", "replace") or "(no message)") from None

    def read(self):
        """Replies go to the call that waits, requests to the queue."""
        try:
            for line in self.lines():
                head, _, payload = line.partition(b" ")
                verb, _, payload = payload.partition(b" ")
                number = head[1:]
                if not head.startswith(b"#") or not number.isdigit():
                    continue
                if verb in (b"ok", b"error"):
                    waiting = self.calls.pop(number, None)
                    if waiting is not None:
                        waiting.put((verb, payload))
                else:
                    self.requests.put((number, verb.decode("utf-8", "replace"), payload))
        except (OSError, ValueError):
            pass
        self.ended.set()
        for waiting in list(self.calls.values()):
            waiting.put((b"error", b"connection closed"))
        self.requests.put(None)

    def ok(self, number, value=None):
        self.write(b"#" + number + b" ok" + (b"" if value is None else b" " + encode(value)) + b"\n")

    def error(self, number, message):
        self.write(b"#" + number + b" error " + encode({"code": "error", "message": str(message)}) + b"\n")

    # A record answer: head, rows, end. The verdict is derived from the end's counts and message.

    def document(self, number, value):
        row = encode(value)
        head = b"#" + number + b" top doc 0: 0:\n"
        self.write(head + b"#" + number + b" row " + counted(row) + b"\n#" + number + b" end 1 0 0:\n")

    def rows(self, number, values):
        """Up to 256 rows are folded into one document, more are streamed in writes of some 64 KiB."""
        values = iter(values)
        held = [row for _, row in zip(range(257), values)]
        if len(held) <= 256:
            body = b"[" + b",".join(encode(row) for row in held) + b"]"
            head = b"#" + number + b" top doc 0: 0:\n"
            self.write(head + b"#" + number + b" row " + counted(body) + b"\n#" + number + b" end %d 0 0:\n" % len(held))
            return
        out = [b"#" + number + b" top map 0: 0:\n"]
        size = count = 0
        for row in self.chain(held, values):
            line = b"#" + number + b" row " + counted(encode(row)) + b"\n"
            out.append(line)
            size += len(line)
            count += 1
            if size > 65536:
                self.write(b"".join(out))
                out, size = [], 0
        out.append(b"#" + number + b" end %d 0 0:\n" % count)
        self.write(b"".join(out))

    @staticmethod
    def chain(first, rest):
        yield from first
        yield from rest


# --- the plugin -----------------------------------------------------------------------------------------------------


class Watch:
    def __init__(self, link):
        self.link = link
        self.counts = {"events": 0, "updates": 0, "announced": 0, "withdrawn": 0, "up": 0, "down": 0}
        self.peers = set()

    def start(self):
        """The five stages: ours, the engine's, ours, the engine's, ours."""
        self.link.call("ze-plugin-engine:declare-registration", DECLARATION)
        self.expect("ze-plugin-callback:configure")
        self.link.call("ze-plugin-engine:declare-capabilities", {"capabilities": []})
        self.expect("ze-plugin-callback:share-registry")
        self.link.call("ze-plugin-engine:ready", {"subscribe": {"events": ["update", "state"], "peers": ["*"]}})

    def expect(self, method):
        request = self.link.requests.get()
        if request is None:
            raise SystemExit("the engine closed the connection during startup")
        number, name, _ = request
        if name != method:
            self.link.error(number, "expected %s, got %s" % (method, name))
            raise SystemExit("expected %s, got %s" % (method, name))
        self.link.ok(number)

    def serve(self):
        """Events in order; commands beside them, so that one may wait for the engine."""
        while True:
            request = self.link.requests.get()
            if request is None:
                return  # EOF is a clean end
            number, method, payload = request
            try:
                params = json.loads(payload) if payload else {}
            except ValueError as fault:
                self.link.error(number, "invalid %s params: %s" % (method.partition(":")[2], fault))
                continue
            if method == "ze-plugin-callback:execute-command":
                threading.Thread(target=self.execute, args=(number, params), daemon=True).start()
            elif method in ("ze-plugin-callback:deliver-batch", "ze-plugin-callback:deliver-event"):
                try:
                    for text in params.get("events", [params["event"]] if "event" in params else []):
                        self.event(json.loads(text))
                    self.link.ok(number)
                except (ValueError, AttributeError, TypeError) as fault:
                    self.link.error(number, fault)
            elif method in ("ze-plugin-callback:config-verify", "ze-plugin-callback:config-apply"):
                self.link.ok(number, {"status": "ok"})
            elif method.removeprefix("ze-plugin-callback:") in ("post-startup", "config-rollback", "config-committed"):
                self.link.ok(number)
            elif method == "ze-plugin-callback:bye":
                self.link.ok(number)
                return
            else:
                self.link.error(number, "unknown method: " + method)

    def event(self, event):
        bgp = event.get("bgp", {})
        kind = bgp.get("message", {}).get("type")
        self.counts["events"] += 1
        if kind == "state":
            peer = bgp.get("peer", {})
            name = peer.get("name") or peer.get("remote", {}).get("address", "")
            if bgp.get("state") == "up":
                self.counts["up"] += 1
                self.peers.add(name)
            else:
                self.counts["down"] += 1
                self.peers.discard(name)
        elif kind == "update":
            self.counts["updates"] += 1
            for operations in bgp.get("update", {}).get("nlri", {}).values():
                for operation in operations:
                    key = "announced" if operation["action"] == "add" else "withdrawn"
                    self.counts[key] += len(operation["nlri"])

    def execute(self, number, params):
        command, args = params.get("command", ""), params.get("args") or []
        try:
            if command == "pywatch status":
                self.link.document(number, {**self.counts, "established": sorted(self.peers)})
            elif command == "pywatch rows":
                count = int(self.argument(command, args, "count", r"[0-9]{1,9}"))
                self.link.rows(number, ({"n": n, "text": "row %d: grüße, 世界 🛰" % n} for n in range(1, count + 1)))
            elif command in ("pywatch announce", "pywatch withdraw"):
                prefix = self.argument(command, args, "prefix", r"[0-9a-fA-F.:]+/[0-9]{1,3}")
                family = "ipv6/unicast" if ":" in prefix else "ipv4/unicast"
                change = "next-hop self nlri %s add" if command == "pywatch announce" else "nlri %s del"
                text = "update text " + change % family + " " + prefix
                self.link.document(number, self.link.call("ze-plugin-engine:update-route", {"peer-selector": "*", "command": text}))
            else:
                self.link.error(number, "no such command: " + command)
        except (RpcError, ValueError) as fault:
            self.link.error(number, fault)
        except OSError:
            pass  # the link is gone, nobody waits for this answer

    @staticmethod
    def argument(command, args, name, form):
        if len(args) != 1 or not re.fullmatch(form, args[0]):
            raise ValueError("%s needs one argument: %s" % (command, name))
        return args[0]


def main():
    if variable("ZE_PLUGIN_MODE") == "declare":  # asked, not started: one line, nothing else
        line = b"#1 ze-plugin-engine:declare-registration " + encode(DECLARATION) + b"\n"
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return
    watch = Watch(Link(connect()))
    try:
        watch.start()
    except RpcError as fault:
        raise SystemExit("startup failed: %s" % fault) from None
    try:
        watch.serve()
    except OSError:
        pass  # the engine is gone in the middle of an answer


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
