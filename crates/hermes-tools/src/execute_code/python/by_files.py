class _Client:
    """Requests and answers are files in a directory only this user can enter."""

    def __init__(self):
        self._number = 0
        self._numbering = _threading.Lock()

    def call(self, tool, args):
        directory = _os.environ["HERMES_RPC_DIR"]
        number = self._take_number(directory)
        request = {
            "id": number,
            "tool": tool,
            "args": args,
            "token": _os.environ.get("HERMES_RPC_TOKEN", ""),
        }
        # Under its name when it is whole.
        partial = _os.path.join(directory, "new_%06d" % number)
        with open(partial, "wb") as file:
            file.write(_json.dumps(request).encode("utf-8"))
        _os.rename(partial, _os.path.join(directory, "req_%06d" % number))
        return self._answer(directory, _os.path.join(directory, "res_%06d" % number))

    def _take_number(self, directory):
        """A number that neither another thread nor a process forked off has."""
        with self._numbering:
            while True:
                self._number += 1
                name = _os.path.join(directory, "num_%06d" % self._number)
                try:
                    _os.close(_os.open(name, _os.O_CREAT | _os.O_EXCL | _os.O_WRONLY, 0o600))
                    return self._number
                except FileExistsError:
                    pass

    def _answer(self, directory, name):
        pause = 0.002
        while True:
            try:
                with open(name, "rb") as file:
                    answer = _json.loads(file.read())
                _os.remove(name)
                answer.pop("id", None)
                return answer
            except FileNotFoundError:
                if not _os.path.isdir(directory):
                    raise ConnectionError("the tools of the session are no longer available")
            _time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
