"""The interface of a conversation: the first prompt beside others, and keys during a stream.

Used by scripts/bench. Programs run on a pseudo-terminal that answers no queries; the other native
one waits for answers, so it is asked a second time on a terminal that gives them at once. The first
prompt is the time from the start of the process to the frame with the prompt sign; memory is the
peak until then, of the process and its children. For keys, a model server of its own process streams
2,000 tokens a second while letters are typed; the figure is the time from the key to the end of the
frame that shows it. The processor's time is that of the whole process.
"""

import fcntl
import json
import multiprocessing
import os
import pty
import random
import select
import signal
import socketserver
import statistics
import struct
import termios
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import bench_agent

ROUNDS = 9
TOKENS_PER_SECOND = 2_000
STREAM_SECONDS = 18
KEYS = 300
# Between two keys; the frames of the stream have a pace of their own.
PAUSES = (0.03, 0.07)
PROMPT_MS = 30
PROMPT_MB = 25
ECHO_MS = 5
CPU_SHARE = 0.15
# The sign of the prompt, in this program and in the reference; and in the other native one.
SIGN = "❯".encode()
PEER = bench_agent.PEER
PEER_ANSWERED = f"{PEER}, answered"
PEER_SIGN = "›".encode()
# Where a frame ends, in terminals that know whole frames.
FRAME_END = b"\x1b[?2026l"
# What a terminal says when it is asked: keyboard protocol, its kind, the cursor's place, its colours.
ANSWERS = {
    b"\x1b[?u": b"\x1b[?0u",
    b"\x1b[c": b"\x1b[?62;22c",
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b]10;?\x1b\\": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;?\x1b\\": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}
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

    def __init__(self, program, arguments, environment, directory, is_answering=False):
        self.is_answering = is_answering
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
        while (left := deadline - time.perf_counter()) > 0:
            ready, _, _ = select.select([self.descriptor], [], [], left)
            if not ready:
                continue
            try:
                piece = os.read(self.descriptor, 65536)
            except OSError:
                return None
            seen += piece
            if self.is_answering:
                for query, answer in ANSWERS.items():
                    if query in piece:
                        os.write(self.descriptor, answer)
            if wanted(seen):
                return time.perf_counter()
        return None

    def type(self, keys):
        os.write(self.descriptor, keys.encode())

    def megabytes(self):
        """The peak so far, and what of the present is written and nobody else's, of the whole tree."""
        processes = family(self.pid)
        peak = sum(kilobytes(f"/proc/{pid}/status", "VmHWM:") for pid in processes)
        own = sum(kilobytes(f"/proc/{pid}/smaps_rollup", "Private_Dirty:") for pid in processes)
        return peak / 1024, own / 1024

    def processor_seconds(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.descriptor)


def family(pid):
    """A process and all below it."""
    members = [pid]
    for member in members:
        for task in Path(f"/proc/{member}/task").iterdir():
            members += [int(child) for child in (task / "children").read_text().split()]
    return members


def kilobytes(file, name):
    for line in Path(file).read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


def settings(home, url):
    directory = Path(home) / ".hermes"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.yaml").write_text(
        f"model:\n  default: m\n  provider: custom\n  base_url: {url}\n  api_key: none\n"
        "  context_length: 200000\nauxiliary: {title_generation: {enabled: false}}\n")


def first_prompt(name, program, environment, directory):
    """Seconds, peak and private megabytes; `None` without a prompt."""
    is_peer = name in (PEER, PEER_ANSWERED)
    sign = PEER_SIGN if is_peer else SIGN
    terminal = Terminal(program, [] if is_peer else ["chat"], environment, directory,
                        name == PEER_ANSWERED)
    shown = terminal.read_until(lambda seen: sign in seen)
    figures = (shown - terminal.begin, *terminal.megabytes()) if shown else None
    terminal.end()
    return figures


