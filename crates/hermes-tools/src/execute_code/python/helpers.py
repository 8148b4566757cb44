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
