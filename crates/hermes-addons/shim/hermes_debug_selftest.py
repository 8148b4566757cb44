"""Shows that add-ons work here: which code is used, and that it can be called."""

import sys

import isodate


def report(arguments):
    """Where the code of the add-on is from, and where Python looks for code."""
    return {"file": isodate.__file__, "path": list(sys.path)}


def duration(arguments):
    """A duration as ISO 8601 writes it, in seconds."""
    return {"seconds": isodate.parse_duration(arguments["text"]).total_seconds()}


OPERATIONS = {"debug.report": report, "debug.duration": duration}