def keys_during_stream(program, environment, directory):
    terminal = Terminal(program, ["chat"], environment, directory)
    terminal.read_until(lambda seen: SIGN in seen)
    terminal.type("go\r")
    terminal.read_until(lambda seen: b"line" in seen)
    chance = random.Random(1)
    times = []
    used, begin = terminal.processor_seconds(), time.perf_counter()
    for number in range(KEYS):
        # Each time another letter, which neither the answer has nor what was typed before: frames of
        # the stream repeat that.
        letter = chr(0x4E00 + number).encode()
        pressed = time.perf_counter()
        os.write(terminal.descriptor, letter)
        shown = terminal.read_until(
            lambda seen: FRAME_END in seen[seen.find(letter):] if letter in seen else False, 2)
        if shown is None:
            raise RuntimeError("a key was never echoed")
        times.append((shown - pressed) * 1000)
        rest = chance.uniform(*PAUSES) - (time.perf_counter() - pressed)
        # The screen is read on meanwhile, as a terminal does.
        terminal.read_until(lambda seen: False, max(rest, 0))
    elapsed = time.perf_counter() - begin
    share = (terminal.processor_seconds() - used) / elapsed
    terminal.end()
    times.sort()
    return {
        "median": statistics.median(times),
        "p99": times[min(len(times) - 1, int(len(times) * 0.99))],
        "worst": times[-1],
        "share": share,
    }


def measure(bench, programs, versions, peer, root):
    receiver, sender = multiprocessing.Pipe(False)
    server = multiprocessing.Process(target=serve, args=(sender,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{receiver.recv()}/v1"
    names = ["ours", PEER, PEER_ANSWERED, *versions]
    places = {}
    for number, name in enumerate(names):
        home = Path(root) / f"chat-{number}"
        if name in (PEER, PEER_ANSWERED):
            bench_agent.settings(home, PEER, url)
        else:
            settings(home, url)
        work = home / "work"
        work.mkdir()
        program = peer if name in (PEER, PEER_ANSWERED) else programs[name]
        environment = bench.environment | {"HOME": str(home), "TERM": "xterm-256color"}
        places[name] = (program, environment, work)
    prompts = {name: [] for name in names}
    for round_ in range(-1, ROUNDS):
        for name in names:
            figures = first_prompt(name, *places[name])
            # The first start makes the home.
            if figures and round_ >= 0:
                prompts[name].append(figures)
    keys = keys_during_stream(*places["ours"])
    server.terminate()
    medians = {
        name: (statistics.median(one[0] for one in all) * 1000, max(one[1] for one in all),
               max(one[2] for one in all))
        for name, all in prompts.items() if all
    }
    for name, (milliseconds, megabytes, own) in medians.items():
        print(f"first prompt: {name} {milliseconds:.1f} ms, {megabytes:.1f} MB, {own:.1f} private")
    print(f"keys: median {keys['median']:.2f} ms, p99 {keys['p99']:.2f} ms, "
          f"worst {keys['worst']:.2f} ms, {keys['share'] * 100:.1f} % of a core")
    return {"prompts": medians, "keys": keys}


def judge(figures, _versions):
    misses = []
    if "ours" not in figures["prompts"]:
        return ["hermes chat: no prompt"]
    milliseconds, megabytes, _ = figures["prompts"]["ours"]
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
        f"first prompt (median of {ROUNDS}, in turns with the others), and the peak memory until then "
        "of the process and its",
        f"children. `{PEER}` {bench_agent.PEER_VERSION} asks the terminal for its colours and the "
        "cursor's place and waits for the answers;",
        "its second row is on a terminal that answers at once.", "",
        "| Program | First prompt | Memory | Of it private and written | Budget |",
        "|---|---|---|---|---|",
    ]
    titles = {"ours": "this program", PEER: f"`{PEER}`",
              PEER_ANSWERED: f"`{PEER}`, terminal that answers"}
    for name in ["ours", PEER, PEER_ANSWERED, *versions]:
        title = titles.get(name, f"reference {name}")
        budget = f"≤ {PROMPT_MS} ms, ≤ {PROMPT_MB} MB" if name == "ours" else ""
        if name in figures["prompts"]:
            milliseconds, megabytes, own = figures["prompts"][name]
            out.append(f"| {title} | {milliseconds:.1f} ms | {megabytes:.1f} MB | {own:.1f} MB "
                       f"| {budget} |")
        else:
            out.append(f"| {title} | no prompt within {PATIENCE} s | - | - | {budget} |")
    keys = figures["keys"]
    out += [
        "", "Memory that is not private and written is mapped from the program's file and from "
        "libraries.",
        f"Typing while {TOKENS_PER_SECOND:,} tokens a second stream in, {KEYS} keys:", "",
        "| Figure | Measured | Budget |", "|---|---|---|",
        f"| key to echo, median | {keys['median']:.2f} ms | |",
        f"| key to echo, p99 | {keys['p99']:.2f} ms | ≤ {ECHO_MS} ms |",
        f"| key to echo, worst | {keys['worst']:.2f} ms | |",
        f"| processor | {keys['share'] * 100:.1f} % of a core | ≤ {CPU_SHARE * 100:.0f} % |",
    ]
    return out
