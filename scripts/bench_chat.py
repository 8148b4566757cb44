"""The interface of a conversation: the first prompt beside the reference's, and keys during a stream.

Used by scripts/bench. Programs run on a pseudo-terminal that answers no queries. The first prompt is
the time from the start of the process to the first prompt sign; memory is the peak until then. For
keys, a model server of its own process streams 2,000 tokens a second while letters are typed; the
figure is the time from the key to its echo. The processor's time is that of the whole process.
"""

import fcntl
import json
import multiprocessing
import os
import pty
import select
import signal
import socketserver
import statistics
import struct
import termios
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

ROUNDS = 9
TOKENS_PER_SECOND = 2_000
STREAM_SECONDS = 8
KEYS = 120
PROMPT_MS = 30
PROMPT_MB = 25
ECHO_MS = 5
CPU_SHARE = 0.15
# The sign of the prompt, in this program and in the reference.
SIGN = "❯".encode()
PATIENCE = 60


class Handler(BaseHTTPRequestHandler):
    """Streams an answer at a steady pace."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps({"data": [{"id": "m"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        begin = time.perf_counter()
        sent, total = 0, TOKENS_PER_SECOND * STREAM_SECONDS
        try:
            while sent < total:
                due = min(int((time.perf_counter() - begin) * TOKENS_PER_SECOND), total)
                pieces = [self.event(number) for number in range(sent, due)]
                self.wfile.write("".join(pieces).encode())
                sent = due
                time.sleep(0.002)
            self.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            pass

    @staticmethod
    def event(number):
        word = f"w{number % 100} " if number % 12 else "line\n"
        choice = {"index": 0, "delta": {"content": word}, "finish_reason": None}
        return "data: " + json.dumps({"id": "x", "choices": [choice]}) + "\n\n"


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True


def serve(port):
    server = Server(("127.0.0.1", 0), Handler)
    port.send(server.server_address[1])
    server.serve_forever()


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, program, arguments, environment, directory):
        self.begin = time.perf_counter()
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execve(program, [program, *arguments], environment)
        size = struct.pack("HHHH", 30, 100, 0, 0)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, size)

    def read_until(self, wanted, patience=PATIENCE):
        """The time at which this was shown; `None` if it never is."""
        seen = b""
        deadline = time.perf_counter() + patience
        while time.perf_counter() < deadline:
            ready, _, _ = select.select([self.descriptor], [], [], 0.5)
            if not ready:
                continue
            try:
                seen += os.read(self.descriptor, 65536)
            except OSError:
                return None
            if wanted(seen):
                return time.perf_counter()
        return None

    def type(self, keys):
        os.write(self.descriptor, keys.encode())

    def peak_megabytes(self):
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return 0.0

    def processor_seconds(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.descriptor)


def settings(home, url):
    directory = Path(home) / ".hermes"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.yaml").write_text(
        f"model:\n  default: m\n  provider: custom\n  base_url: {url}\n  api_key: none\n"
        "  context_length: 200000\nauxiliary: {title_generation: {enabled: false}}\n")


def first_prompt(program, environment, directory):
    terminal = Terminal(program, ["chat"], environment, directory)
    shown = terminal.read_until(lambda seen: SIGN in seen)
    memory = terminal.peak_megabytes() if shown else 0.0
    terminal.end()
    if shown is None:
        return None
    return shown - terminal.begin, memory


def keys_during_stream(program, environment, directory):
    terminal = Terminal(program, ["chat"], environment, directory)
    terminal.read_until(lambda seen: SIGN in seen)
    terminal.type("go\r")
    terminal.read_until(lambda seen: b"line" in seen)
    times = []
    used, begin = terminal.processor_seconds(), time.perf_counter()
    # Letters that the answer has not: an echo cannot be mistaken.
    for number in range(KEYS):
        letter = "QZXJ"[number % 4]
        pressed = time.perf_counter()
        terminal.type(letter)
        shown = terminal.read_until(lambda seen: letter.encode() in seen, 2)
        if shown is None:
            raise RuntimeError("a key was never echoed")
        times.append((shown - pressed) * 1000)
        rest = 0.05 - (time.perf_counter() - pressed)
        # The screen is read on meanwhile, as a terminal does.
        terminal.read_until(lambda seen: False, max(rest, 0))
    elapsed = time.perf_counter() - begin
    share = (terminal.processor_seconds() - used) / elapsed
    terminal.end()
    times.sort()
    return {
        "median": statistics.median(times),
        "p99": times[min(len(times) - 1, int(len(times) * 0.99))],
        "share": share,
    }


def measure(bench, programs, versions, root):
    receiver, sender = multiprocessing.Pipe(False)
    server = multiprocessing.Process(target=serve, args=(sender,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{receiver.recv()}/v1"
    names = ["ours", *versions]
    places = {}
    for name in names:
        home = Path(root) / f"chat-{name}"
        settings(home, url)
        work = home / "work"
        work.mkdir()
        places[name] = (bench.environment | {"HOME": str(home), "TERM": "xterm-256color"}, work)
    prompts = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in names:
            figures = first_prompt(programs[name], *places[name])
            if figures:
                prompts[name].append(figures)
    keys = keys_during_stream(programs["ours"], *places["ours"])
    server.terminate()
    medians = {
        name: (statistics.median(one[0] for one in all) * 1000, max(one[1] for one in all))
        for name, all in prompts.items() if all
    }
    for name, (milliseconds, megabytes) in medians.items():
        print(f"first prompt: {name} {milliseconds:.1f} ms, {megabytes:.1f} MB")
    print(f"keys: median {keys['median']:.2f} ms, p99 {keys['p99']:.2f} ms, "
          f"{keys['share'] * 100:.1f} % of a core")
    return {"prompts": medians, "keys": keys}


def judge(figures, _versions):
    misses = []
    if "ours" not in figures["prompts"]:
        return ["hermes chat: no prompt"]
    milliseconds, megabytes = figures["prompts"]["ours"]
    keys = figures["keys"]
    for what, value, budget, unit in [
        ("first prompt", milliseconds, PROMPT_MS, "ms"),
        ("memory at the first prompt", megabytes, PROMPT_MB, "MB"),
        ("key to echo, p99", keys["p99"], ECHO_MS, "ms"),
        ("processor during the stream", keys["share"] * 100, CPU_SHARE * 100, "%"),
    ]:
        if value > budget:
            misses.append(f"hermes chat: {what} {value:.1f} {unit}, budget {budget:.0f} {unit}")
    return misses


def page(figures, versions):
    out = [
        "", "## The interface", "",
        "`hermes chat` on a terminal that answers no queries: from the start of the process to the",
        f"first prompt (median of {ROUNDS}), and its peak memory until then.", "",
        "| Program | First prompt | Memory | Budget |", "|---|---|---|---|",
    ]
    for name in ["ours", *versions]:
        title = "this program" if name == "ours" else f"reference {name}"
        budget = f"≤ {PROMPT_MS} ms, ≤ {PROMPT_MB} MB" if name == "ours" else ""
        if name in figures["prompts"]:
            milliseconds, megabytes = figures["prompts"][name]
            out.append(f"| {title} | {milliseconds:.1f} ms | {megabytes:.1f} MB | {budget} |")
        else:
            out.append(f"| {title} | no prompt within {PATIENCE} s | - | {budget} |")
    keys = figures["keys"]
    out += [
        "", f"Typing while {TOKENS_PER_SECOND:,} tokens a second stream in, {KEYS} keys:", "",
        "| Figure | Measured | Budget |", "|---|---|---|",
        f"| key to echo, median | {keys['median']:.2f} ms | |",
        f"| key to echo, p99 | {keys['p99']:.2f} ms | ≤ {ECHO_MS} ms |",
        f"| processor | {keys['share'] * 100:.1f} % of a core | ≤ {CPU_SHARE * 100:.0f} % |",
    ]
    return out
