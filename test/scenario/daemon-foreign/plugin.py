"""A plugin in another language, from the protocol's text alone: lines over TLS, five stages, events, commands both ways.

Nothing but the standard library. One thread reads lines and hands them out; callbacks run in a thread of their own, so that a command
may itself ask the engine for something.
"""
import json
import os
import queue
import socket
import ssl
import sys
import threading

NAME = os.environ["ZE_PLUGIN_NAME"]
WORDS = (b"top ", b"row ", b"bad ", b"end ", b"nay ")


class Wire:
    def __init__(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(cadata=os.environ["ZE_PLUGIN_CA_PEM"])
        host = os.environ["ZE_PLUGIN_HUB_HOST"]
        raw = socket.create_connection((host, int(os.environ["ZE_PLUGIN_HUB_PORT"])), 10)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The certificate must be the engine's, for the host that was dialled.
        self.socket = context.wrap_socket(raw, server_hostname=host)
        self.socket.settimeout(None)
        self.buffer = b""
        self.lock = threading.Lock()
        self.ids = 0
        self.waiting = {}
        self.requests = queue.Queue()

    def write(self, line):
        with self.lock:
            self.socket.sendall(line + b"\n")

    def more(self):
        chunk = self.socket.recv(65536)
        if not chunk:
            raise EOFError
        self.buffer += chunk

    def take(self, count):
        while len(self.buffer) < count:
            self.more()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def until(self, mark):
        while mark not in self.buffer:
            self.more()
        taken, _, self.buffer = self.buffer.partition(mark)
        return taken

    def field(self):
        """The next counted text of an answer line, and whether the line goes on behind it."""
        text = self.take(int(self.until(b":")))
        return text, self.take(1) == b" "

    def number(self):
        digits = b""
        while True:
            byte = self.take(1)
            if not byte.isdigit():
                return int(digits)
            digits += byte

    def line(self):
        """One line as (id, word, fields). Answer lines are framed by their counts, all others by the line feed."""
        id = self.until(b" ")
        while len(self.buffer) < 4 and b"\n" not in self.buffer:
            self.more()
        word = self.buffer[:4]
        if word not in WORDS:
            rest = self.until(b"\n")
            verb, _, payload = rest.partition(b" ")
            return id[1:], verb.decode(), payload
        self.take(4)
        word = word.strip().decode()
        if word == "top":
            kind = self.until(b" ").decode()
            envelope, _ = self.field()
            columns, _ = self.field()
            return id[1:], word, (kind, envelope, columns)
        if word in ("row", "bad"):
            return id[1:], word, self.field()[0]
        if word == "end":
            produced, rejected = self.number(), self.number()
            return id[1:], word, (produced, rejected, self.field()[0])
        code, _ = self.field()
        return id[1:], word, (code, self.field()[0])

    def read(self):
        try:
            while True:
                id, verb, payload = self.line()
                if verb in ("ok", "error") or verb.encode() + b" " in WORDS:
                    self.waiting[id].put((verb, payload))
                else:
                    self.requests.put((id, verb, payload))
        except (EOFError, OSError):
            os._exit(0)

    def ask(self, method, params):
        answers = queue.Queue()
        with self.lock:
            self.ids += 1
            id = str(self.ids).encode()
            self.waiting[id] = answers
            self.socket.sendall(b"#" + id + b" " + method.encode() + b" " + json.dumps(params).encode() + b"\n")
        return id, answers

    def call(self, method, params):
        id, answers = self.ask(method, params)
        verb, payload = answers.get(timeout=30)
        del self.waiting[id]
        if verb != "ok":
            raise RuntimeError(payload.decode())
        return json.loads(payload) if payload else None

    def dispatch(self, command):
        """The records of an answer, and how it ended: (kind, rows, produced, rejected, message)."""
        id, answers = self.ask("ze-plugin-engine:dispatch-command", {"command": command})
        kind, rows = "", []
        while True:
            verb, payload = answers.get(timeout=30)
            if verb == "top":
                kind = payload[0]
            elif verb == "row":
                rows.append(json.loads(payload.decode("utf-8")))
            elif verb == "end":
                del self.waiting[id]
                return kind, rows, payload[0], payload[1], payload[2].decode()
            else:
                del self.waiting[id]
                return verb, rows, 0, 0, payload[1].decode() if verb == "nay" else payload.decode()


def counted(text):
    data = text.encode("utf-8")
    return str(len(data)).encode() + b":" + data


wire = Wire()
wire.write(b"#0 auth " + json.dumps({"token": os.environ["ZE_PLUGIN_HUB_TOKEN"], "name": NAME}).encode())
if wire.line() != (b"0", "ok", b""):
    sys.exit("not admitted")
threading.Thread(target=wire.read, daemon=True).start()

seen = {"batches": 0, "events": 0, "updates": 0, "prefixes": []}


def events(params):
    seen["batches"] += 1
    for text in params["events"]:
        event = json.loads(text)
        seen["events"] += 1
        if event["bgp"]["message"]["type"] != "update":
            continue
        seen["updates"] += 1
        for word in ("198.51.100.0/24", "203.0.113.0/24"):
            if word in text and word not in seen["prefixes"]:
                seen["prefixes"].append(word)


def execute(id, params):
    command, args = params["command"], params.get("args") or []
    if command.endswith("status"):
        document(id, {"language": "python", **seen})
    elif command.endswith("rows"):
        count = int(args[0])
        wire.write(b"#" + id + b" top map " + counted("rows") + b" 0:")
        for i in range(count):
            record = {"number": i, "text": f"żółw 東京 🐍 {i}"}
            wire.write(b"#" + id + b" row " + counted(json.dumps(record, ensure_ascii=False)))
        wire.write(b"#" + id + b" end " + str(count).encode() + b" 0 0:")
    elif command.endswith("ask"):
        kind, rows, produced, rejected, message = wire.dispatch(" ".join(args))
        texts = [row.get("text") for row in rows if isinstance(row, dict)]
        document(id, {
            "kind": kind, "lines": len(rows), "produced": produced, "rejected": rejected, "message": message,
            "first": rows[:1], "texts": texts[:1] + texts[-1:], "distinct": len(set(map(str, rows))),
        })
    else:
        wire.write(b"#" + id + b" top doc 0: 0:")
        wire.write(b"#" + id + b" end 0 0 " + counted("no such command"))


def document(id, value):
    wire.write(b"#" + id + b" top doc 0: 0:")
    wire.write(b"#" + id + b" row " + counted(json.dumps(value, ensure_ascii=False)))
    wire.write(b"#" + id + b" end 1 0 0:")


def serve(wanted=None):
    """Answers callbacks; returns after the first one called `wanted`."""
    while True:
        id, method, payload = wire.requests.get()
        name = method.removeprefix("ze-plugin-callback:")
        params = json.loads(payload) if payload else {}
        if name == "execute-command":
            threading.Thread(target=execute, args=(id, params), daemon=True).start()
            continue
        if name == "deliver-batch":
            events(params)
        elif name == "deliver-event":
            events({"events": [params["event"]]})
        wire.write(b"#" + id + b" ok")
        if name == "bye":
            sys.stderr.write("level=info msg=bye\n")
            sys.exit(0)
        if name == wanted:
            return params


wire.call("ze-plugin-engine:declare-registration", {
    "commands": [
        {"name": f"{NAME} status", "short-help": "What the plugin has seen"},
        {"name": f"{NAME} rows", "short-help": "Many records", "args": ["count"], "shape": "map"},
        {"name": f"{NAME} ask", "short-help": "Has the engine run a command", "args": ["command"]},
    ],
    "wants-config": ["bgp"],
})
configured = serve("configure")
roots = [section["root"] for section in configured["sections"]]
router = json.loads(configured["sections"][0]["data"])
wire.call("ze-plugin-engine:declare-capabilities", {"capabilities": [{"code": 77, "encoding": "hex", "payload": "0102"}]})
registry = serve("share-registry")
wire.call("ze-plugin-engine:ready", {"subscribe": {"events": ["update", "state"], "peers": ["*"], "format": "parsed"}})
known = json.dumps(router).count("10.0.0.1")
sys.stderr.write(f"level=info msg=ready roots={','.join(roots)} router={known} commands={len(registry['commands'])}\n")
serve()
