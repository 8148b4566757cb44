"""The gateway: start to ready and memory beside the reference; from a new card to its worker here.

Used by scripts/bench. A gateway is ready when its state file says so, whichever program wrote it. The
programs are started in turns; the figure is the median.
"""

import json
import os
import signal
import statistics
import subprocess
import time
from pathlib import Path

ROUNDS = 7
CARDS = 11
# Seconds a gateway is left alone before its memory is read.
IDLE = 5.0
PATIENCE = 60.0

# How many times sooner ready, what part of the memory, and the most seconds to a worker.
READY, MEMORY, WORKER = 20, 5, 0.050
MAX_IDLE_MB = 10.0

WORKER_SCRIPT = """#!/bin/sh
echo $$ > "$STARTED_DIR/$HERMES_KANBAN_TASK"
exec sleep 300
"""


class Gateway:
    def __init__(self, program, environment):
        self.home = Path(environment["HOME"]) / ".hermes"
        self.state = self.home / "gateway_state.json"
        self.state.unlink(missing_ok=True)
        begin = time.perf_counter()
        self.process = subprocess.Popen([program, "gateway", "run"], env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.ready_after = None
        while time.perf_counter() - begin < PATIENCE:
            if self.is_running():
                self.ready_after = time.perf_counter() - begin
                return
            if self.process.poll() is not None:
                return
            time.sleep(0.0005)

    def is_running(self):
        try:
            state = json.loads(self.state.read_text())
        except (OSError, ValueError):
            return False
        return state.get("gateway_state") == "running" and state.get("pid") == self.process.pid

    def megabytes(self):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0.0

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def environment_of(bench, home):
    home.mkdir()
    (home / ".hermes").mkdir(mode=0o700)
    return {**bench.environment, "HOME": str(home), "HERMES_GATEWAY_MAX_STARTS": "0"}


def to_a_worker(program, environment, root):
    """Seconds from the end of `kanban create` to the first command of the worker."""
    worker = root / "worker"
    worker.write_text(WORKER_SCRIPT)
    worker.chmod(0o755)
    started = root / "started"
    started.mkdir()
    environment = {**environment, "HERMES_BIN": str(worker), "STARTED_DIR": str(started)}
    (Path(environment["HOME"]) / ".hermes/profiles/coder").mkdir(parents=True)
    gateway = Gateway(program, environment)
    times = []
    try:
        for number in range(CARDS):
            # Nothing of the card before is left to do.
            time.sleep(0.5)
            done = subprocess.run([program, "kanban", "create", f"card {number}", "--assignee",
                                   "coder", "--json"], env=environment, text=True,
                                  capture_output=True, stdin=subprocess.DEVNULL)
            begin = time.perf_counter()
            mark = started / json.loads(done.stdout)["id"]
            while not mark.exists() and time.perf_counter() - begin < PATIENCE:
                time.sleep(0.0002)
            times.append(time.perf_counter() - begin)
    finally:
        gateway.end()
        for mark in started.iterdir():
            try:
                os.kill(int(mark.read_text()), signal.SIGKILL)
            except (ProcessLookupError, ValueError):
                pass
    return statistics.median(times)


def measure(bench, programs, versions, root):
    root = Path(root) / "gateway"
    root.mkdir()
    names = ["ours", *versions]
    environments = {name: environment_of(bench, root / name) for name in names}
    ready = {name: [] for name in names}
    memory = {}
    for turn in range(ROUNDS + 1):
        for name in names:
            gateway = Gateway(programs[name], environments[name])
            if gateway.ready_after is None:
                gateway.end()
                continue
            # The first start of a program makes its home.
            if turn > 0:
                ready[name].append(gateway.ready_after)
            if turn == ROUNDS:
                time.sleep(IDLE)
                memory[name] = gateway.megabytes()
            gateway.end()
    medians = {name: statistics.median(times) for name, times in ready.items() if times}
    worker = to_a_worker(programs["ours"], environments["ours"], root)
    print("gateway ready: " + ", ".join(f"{n} {t * 1000:.1f} ms" for n, t in medians.items()))
    print("gateway memory: " + ", ".join(f"{n} {mb:.1f} MB" for n, mb in memory.items()))
    print(f"from a new card to its worker: {worker * 1000:.1f} ms")
    return {"ready": medians, "memory": memory, "worker": worker}


def judge(figures, versions):
    ready, memory = figures["ready"], figures["memory"]
    if "ours" not in memory:
        return ["hermes gateway run: not ready"]
    misses = []
    for version in versions:
        if version not in memory:
            continue
        faster, smaller = ready[version] / ready["ours"], memory[version] / memory["ours"]
        if faster < READY:
            misses.append(f"gateway ready: {faster:.1f}x sooner than {version}, budget {READY}x")
        if smaller < MEMORY:
            misses.append(f"gateway memory: 1/{smaller:.1f} of {version}, budget 1/{MEMORY}")
    if memory["ours"] > MAX_IDLE_MB:
        misses.append(f"gateway memory: {memory['ours']:.1f} MB, budget {MAX_IDLE_MB:.0f} MB")
    if figures["worker"] > WORKER:
        misses.append(f"new card to worker: {figures['worker'] * 1000:.0f} ms, "
                      f"budget {WORKER * 1000:.0f} ms")
    return misses


def page(figures, versions):
    ready, memory = figures["ready"], figures["memory"]
    out = [
        "", "## The gateway", "",
        f"`hermes gateway run` in a home of its own, without platforms; median of {ROUNDS} starts. Memory",
        f"is read after {IDLE:.0f} s without work.", "",
        "| Work | Reference | Reference takes | We take | Factor | Budget |",
        "|---|---|---|---|---|---|",
    ]
    for version in versions:
        if version not in memory or "ours" not in memory:
            out.append(f"| start to ready | {version} | not ready | – | – | ≥ {READY}× |")
            continue
        out.append(f"| start to ready | {version} | {ready[version] * 1000:.0f} ms "
                   f"| {ready['ours'] * 1000:.1f} ms | {ready[version] / ready['ours']:.0f}× "
                   f"| ≥ {READY}× |")
        out.append(f"| memory, idle | {version} | {memory[version]:.0f} MB | {memory['ours']:.1f} MB "
                   f"| 1/{memory[version] / memory['ours']:.0f} "
                   f"| ≤ 1/{MEMORY} and ≤ {MAX_IDLE_MB:.0f} MB |")
    out += [f"| `kanban create` to a started worker | – | – | {figures['worker'] * 1000:.0f} ms | – "
            f"| ≤ {WORKER * 1000:.0f} ms |", ""]
    return out
