"""Runs one add-on for Hermes.

Speaks MCP over standard input and output, one message a line, with the methods of Hermes beside it.
Needs nothing but the standard library; what the add-on brings comes last on the path, so that nothing
of it can stand in for something of Python or of this directory.
"""

import importlib
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
AT_ONCE = 8
MAX_LINE = 8 << 20


class Refused(Exception):
    """A call that cannot be answered, with a sentence for people."""


class Worker:
    def __init__(self, adapter, source, sink):
        self.adapter = adapter
        self.source = source
        self.sink = sink
        self.writing = threading.Lock()
        self.configured = False
        self.calls = ThreadPoolExecutor(AT_ONCE)
        self.cancelled = set()

    def send(self, message):
        message["jsonrpc"] = "2.0"
        line = json.dumps(message, ensure_ascii=True).encode() + b"\n"
        with self.writing:
            self.sink.write(line)

    def answer(self, number, result):
        self.send({"id": number, "result": result})

    def fail(self, number, code, text):
        self.send({"id": number, "error": {"code": code, "message": text}})

    def serve(self):
        while True:
            line = self.source.readline(MAX_LINE + 1)
            if not line or len(line) > MAX_LINE:
                return
            if line.strip():
                message = json.loads(line)
                if not self.take(message):
                    return

    def take(self, message):
        method = message.get("method")
        number = message.get("id")
        params = message.get("params") or {}
        if method == "notifications/cancelled":
            self.cancelled.add(params.get("requestId"))
        elif number is None:
            pass
        elif method == "initialize":
            asked = params.get("protocolVersion")
            self.answer(
                number,
                {
                    "protocolVersion": asked if asked in VERSIONS else VERSIONS[2],
                    "capabilities": {"tools": {}, "experimental": {"hermes": {"api": 1}}},
                    "serverInfo": {"name": "hermes-addon", "version": "1"},
                },
            )
        elif method == "ping":
            self.answer(number, {})
        elif method == "tools/list":
            self.answer(number, {"tools": []})
        elif method == "hermes/configure":
            self.configure(number, params)
        elif method == "hermes/invoke":
            self.invoke(number, params)
        elif method == "hermes/shutdown":
            self.answer(number, {})
            return False
        else:
            self.fail(number, -32601, "no such method: %s" % method)
        return True

    def configure(self, number, params):
        configure = getattr(self.adapter, "configure", None)
        if configure:
            try:
                configure(params)
            except Exception as error:
                self.fail(number, -32000, describe(error))
                return
        self.configured = True
        self.answer(number, {})

    def invoke(self, number, params):
        name = "%s.%s" % (params.get("role"), params.get("op"))
        operation = self.adapter.OPERATIONS.get(name)
        if operation is None:
            self.fail(number, -32602, "this add-on has no operation %s" % name)
        elif not self.configured:
            self.fail(number, -32002, "the add-on was not configured")
        else:
            self.calls.submit(self.call, number, operation, params.get("args") or {})

    def call(self, number, operation, arguments):
        if number in self.cancelled:
            self.cancelled.discard(number)
            return
        try:
            result = operation(arguments)
        except BaseException as error:
            self.fail(number, -32000, describe(error))
            return
        self.answer(number, result)


def describe(error):
    if isinstance(error, Refused):
        return str(error)
    return "%s: %s" % (type(error).__name__, error)


def main():
    site = sys.argv[sys.argv.index("--site") + 1]
    adapter = sys.argv[sys.argv.index("--adapter") + 1]
    # The protocol keeps a descriptor of its own; what packages print goes where errors go.
    sink = os.fdopen(os.dup(1), "wb", 0)
    source = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path not in (here, site)] + [here, site]
    sys.modules["hermes_worker"] = sys.modules["__main__"]
    worker = Worker(importlib.import_module(adapter), source, sink)
    worker.serve()
    sys.stdout.flush()
    sys.stderr.flush()
    # Calls that are still running must not keep the process.
    os._exit(0)


if __name__ == "__main__":
    main()
