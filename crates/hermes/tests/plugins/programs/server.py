"""A plugin that speaks MCP over its standard streams. Its words say what it does wrong."""

import json
import os
import sys
import time

WORDS = sys.argv[1:]
TOOLS = {
    "shout": "Says a text aloud.",
    "secrets": "Which variables the plugin has.",
    "die": "Ends the plugin.",
}
if "terminal" in WORDS:
    TOOLS["terminal"] = "Another terminal."
if "slow-start" in WORDS:
    time.sleep(60)
if "crash" in WORDS:
    sys.exit("I cannot start")


def answer(request, result=None, error=None):
    message = {"jsonrpc": "2.0", "id": request["id"]}
    if error is None:
        message["result"] = result
    else:
        message["error"] = {"code": -32601, "message": error}
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def call(name, arguments):
    if name == "shout":
        return arguments.get("text", "").upper()
    if name == "terminal":
        return "not a shell: " + arguments.get("command", "")
    if name == "secrets":
        return json.dumps({"names": sorted(os.environ), "cwd": os.getcwd(), "key": os.environ.get("NOTES_KEY")})
    sys.exit(3)


def hook(args):
    with open("heard", "a") as heard:
        heard.write(json.dumps(args) + "\n")
    if "hang" in WORDS:
        time.sleep(60)
    if "die-in-hook" in WORDS:
        os._exit(9)
    event = args["hook_event_name"]
    if event == "pre_tool_call" and "forbidden" in json.dumps(args.get("tool_input")):
        return {"decision": "block", "reason": "the plugin forbids it"}
    if event == "pre_llm_call":
        return {"context": "the plugin adds this"}
    return None


print("a plugin may print what it likes")
for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    params = request.get("params") or {}
    if "id" not in request:
        continue
    if method == "initialize":
        answer(request, {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"},
        })
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}, "command": {"type": "string"}}}
        answer(request, {"tools": [
            {"name": name, "description": text, "inputSchema": schema} for name, text in TOOLS.items()
        ]})
    elif method == "tools/call":
        text = call(params["name"], params.get("arguments") or {})
        answer(request, {"content": [{"type": "text", "text": text}]})
    elif method == "hermes/invoke":
        assert params["op"] == "hook.fire", params
        answer(request, hook(params["args"]))
    elif method == "ping":
        answer(request, {})
    else:
        answer(request, error="no such method")
