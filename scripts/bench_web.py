"""The dashboard beside the reference's: ready, memory, requests by the second, a board of 1,000 cards.

Used by scripts/bench. All programs get copies of one home, whose conversations and cards this program
has made. A dashboard is ready when /api/status answers. Requests are counted by wrk, over 16 kept
connections; the board is asked for over a connection of its own each time, and shown in Chromium from a
fresh profile until its last card is in the page. The programs take turns; the figure is the median.
"""

import http.client
import json
import re
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench_chromium import Chromium

CARDS, SESSIONS = 1_000, 500
CONNECTIONS, SECONDS = 16, 3
ROUNDS, BOARDS, PAINTS = 3, 9, 3
# Seconds a dashboard is left alone before its memory is read.
IDLE = 5.0
PATIENCE = 90.0
BOARD = "/api/plugins/kanban/board"
# Where the cards are shown.
PAGES = {"ours": "/"}
# How many times lighter and faster.
FACTOR = 10
TOKEN = "token-of-the-bench-0123456789abcdef0123456789"


class Dashboard:
    def __init__(self, name, program, environment):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.name = name
        environment = {**environment, "HERMES_DASHBOARD_SESSION_TOKEN": TOKEN}
        self.log = tempfile.TemporaryFile()
        begin = time.perf_counter()
        self.process = subprocess.Popen(
            [program, "dashboard", "--no-open", "--port", str(self.port)], env=environment,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        while True:
            if self.process.poll() is not None or time.perf_counter() - begin > PATIENCE:
                self.end()
                self.log.seek(0)
                raise RuntimeError(f"the dashboard of {name} does not come up: "
                                   f"{self.log.read().decode(errors='replace')[-800:]}")
            if self.get("/api/status", {})[0] == 200:
                break
            time.sleep(0.002)
        self.ready_after = time.perf_counter() - begin
        page = self.get("/", {"Accept": "text/html"})[1].decode(errors="replace")
        found = re.search(r'__HERMES_SESSION_TOKEN__\s*=\s*"([^"]+)"', page)
        self.token = found.group(1) if found else TOKEN

    def get(self, path, headers):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError:
            return None, b""

    def own(self, path):
        return self.get(path, {"X-Hermes-Session-Token": self.token})

    def megabytes(self):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0.0

    def requests_a_second(self, path):
        done = subprocess.run(
            ["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{SECONDS}s",
             "-H", f"X-Hermes-Session-Token: {self.token}", f"http://127.0.0.1:{self.port}{path}"],
            text=True, capture_output=True)
        if "Non-2xx" in done.stdout:
            raise RuntimeError(f"{self.name} refuses {path}: {done.stdout}")
        found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
        if not found:
            raise RuntimeError(f"wrk counts nothing: {done.stdout}{done.stderr}")
        return float(found.group(1))

    def board_seconds(self):
        begin = time.perf_counter()
        status, body = self.own(BOARD)
        taken = time.perf_counter() - begin
        cards = sum(len(column["tasks"]) for column in json.loads(body)["columns"])
        if status != 200 or cards != CARDS:
            raise RuntimeError(f"the board of {self.name}: status {status}, {cards} cards")
        return taken

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def seeded(bench, program, home):
    """A home with conversations and cards."""
    environment = {**bench.environment, "HOME": str(home)}
    (home / ".hermes").mkdir(parents=True, mode=0o700)

    def must(*words):
        subprocess.run([program, *words], env=environment, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    for number in range(CARDS):
        must("kanban", "create", f"Card {number:04}")
    # A conversation makes the database of conversations; how it was made does not stay.
    script, settings = home / ".hermes/script.yaml", home / ".hermes/config.yaml"
    script.write_text("turns:\n  - text: Hello.\n")
    settings.write_text("model: {default: demo, provider: replay, script: script.yaml}\n")
    must("chat", "-q", "Hello")
    script.unlink()
    settings.unlink()
    store = sqlite3.connect(home / ".hermes/state.db")
    now = time.time()
    for number in range(SESSIONS):
        begun = now - 60 * number
        store.execute("INSERT INTO sessions (id, source, model, started_at, title, message_count) "
                      "VALUES (?, 'cli', 'some/model', ?, ?, 2)",
                      (f"2026_{number:06}", begun, f"Conversation {number}"))
        for role in ("user", "assistant"):
            store.execute("INSERT INTO messages (session_id, role, content, timestamp) "
                          "VALUES (?, ?, ?, ?)",
                          (f"2026_{number:06}", role, f"Words of conversation {number}", begun))
    store.commit()
    store.close()


def starts(name, program, environment):
    """Whether a dashboard comes up at all; that of 0.15.1 lacks a module in its package on PyPI. The first
    start of a program also makes files that later ones find."""
    try:
        Dashboard(name, program, environment).end()
    except RuntimeError as error:
        if name == "ours":
            raise
        print(f"dashboard: {name} is left out: {str(error).strip().splitlines()[-1]}")
        return False
    return True


def measure(bench, programs, versions, root):
    root = Path(root) / "web"
    seed = root / "seed"
    seeded(bench, programs["ours"], seed)
    names = ["ours", *versions]
    environments = {}
    for name in names:
        shutil.copytree(seed, root / name)
        environments[name] = {**bench.environment, "HOME": str(root / name)}
    names = [name for name in names if starts(name, programs[name], environments[name])]
    figures = {what: {name: [] for name in names}
               for what in ("ready", "memory", "/api/status", "/api/sessions", "board", "shown")}
    for _ in range(ROUNDS):
        for name in names:
            dashboard = Dashboard(name, programs[name], environments[name])
            try:
                figures["ready"][name].append(dashboard.ready_after)
                time.sleep(IDLE)
                figures["memory"][name].append(dashboard.megabytes())
                for path in ("/api/status", "/api/sessions"):
                    figures[path][name].append(dashboard.requests_a_second(path))
                for _ in range(BOARDS):
                    figures["board"][name].append(dashboard.board_seconds())
            finally:
                dashboard.end()
    chromium = Chromium.found()
    for _ in range(PAINTS if chromium else 0):
        for name in names:
            dashboard = Dashboard(name, programs[name], environments[name])
            try:
                page = f"http://127.0.0.1:{dashboard.port}{PAGES.get(name, '/kanban')}"
                shown = chromium.seconds_until(page, f"Card {CARDS - 1:04}", PATIENCE)
                if shown is not None:
                    figures["shown"][name].append(shown)
            finally:
                dashboard.end()
    medians = {what: {name: statistics.median(values) for name, values in of.items() if values}
               for what, of in figures.items()}
    for what, of in medians.items():
        print(f"dashboard, {what}: " + ", ".join(f"{n} {value:.4g}" for n, value in of.items()))
    return medians


ROWS = [
    # (what, figure, how a figure is written, whether more is better)
    ("start to ready", "ready", lambda value: f"{value * 1000:.0f} ms", False),
    ("memory, idle", "memory", lambda value: f"{value:.1f} MB", False),
    ("`/api/status` a second", "/api/status", lambda value: f"{value:.0f}", True),
    ("`/api/sessions` a second", "/api/sessions", lambda value: f"{value:.0f}", True),
    (f"board of {CARDS:,} cards, API", "board", lambda value: f"{value * 1000:.1f} ms", False),
    (f"board of {CARDS:,} cards shown in Chromium", "shown",
     lambda value: f"{value * 1000:.0f} ms", False),
]


def factors(figures, versions):
    for what, name, written, is_rate in ROWS:
        ours = figures[name].get("ours")
        for version in versions:
            theirs = figures[name].get(version)
            if ours and theirs:
                yield what, version, theirs, ours, written, ours / theirs if is_rate else theirs / ours


def judge(figures, versions):
    # What Chromium itself needs for a thousand cards is in both figures of the last row.
    return [f"dashboard, {what}: {factor:.1f}x better than {version}, budget {FACTOR}x"
            for what, version, _, _, _, factor in factors(figures, versions)
            if factor < FACTOR and "Chromium" not in what]


def page(figures, versions):
    out = [
        "", "## The dashboard", "",
        f"`hermes dashboard` on loopback, with {SESSIONS} conversations and {CARDS:,} cards in its home;"
        f" median of {ROUNDS}",
        f"starts, memory after {IDLE:.0f} s without work. The last row has no budget: what Chromium needs",
        "for a thousand cards is in both figures. The dashboard of 0.15.1 does not start from its package: a",
        "module of it is not in there.", "",
        "| Work | Reference | Reference | We | Factor | Budget |",
        "|---|---|---|---|---|---|",
    ]
    for what, version, theirs, ours, written, factor in factors(figures, versions):
        budget = "–" if "Chromium" in what else f"≥ {FACTOR}×"
        out.append(f"| {what} | {version} | {written(theirs)} | {written(ours)} | {factor:.1f}× | {budget} |")
    return [*out, ""]
