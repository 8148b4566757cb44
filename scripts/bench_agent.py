"""A whole run of the agent: this program beside the reference and beside another native one.

Used by scripts/bench. The model is a server without thinking time (bench_model_server), so that
what is measured is the program: one turn with an answer, and one with thirty calls of `true` before
it. All are asked in turns; the figure is the median. Memory is the peak of the process.
"""

import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench_model_server import ModelServer

ROUNDS = 7
CALLS = 30
# Runs without an answer that are repeated (0.15.1 ends every other long run so); more are a failure.
MOST_SILENT = 40
# Share of the reference's time (one turn, thirty calls) and memory that a run may take.
OF_REFERENCE = {0: 1 / 25, CALLS: 1 / 10}
OF_REFERENCE_MEMORY = 1 / 4
# For orientation; they depend on the machine and are not judged.
AIMS = {0: (60, 25), CALLS: (500, 35)}
# The other native agent, from npm; it speaks responses.
PEER = "@openai/codex"
PEER_VERSION = "0.166.0"
OURS = "ours"
OURS_RESPONSES = "ours, responses"


class Runner:
    """One program with a home of its own for each script of the model."""

    def __init__(self, name, command, server, root, bench):
        self.name = name
        self.command = command
        # Runs that ended with 0 and without the answer, as the reference's sometimes do.
        self.silent = 0
        self.places = {}
        for calls in (0, CALLS):
            home = Path(root) / f"{name.replace(' ', '')}-{calls}"
            settings(home, name, server.base_url(calls))
            work = home / "work"
            work.mkdir()
            environment = bench.environment | {"HOME": str(home)}
            self.places[calls] = (environment, work)

    def seconds(self, calls):
        environment, work = self.places[calls]
        begin = time.perf_counter()
        done = subprocess.run(self.command, env=environment, cwd=work, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        elapsed = time.perf_counter() - begin
        if done.returncode == 0 and "done" in done.stdout:
            return elapsed
        if done.returncode == 0 and self.silent < MOST_SILENT:
            self.silent += 1
            return None
        raise RuntimeError(f"{self.name} ended with {done.returncode}: {done.stderr[-500:]}")

    def peak_megabytes(self, calls):
        environment, work = self.places[calls]
        with tempfile.NamedTemporaryFile("r") as report:
            subprocess.run(["time", "-f", "%M", "-o", report.name, *self.command],
                           env=environment, cwd=work, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
            return int(report.read().split()[-1]) / 1024


def settings(home, name, url):
    if name == PEER:
        (home / ".codex").mkdir(parents=True)
        (home / ".codex" / "config.toml").write_text(
            'model = "bench-model"\nmodel_provider = "bench"\n'
            '[model_providers.bench]\nname = "bench"\nwire_api = "responses"\n'
            f'base_url = "{url}"\nexperimental_bearer_token = "bench-key-0000"\n')
        return
    mode = "codex_responses" if name == OURS_RESPONSES else "chat_completions"
    (home / ".hermes").mkdir(parents=True)
    (home / ".hermes" / "config.yaml").write_text(
        "model:\n  default: bench-model\n  provider: custom\n"
        f"  base_url: {url}\n  api_key: bench-key-0000\n  api_mode: {mode}\n"
        "  context_length: 200000\n")


def turns_of_homes(program, environments, cwd, rounds):
    """Medians in seconds of one turn in each home, in turns."""
    command = [program, "chat", "-Q", "--yolo", "-q", "go"]
    times = {name: [] for name in environments}
    for round_ in range(-2, rounds):
        for name, environment in environments.items():
            begin = time.perf_counter()
            subprocess.run(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL,
                           capture_output=True, check=True)
            if round_ >= 0:
                times[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in times.items()}


def unavailable():
    if not shutil.which("npm"):
        return "npm was not found (Debian: apt-get install npm)"
    return None


def install_peer(directory):
    """The other agent's own binary, without the script that npm puts before it."""
    place = Path(directory) / f"codex-{PEER_VERSION}"
    found = lambda: next(place.glob("node_modules/@openai/codex-*/vendor/*/bin/codex"), None)
    if not found():
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix",
                        str(place), f"{PEER}@{PEER_VERSION}"], check=True)
    if not found():
        raise RuntimeError(f"{PEER} {PEER_VERSION} brought no program for this machine")
    return str(found())


