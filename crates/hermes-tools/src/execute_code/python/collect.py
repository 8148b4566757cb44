"""Runs script.py and keeps the two ends of what it prints, however much that is.

Reads as Python 2 as well, to be able to say that it is not meant.
"""

import sys

if sys.version_info < (3, 8):
    sys.exit(66)

import collections
import json
import os
import select
import signal
import subprocess
import time

# How long the pipes may be silent after the script has ended: a process it left behind may hold them.
SILENCE = 0.3
# How long they are read at most after that.
LONGEST = 3.0
# How long a script that is stopped may go on printing.
GRACE = 1.0

stage = os.path.dirname(os.path.abspath(__file__))
mode = sys.argv[1]
rooms = [int(number) for number in sys.argv[2:6]]


class Ends:
    """The beginning and the end of a stream."""

    def __init__(self, pipe, head_room, tail_room):
        self.descriptor = pipe.fileno()
        self.head_room = head_room
        self.tail_room = tail_room
        self.head = bytearray()
        self.tail = collections.deque()
        self.tail_length = 0
        self.total = 0

    def fill(self):
        """Takes what is there; false at the end."""
        data = os.read(self.descriptor, 65536)
        self.total += len(data)
        taken = min(self.head_room - len(self.head), len(data))
        self.head += data[:taken]
        rest = data[taken:]
        if rest:
            self.tail.append(rest)
            self.tail_length += len(rest)
            while self.tail_length - len(self.tail[0]) >= self.tail_room:
                self.tail_length -= len(self.tail.popleft())
        return bool(data)

    def parts(self):
        tail = b"".join(self.tail)
        return bytes(self.head), tail[max(0, len(tail) - self.tail_room) :]


stopped_at = []


def on_term(_signal, _frame):
    stopped_at.append(time.monotonic())


woken, wakes = os.pipe()
os.set_blocking(woken, False)
os.set_blocking(wakes, False)
signal.signal(signal.SIGTERM, on_term)
signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
signal.set_wakeup_fd(wakes)

open(os.path.join(stage, "started"), "w").close()
command = [sys.executable, "-u"]
if mode == "strict":
    command.append("-s")
command.append(os.path.join(stage, "script", "script.py"))
child = subprocess.Popen(
    command,
    stdin=subprocess.DEVNULL,
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
)
streams = [Ends(child.stdout, rooms[0], rooms[1]), Ends(child.stderr, rooms[2], rooms[3])]
by_descriptor = {stream.descriptor: stream for stream in streams}

ended_at = None
while by_descriptor or child.poll() is None:
    wait = None
    if child.poll() is not None:
        ended_at = ended_at or time.monotonic()
        wait = SILENCE if time.monotonic() < ended_at + LONGEST else 0
    if stopped_at:
        child.terminate()
        wait = max(0, stopped_at[0] + GRACE - time.monotonic())
    ready, _, _ = select.select(list(by_descriptor) + [woken], [], [], wait)
    if not ready or wait == 0:
        break
    for descriptor in ready:
        if descriptor == woken:
            os.read(woken, 4096)
        elif not by_descriptor[descriptor].fill():
            del by_descriptor[descriptor]

if stopped_at:
    child.kill()
code = child.wait()
facts = {"exit": code, "streams": []}
bodies = []
for stream in streams:
    head, tail = stream.parts()
    facts["streams"].append([stream.total, len(head), len(tail)])
    bodies += [head, tail]
report = os.path.join(stage, "report")
with open(report + ".new", "wb") as file:
    file.write(json.dumps(facts).encode("ascii") + b"\n" + b"".join(bodies))
os.rename(report + ".new", report)
