import socket as _socket


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
