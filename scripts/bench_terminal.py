"""Commands through the terminal: this program beside bare bash and beside the reference.

Used by scripts/bench. Every program is started once and asked in turns, so that a busy machine hurts
all alike; the figure is the median.
"""

import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

CALLS = 200
ONE_SHOTS = 40
LARGE_ROUNDS = 9
LARGE_BYTES = 50_000_000
# What `true` may take, as a multiple of bare bash and of the reference.
OVER_BARE = 2.0
OF_REFERENCE = 0.25
# What the kernel's sandbox may add to it, in milliseconds.
SANDBOX_MS = 0.5
# What a verdict about an everyday command may take at most, in microseconds.
VERDICT_US = 100.0
# What a large output may take, as a multiple of reading it from a pipe, and of memory.
OVER_PIPE = 1.5
LARGE_MEMORY_MB = 20.0

# Runs inside the reference's own interpreter: a command per line, seconds per line.
REFERENCE = r"""
import sys, time, logging
logging.disable(logging.CRITICAL)
from tools.environments.local import LocalEnvironment
environment = LocalEnvironment(cwd=sys.argv[1], timeout=60)
answers = sys.stdout
sys.stdout = sys.stderr
for line in sys.stdin:
    begin = time.perf_counter()
    result = environment.execute(line.rstrip("\n"))
    elapsed = time.perf_counter() - begin
    print(elapsed if result["returncode"] == 0 else "failed", file=answers, flush=True)
"""


