"""Tools of the session for this script.

Every function returns the tool's result as a dict; what went wrong is under "error". Functions may be
called from several threads at once.
"""

import json as _json
import os as _os
import shlex as _shlex
import socket as _socket
import threading as _threading
import time as _time


class _Client:
    """One connection; whoever waits for an answer reads for all."""

    def __init__(self):
        self._stream = None
        self._sending = _threading.Lock()
        self._changed = _threading.Condition()
        self._reading = False
        self._answers = {}
        self._last = 0

    def call(self, tool, args):
        with self._sending:
            if self._stream is None:
                connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
                connection.connect(_os.environ["HERMES_RPC_SOCKET"])
                self._stream = connection.makefile("rwb")
            self._last += 1
            number = self._last
            request = {
                "id": number,
                "tool": tool,
                "args": args,
                "token": _os.environ.get("HERMES_RPC_TOKEN", ""),
            }
            self._stream.write(_json.dumps(request).encode("utf-8") + b"\n")
            self._stream.flush()
        return self._answer(number)

    def _answer(self, number):
        while True:
            with self._changed:
                while number not in self._answers and self._reading:
                    self._changed.wait()
                if number in self._answers:
                    return self._answers.pop(number)
                self._reading = True
            line = b""
            try:
                line = self._stream.readline()
            finally:
                with self._changed:
                    self._reading = False
                    if line:
                        answer = _json.loads(line)
                        self._answers[answer.pop("id", number)] = answer
                    self._changed.notify_all()
            if not line:
                raise ConnectionError("the tools of the session are no longer available")


_client = _Client()


def _call(tool, args=None):
    given = {name: value for name, value in (args or {}).items() if value is not None}
    return _client.call(tool, given)


def json_parse(text):
    """Parses JSON that may hold raw control characters, as terminal output does."""
    return _json.loads(text, strict=False)


def shell_quote(text):
    """Quotes a text as one word of a shell command."""
    return _shlex.quote(text)


def retry(fn, max_attempts=3, delay=2):
    """Calls fn until it raises nothing; waits delay seconds, then twice as long, and so on."""
    for attempt in range(1, max_attempts + 1):
        try:
            return fn()
        except Exception:
            if attempt >= max_attempts:
                raise
            _time.sleep(delay)
            delay *= 2
