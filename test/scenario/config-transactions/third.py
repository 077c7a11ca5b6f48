"""A plugin from the protocol's text alone that wants `bgp` and misbehaves in config transactions as the description of peer `one` says.

What it is asked goes to third.log, a line each.
"""
import json
import os
import socket
import ssl
import sys
import time


def log(text):
    with open("third.log", "a", encoding="utf-8") as file:
        file.write(text + "\n")


context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.minimum_version = ssl.TLSVersion.TLSv1_3
context.load_verify_locations(cadata=os.environ["ZE_PLUGIN_CA_PEM"])
host = os.environ["ZE_PLUGIN_HUB_HOST"]
wire = context.wrap_socket(socket.create_connection((host, int(os.environ["ZE_PLUGIN_HUB_PORT"])), 10), server_hostname=host)
wire.settimeout(None)
lines = wire.makefile("rb")
last = 0


def send(text):
    wire.sendall(text.encode("utf-8") + b"\n")


def read():
    line = lines.readline()
    if not line:
        sys.exit(0)
    id, _, rest = line.decode("utf-8").rstrip("\n").partition(" ")
    verb, _, payload = rest.partition(" ")
    return id, verb.replace("ze-plugin-callback:", ""), payload


def call(method, params):
    global last
    last += 1
    send(f"#{last} ze-plugin-engine:{method} {json.dumps(params)}")
    id, verb, payload = read()
    if verb != "ok":
        sys.exit(f"{method}: {verb} {payload}")


def serve(wanted):
    id, verb, payload = read()
    if verb != wanted:
        sys.exit(f"expected {wanted}, got {verb}")
    send(f"{id} ok")
    return json.loads(payload)


def description(data):
    return json.loads(data)["bgp"]["peer"]["one"].get("description", "")


send("#0 auth " + json.dumps({"token": os.environ["ZE_PLUGIN_HUB_TOKEN"], "name": os.environ["ZE_PLUGIN_NAME"]}))
if read()[1] != "ok":
    sys.exit("not admitted")
call("declare-registration", {"wants-config": ["bgp"], "apply-budget": 2})
configured = serve("configure")
log("configure " + description(configured["sections"][0]["data"]))
call("declare-capabilities", {"capabilities": []})
serve("share-registry")
call("ready", {})
told = ""
while True:
    id, verb, payload = read()
    params = json.loads(payload) if payload else {}
    answer = "ok"
    if verb.startswith("config-"):
        log(verb)
    if verb == "config-verify":
        told = description(params["sections"][0]["data"])
        if told == "refuse verify":
            answer = 'ok {"status":"error","error":"this peer is not to my taste"}'
    elif verb == "config-apply":
        if told == "refuse apply":
            answer = 'ok {"status":"error","error":"no room left"}'
        elif told == "die":
            os._exit(9)
        elif told == "hang":
            time.sleep(3600)
    send(f"{id} {answer}")
    if verb == "bye":
        sys.exit(0)
