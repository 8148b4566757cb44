"""An MCP server over its standard streams, as good or as bad as its arguments say."""
import json
import os
import signal
import sys
import time

MODES = set(sys.argv[1:])


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def tool(name, **schema):
    return {
        "name": name,
        "description": "The tool " + name + ".",
        "inputSchema": {"type": "object", "properties": schema},
    }


def tools():
    found = [
        tool("echo", text={"type": "string"}),
        tool("env"),
        tool("pid"),
        tool("sleep", seconds={"type": "number"}),
        tool("fail"),
        tool("die"),
        tool("picture"),
        tool("grow"),
        tool("meet", own={"type": "string"}, other={"type": "string"}),
    ]
    if "sampling" in MODES:
        found += [tool("sample"), tool("capabilities")]
    if GROWN:
        found.append(tool("grown"))
    return found


GROWN = []
CLIENT = {}
# One pixel.
PNG = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
       "AABJRU5ErkJggg==")


def call(name, arguments):
    if name == "echo":
        return text(str(arguments.get("text")))
    if name == "env":
        return text(json.dumps(dict(os.environ)))
    if name == "pid":
        return text(str(os.getpid()))
    if name == "sleep":
        print("sleeping", file=sys.stderr, flush=True)
        time.sleep(float(arguments.get("seconds", 1)))
        return text("slept")
    if name == "fail":
        return {"content": [{"type": "text", "text": "it went wrong"}], "isError": True}
    if name == "die":
        os._exit(7)
    if name == "picture":
        return {"content": [
            {"type": "text", "text": "a picture"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
        ]}
    if name == "meet":
        with open(arguments["own"], "w"):
            pass
        for _ in range(600):
            if os.path.exists(arguments["other"]):
                return text("met")
            time.sleep(0.05)
        return text("nobody came")
    if name == "capabilities":
        return text(json.dumps(CLIENT.get("capabilities")))
    if name == "sample":
        return text(json.dumps([ask(arguments) for _ in range(arguments.pop("times", 1))]))
    if name == "grow":
        GROWN.append(1)
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return text("grown")
    return text("unknown")


def ask(params):
    """Asks the model of the client."""
    send({"jsonrpc": "2.0", "id": "ask", "method": "sampling/createMessage", "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "ask":
            return message.get("result") or message.get("error")


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def main():
    if "deaf" in MODES:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "grandchild" in MODES and os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.setsid()
        while True:
            time.sleep(60)
    if "exits" in MODES:
        print("no licence found", file=sys.stderr)
        sys.exit(4)
    if "counts" in MODES:
        with open(sys.argv[-1], "a") as file:
            file.write("started\n")
    if "broken" in MODES and not os.path.exists(sys.argv[-1] + ".mended"):
        print("no licence found", file=sys.stderr)
        sys.exit(4)
    if "hangs" in MODES and os.path.exists(sys.argv[-1]):
        while True:
            time.sleep(60)
    if "silent" in MODES:
        while True:
            time.sleep(60)
    if "garbage" in MODES:
        print("Welcome to my server!")
        sys.stdout.flush()
    if "only-garbage" in MODES:
        while True:
            print("x" * 1000)
    if "endless-line" in MODES:
        while True:
            sys.stdout.write("x" * 65536)
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            CLIENT.update(message["params"])
            result = {
                "protocolVersion": "2025-03-26",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "test", "version": "1"},
            }
        elif method == "tools/list":
            if "lists" in MODES:
                print("listed", file=sys.stderr, flush=True)
            result = {"tools": tools()}
        elif method == "tools/call":
            if "flood" in MODES:
                while True:
                    send({"jsonrpc": "2.0", "method": "notifications/message",
                          "params": {"level": "info", "data": "x"}})
            if "flood-answers" in MODES:
                while True:
                    send({"jsonrpc": "2.0", "id": 4711, "result": {}})
            params = message["params"]
            result = call(params["name"], params.get("arguments") or {})
        elif number is None:
            continue
        else:
            send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "unknown"}})
            continue
        send({"jsonrpc": "2.0", "id": number, "result": result})
    if "deaf" in MODES:
        while True:
            time.sleep(60)


main()