class Reference:
    """The reference's local environment, one session."""

    def __init__(self, python, bench, directory):
        self.process = subprocess.Popen(
            [python, "-c", REFERENCE, directory], env=bench.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def seconds(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ours:
    """`hermes tools call --stdin`: the whole way of a call, guards and JSON included."""

    def __init__(self, program, bench, directory, sandbox="off"):
        environment = {**bench.environment, "HERMES_TERMINAL_SANDBOX": sandbox}
        self.process = subprocess.Popen(
            [program, "tools", "call", "--stdin"], env=environment, cwd=directory,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def seconds(self, command):
        line = json.dumps({"tool": "terminal", "args": {"command": command}}) + "\n"
        begin = time.perf_counter()
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        elapsed = time.perf_counter() - begin
        if json.loads(answer)["exit_code"] != 0:
            raise RuntimeError(f"{command}: {answer[:500]}")
        return elapsed

    def megabytes(self, what):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{what}:\s+(\d+) kB", status, re.M)[1]) / 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def from_pipe(bench, command):
    """Seconds until everything a bare shell writes has been read from a pipe."""
    begin = time.perf_counter()
    process = subprocess.Popen(["/bin/bash", "-c", command], env=bench.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0)
    while os.read(process.stdout.fileno(), 65536):
        pass
    process.wait()
    elapsed = time.perf_counter() - begin
    process.stdout.close()
    return elapsed


def one_shots(bench, ours, peer):
    """A whole program that runs one command in its sandbox, ours and the other agent's."""
    ask = {"ours": lambda: bench.seconds(ours, ["exec", "--sandbox", "on", "--", "true"])}
    peer_line = [peer, "sandbox", "--", "true"]
    if subprocess.run(peer_line, env=bench.environment, stdin=subprocess.DEVNULL,
                      capture_output=True).returncode == 0:
        ask["peer"] = lambda: bench.seconds(peer, peer_line[1:])
    times = {name: [] for name in ask}
    for _ in range(ONE_SHOTS):
        for name, one in ask.items():
            times[name].append(one())
    return {name: statistics.median(values) for name, values in times.items()}


def verdicts(program):
    """Microseconds of a verdict, by kind of command; the huge ones are left out."""
    lines = subprocess.run([program], text=True, capture_output=True, check=True).stdout
    rows = [line.rsplit(maxsplit=2) for line in lines.splitlines()]
    return {name.strip(): float(micros) for name, micros, _ in rows if "100 kB" not in name}


def worst_everyday(verdicts):
    """The kind of everyday command whose verdict takes longest, and how long that is."""
    everyday = {name: micros for name, micros in verdicts.items() if not name.startswith("long:")}
    return max(everyday.items(), key=lambda row: row[1])


def after_new_file(bench, sandboxed):
    """Seconds of a sandboxed `true` after somebody has left a file in the home directory."""
    with tempfile.NamedTemporaryFile(dir=bench.environment["HOME"]):
        # The shell that waits for the command is there.
        time.sleep(0.02)
        return sandboxed.seconds("true")


def measure(bench, programs, versions, peer, guard, directory):
    """Medians of `true`, of a large output, and the memory of the latter."""
    ours = Ours(programs["ours"], bench, directory)
    sandboxed = Ours(programs["ours"], bench, directory, sandbox="on")
    references = {version: Reference(str(Path(programs[version]).with_name("python")), bench,
                                     directory)
                  for version in versions}
    ask = {"ours": lambda: ours.seconds("true"),
           "sandboxed": lambda: sandboxed.seconds("true"),
           "bare": lambda: bench.seconds("/bin/bash", ["-c", "true"])}
    ask |= {version: (lambda one=one: one.seconds("true")) for version, one in references.items()}
    for _ in range(5):
        for one in ask.values():
            one()
    times = {name: [] for name in ask}
    for _ in range(CALLS):
        for name, one in ask.items():
            times[name].append(one())
    short = {name: statistics.median(values) for name, values in times.items()}
    fresh = statistics.median(after_new_file(bench, sandboxed) for _ in range(CALLS // 4))
    for one in references.values():
        one.close()
    sandboxed.close()

    large = Path(directory) / "large"
    line = b"all work and no play makes a long line of plain text\n"
    large.write_bytes(line * (LARGE_BYTES // len(line)))
    command = f"cat {large}"
    idle = ours.megabytes("VmRSS")
    for one in (lambda: ours.seconds(command), lambda: from_pipe(bench, command)):
        one()
    pairs = [(ours.seconds(command), from_pipe(bench, command)) for _ in range(LARGE_ROUNDS)]
    memory = ours.megabytes("VmHWM") - idle
    ours.close()
    large.unlink()
    figures = {
        "short": short,
        "fresh": fresh,
        "verdicts": verdicts(guard),
        "once": one_shots(bench, programs["ours"], peer),
        "large": statistics.median(pair[0] for pair in pairs),
        "pipe": statistics.median(pair[1] for pair in pairs),
        "memory": memory,
    }
    print("terminal true: " + ", ".join(f"{n} {t * 1000:.2f} ms" for n, t in short.items()))
    print(f"sandboxed after a new file: {fresh * 1000:.2f} ms")
    print("verdicts: " + ", ".join(f"{n} {t:.0f} µs" for n, t in figures["verdicts"].items()))
    print("sandboxed once: "
          + ", ".join(f"{n} {t * 1000:.2f} ms" for n, t in figures["once"].items()))
    print(f"terminal, {LARGE_BYTES // 10**6} MB: ours {figures['large'] * 1000:.1f} ms, "
          f"pipe {figures['pipe'] * 1000:.1f} ms, {memory:.1f} MB above idle")
    return figures


def judge(figures, versions):
    misses = []
    short = figures["short"]
    ratio = short["ours"] / short["bare"]
    if ratio > OVER_BARE:
        misses.append(f"terminal `true`: {ratio:.2f}x bare bash, budget {OVER_BARE:.0f}x")
    ratio = short["sandboxed"] / short["bare"]
    if ratio > OVER_BARE:
        misses.append(f"sandboxed `true`: {ratio:.2f}x bare bash, budget {OVER_BARE:.0f}x")
    more = (short["sandboxed"] - short["ours"]) * 1000
    if more > SANDBOX_MS:
        misses.append(f"sandboxed `true`: {more:.2f} ms more than plain, budget {SANDBOX_MS} ms")
    name, micros = worst_everyday(figures["verdicts"])
    if micros > VERDICT_US:
        misses.append(f"verdict about a command ({name}): {micros:.0f} µs, "
                      f"budget {VERDICT_US:.0f} µs")
    once = figures["once"]
    if "peer" in once and once["ours"] >= once["peer"]:
        misses.append("a sandboxed command, whole program: slower than codex")
    for version in versions:
        share = short["ours"] / short[version]
        if share > OF_REFERENCE:
            misses.append(f"terminal `true`: {share:.2f} of {version}, budget {OF_REFERENCE:.2f}")
    ratio = figures["large"] / figures["pipe"]
    if ratio > OVER_PIPE:
        misses.append(f"terminal, large output: {ratio:.2f}x a pipe, budget {OVER_PIPE}x")
    if figures["memory"] > LARGE_MEMORY_MB:
        misses.append(f"terminal, large output: {figures['memory']:.1f} MB above idle, "
                      f"budget {LARGE_MEMORY_MB:.0f} MB")
    return misses


def page(figures, versions):
    short = figures["short"]
    ours = short["ours"] * 1000
    out = [
        "", "## Commands in the local terminal", "",
        f"`true`, {CALLS} times in turns, each in a session that is warm: here as a whole tool call "
        "(a line of JSON to",
        "`hermes tools call --stdin`, guards included), in the reference as "
        "`LocalEnvironment.execute` alone.", "",
        "| Beside | It takes | We take | Ratio | Budget |", "|---|---|---|---|---|",
        f"| `bash -c true` | {short['bare'] * 1000:.2f} ms | {ours:.2f} ms "
        f"| {short['ours'] / short['bare']:.2f} | ≤ {OVER_BARE:.0f} |",
        f"| `bash -c true`, ours in the sandbox | {short['bare'] * 1000:.2f} ms "
        f"| {short['sandboxed'] * 1000:.2f} ms | {short['sandboxed'] / short['bare']:.2f} "
        f"| ≤ {OVER_BARE:.0f}, and ≤ {SANDBOX_MS} ms more than plain |",
    ]
    for version in versions:
        out.append(f"| reference {version} | {short[version] * 1000:.2f} ms | {ours:.2f} ms "
                   f"| 1/{short[version] / short['ours']:.1f} | ≤ 1/{1 / OF_REFERENCE:.0f} |")
    once = figures["once"]
    if "peer" in once:
        out.append("| `codex sandbox -- true`, ours `hermes exec --sandbox on -- true` "
                   f"| {once['peer'] * 1000:.1f} ms | {once['ours'] * 1000:.1f} ms "
                   f"| 1/{once['peer'] / once['ours']:.1f} | faster |")
    size = LARGE_BYTES // 10**6
    out.append(f"| `cat` of {size} MB to a pipe | {figures['pipe'] * 1000:.1f} ms "
               f"| {figures['large'] * 1000:.1f} ms | {figures['large'] / figures['pipe']:.2f} "
               f"| ≤ {OVER_PIPE} |")
    out += ["", f"In the sandbox, after a file came into being in the home directory: "
            f"{figures['fresh'] * 1000:.2f} ms; the shell that",
            "waited could not read the file, so another one is started."]
    out += ["", f"Memory above idle after {size} MB of output: {figures['memory']:.1f} MB "
            f"(budget {LARGE_MEMORY_MB:.0f} MB).", "",
            "What the guard needs for its verdict about an everyday command, at worst "
            "({}): {:.0f} µs".format(*worst_everyday(figures["verdicts"]))
            + f" (budget {VERDICT_US:.0f} µs). All of them: "
            + ", ".join(f"{name} {micros:.0f} µs" for name, micros in figures["verdicts"].items())
            + ".", ""]
    return out
