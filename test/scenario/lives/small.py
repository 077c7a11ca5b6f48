"""The smallest good plugin: five stages, events acknowledged, one command. A hundred of them must fit on a small machine."""
import json
import os
import re
import socket
import ssl

E = os.environ
NAME = E["ZE_PLUGIN_NAME"]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.load_verify_locations(cadata=E["ZE_PLUGIN_CA_PEM"])
host = E["ZE_PLUGIN_HUB_HOST"]
wire = context.wrap_socket(socket.create_connection((host, int(E["ZE_PLUGIN_HUB_PORT"]))), server_hostname=host)
lines = wire.makefile("rb")


def say(line):
    wire.sendall(line.encode() + b"\n")


def ask(number, method, params):
    say(f"#{number} ze-plugin-engine:{method} {json.dumps(params)}")


def answered():
    assert re.fullmatch(rb"#\d+ ok\n", lines.readline())


def serve(method):
    number, verb = lines.readline().split()[:2]
    assert verb == b"ze-plugin-callback:" + method, verb
    say(number.decode() + " ok")


say("#0 auth " + json.dumps({"token": E["ZE_PLUGIN_HUB_TOKEN"], "name": NAME}))
answered()
ask(1, "declare-registration", {"commands": [{"name": NAME + " ping"}]})
answered()
serve(b"configure")
ask(2, "declare-capabilities", {"capabilities": []})
answered()
serve(b"share-registry")
ask(3, "ready", {"subscribe": {"namespace": "system", "events": ["clock-synced"]}})
answered()
for line in lines:
    number, verb = line.decode().split()[:2]
    if verb == "ze-plugin-callback:execute-command":
        say(f'{number} top doc 0: 0:\n{number} row 6:"pong"\n{number} end 1 0 0:')
    else:
        say(number + " ok")