def measure(bench, programs, versions, peer, root):
    """Medians, peaks and what the model was asked, per program and number of calls."""
    server = ModelServer()
    query = ["chat", "-Q", "--yolo", "-q", "go"]
    commands = {OURS: [programs["ours"], *query], OURS_RESPONSES: [programs["ours"], *query]}
    commands |= {version: [programs[version], *query] for version in versions}
    commands[PEER] = [peer, "exec", "--skip-git-repo-check",
                      "--dangerously-bypass-approvals-and-sandbox", "go"]
    runners = [Runner(name, command, server, root, bench) for name, command in commands.items()]
    figures = {}
    for calls in (0, CALLS):
        times = {runner.name: [] for runner in runners}
        asked = {}
        for round_ in range(-1, ROUNDS):
            for runner in runners:
                server.taken()
                while (seconds := runner.seconds(calls)) is None:
                    server.taken()
                requests = server.taken()
                if round_ >= 0:
                    times[runner.name].append(seconds)
                    asked.setdefault(runner.name, []).append(counted(requests))
        peaks = {runner.name: runner.peak_megabytes(calls) for runner in runners}
        medians = {name: statistics.median(values) for name, values in times.items()}
        silent = {runner.name: runner.silent for runner in runners}
        figures[calls] = {"times": medians, "peaks": peaks, "asked": asked, "silent": silent}
        print(f"agent, {calls} calls: " + ", ".join(
            f"{name} {medians[name] * 1000:.1f} ms {peaks[name]:.0f} MB" for name in medians))
    return figures


def counted(requests):
    """Requests to the model, and all others."""
    model = sum(one.endswith(("/completions", "/responses")) for one in requests)
    return model, len(requests) - model


def judge(figures, versions):
    misses = []
    for calls, figure in figures.items():
        what = f"agent, {calls} calls"
        times, peaks = figure["times"], figure["peaks"]
        for version in versions:
            share = times[OURS] / times[version]
            if share > OF_REFERENCE[calls]:
                misses.append(f"{what}: {share:.3f} of {version}'s time, "
                              f"budget {OF_REFERENCE[calls]:.3f}")
            share = peaks[OURS] / peaks[version]
            if share > OF_REFERENCE_MEMORY:
                misses.append(f"{what}: {share:.2f} of {version}'s memory, "
                              f"budget {OF_REFERENCE_MEMORY}")
        for measured, unit in ((times, "time"), (peaks, "memory")):
            if measured[OURS_RESPONSES] >= measured[PEER]:
                misses.append(f"{what}: more {unit} than {PEER}")
        for name in (OURS, OURS_RESPONSES):
            if figure["silent"][name]:
                misses.append(f"{what}: {name} gave no answer {figure['silent'][name]} times")
            if set(figure["asked"][name]) != {(calls + 1, 0)}:
                misses.append(f"{what}: {name} asked {figure['asked'][name]}, "
                              f"budget {calls + 1} requests and nothing else")
    return misses


def page(figures, versions):
    out = [
        "", "## A run of the agent", "",
        f"`hermes chat -Q --yolo -q go` with a model server on loopback that does not think: an "
        f"answer at once, and {CALLS} calls of `true` before it.",
        f"Median of {ROUNDS} runs each, in turns. Requests: to the model + others. `{PEER}` "
        f"{PEER_VERSION} (npm, its native program alone) runs",
        "`codex exec` on the responses wire, beside this program on the same wire.", "",
        "| Calls | Beside | It takes | We take | Ratio | Budget | Its peak | Our peak | Ratio "
        "| Budget | Its requests | Ours |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for calls, figure in figures.items():
        for name in [*versions, PEER]:
            own = OURS_RESPONSES if name == PEER else OURS
            times, peaks, asked = figure["times"], figure["peaks"], figure["asked"]
            budget = "faster" if name == PEER else f"≤ 1/{1 / OF_REFERENCE[calls]:.0f}"
            memory = "lighter" if name == PEER else f"≤ 1/{1 / OF_REFERENCE_MEMORY:.0f}"
            beside = f"`{PEER}`" if name == PEER else f"reference {name}"
            out.append(
                f"| {calls} | {beside} | {times[name] * 1000:.0f} ms | {times[own] * 1000:.1f} ms "
                f"| 1/{times[name] / times[own]:.1f} | {budget} "
                f"| {peaks[name]:.0f} MB | {peaks[own]:.1f} MB "
                f"| 1/{peaks[name] / peaks[own]:.1f} | {memory} "
                f"| {shown(asked[name])} | {shown(asked[own])} |")
    aims = "; ".join(f"{calls} calls: {milliseconds} ms and {megabytes} MB"
                     for calls, (milliseconds, megabytes) in AIMS.items())
    out += ["", f"Aims on this kind of machine: {aims}."]
    silent = {name: count for name, count in figures[CALLS]["silent"].items() if count}
    if silent:
        told = ", ".join(f"{name} {count}" for name, count in silent.items())
        out += ["", "Runs that ended with 0 and printed no answer, left out of the figures and "
                f"repeated: {told}."]
    out.append("")
    return out


def shown(asked):
    model = sorted({pair[0] for pair in asked})
    others = sorted({pair[1] for pair in asked})
    span = lambda values: f"{values[0]}" if len(values) == 1 else f"{values[0]}–{values[-1]}"
    return f"{span(model)} + {span(others)}"
