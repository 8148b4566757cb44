"""The task board: this program beside the reference, and beside itself on a board ten times as large.

Used by scripts/bench. Boards are filled with SQL, the same rows for every program; whole programs
and ticks are asked in turns, so that a busy machine hurts all alike; the figure is the median.
"""

import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROUNDS = 15
SMALL, MANY, LARGE = 20, 10_000, 100_000
PAIRS = 500
PAIR_ROUNDS = 5
# What the log of a claim and a completion grows by: 19 pages, each with its header.
PAIR_BYTES = 19 * (4096 + 24)
# The log is written from its beginning again after so many bytes.
LOG_BYTES = 4 << 20
MEMORY = Path("/dev/shm")

# How many times faster than the reference.
LIST_SMALL, LIST_MANY, TICK, PAIR = 40, 8, 8, 3
# What a tick may take with ten times as many cards, and what reading one card or one page may.
TICK_GROWTH = 5.0
READ_GROWTH = 1.5
# Seconds below which a difference is noise.
NOISE = 0.001

# Run inside the reference's own interpreter.
REFERENCE_TICKS = r"""
import sys, time, logging
logging.disable(logging.CRITICAL)
from hermes_cli import kanban_db as kb
connection = kb.connect()
answers = sys.stdout
sys.stdout = sys.stderr
for line in sys.stdin:
    begin = time.perf_counter()
    result = kb.dispatch_once(connection, dry_run=True)
    print(time.perf_counter() - begin, len(result.spawned), file=answers, flush=True)
"""
REFERENCE_PAIRS = r"""
import sys, time, logging
logging.disable(logging.CRITICAL)
from hermes_cli import kanban_db as kb
connection = kb.connect()
cards = [kb.create_task(connection, title=f"card {n}", body="x" * 200, assignee="coder")
         for n in range(int(sys.argv[1]))]
begin = time.perf_counter()
for card in cards:
    assert kb.claim_task(connection, card)
    assert kb.complete_task(connection, card, result="ok")
print(time.perf_counter() - begin)
"""


class Board:
    """A home with a board of its own."""

    def __init__(self, bench, programs, directory):
        self.home = Path(directory)
        self.environment = dict(bench.environment, HERMES_HOME=str(self.home))
        self.environment.pop("HERMES_KANBAN_HOME", None)
        (self.home / "profiles" / "coder").mkdir(parents=True)
        # All three open it once, so that nobody pays for making or migrating it.
        for program in programs.values():
            self.run(program, ["kanban", "list"])

    def run(self, program, arguments):
        done = subprocess.run([program, *arguments], env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"{program} {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def seconds(self, program, arguments):
        redirect = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
        begin = time.perf_counter()
        child = os.posix_spawn(program, [program, *arguments], self.environment,
                               file_actions=redirect)
        _, status = os.waitpid(child, 0)
        elapsed = time.perf_counter() - begin
        if status != 0:
            raise RuntimeError(f"{program} {' '.join(arguments)} ended with status {status}")
        return elapsed

    def fill(self, ready, done=0):
        """Cards for one profile, ready or long done, with what the programs write beside them."""
        numbers = random.Random(5)
        database = sqlite3.connect(self.home / "kanban.db", isolation_level=None)
        database.execute("BEGIN IMMEDIATE")
        now = int(time.time())
        kinds = ["ready"] * ready + ["done"] * done
        numbers.shuffle(kinds)
        for number, status in enumerate(kinds):
            card = f"t_{number:08x}"
            made = now - 86400 * 30 + number % 86400
            finished = made + 600 if status == "done" else None
            database.execute(
                "INSERT INTO tasks (id, title, body, assignee, status, priority, created_by,"
                " created_at, started_at, completed_at, workspace_kind)"
                " VALUES (?, ?, ?, 'coder', ?, ?, 'user', ?, ?, ?, 'scratch')",
                (card, f"card number {number}", "x" * 200, status, number % 5, made, finished,
                 finished))
            database.execute(
                "INSERT INTO task_events (task_id, kind, payload, created_at) VALUES"
                " (?, 'created', '{\"assignee\":\"coder\",\"status\":\"ready\"}', ?)",
                (card, made))
            if finished:
                run = database.execute(
                    "INSERT INTO task_runs (task_id, profile, status, started_at, ended_at,"
                    " outcome, summary) VALUES (?, 'coder', 'done', ?, ?, 'completed', 'ok')",
                    (card, made, finished)).lastrowid
                database.execute(
                    "INSERT INTO task_events (task_id, run_id, kind, payload, created_at) VALUES"
                    " (?, ?, 'completed', '{\"result_len\":2,\"summary\":\"ok\"}', ?)",
                    (card, run, finished))
        database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        return f"t_{ready // 2:08x}"


class ReferenceTicks:
    """A reference that keeps the board open, as its gateway does."""

    def __init__(self, python, board, cards):
        self.cards = cards
        self.process = subprocess.Popen(
            [python, "-c", REFERENCE_TICKS], env=board.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def seconds(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        seconds, cards = self.process.stdout.readline().split()
        if int(cards) != self.cards:
            raise RuntimeError(f"{cards} cards in a dry tick over {self.cards}")
        return float(seconds)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def python_of(program):
    return str(Path(program).with_name("python"))


def in_turns(ask, rounds):
    """Medians of functions that give seconds, asked in turns."""
    for one in ask.values():
        one()
    times = {name: [] for name in ask}
    for _ in range(rounds):
        for name, one in ask.items():
            times[name].append(one())
    return {name: statistics.median(values) for name, values in times.items()}


def pairs(bench, programs, paces, versions, work):
    """Claims and completions a second, each time on a fresh board below `work`."""
    rates = {name: [] for name in ["ours", *versions]}
    for _ in range(PAIR_ROUNDS):
        for name in rates:
            place = Path(tempfile.mkdtemp(prefix=f"pairs-{name}-", dir=work))
            environment = dict(bench.environment, HERMES_HOME=str(place))
            command = ([paces, str(place), "pairs", str(PAIRS)] if name == "ours" else
                       [python_of(programs[name]), "-c", REFERENCE_PAIRS, str(PAIRS)])
            done = subprocess.run(command, env=environment, text=True, capture_output=True)
            shutil.rmtree(place)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(command[:1])}: {done.stderr}")
            rates[name].append(PAIRS / float(done.stdout.split()[-1]))
    return {name: statistics.median(values) for name, values in rates.items()}


def disk_alone(work):
    """How often a second this disk takes the bytes of one pair and says that they are safe."""
    block = os.urandom(PAIR_BYTES)
    rates = []
    with tempfile.NamedTemporaryFile(dir=work, buffering=0) as log:
        log.write(os.urandom(LOG_BYTES))
        os.fdatasync(log.fileno())
        for _ in range(PAIR_ROUNDS):
            begin = time.perf_counter()
            for number in range(PAIRS):
                os.pwrite(log.fileno(), block, number * PAIR_BYTES % (LOG_BYTES - PAIR_BYTES))
                os.fdatasync(log.fileno())
            rates.append(PAIRS / (time.perf_counter() - begin))
    return statistics.median(rates)


def measure(bench, programs, paces, versions, work):
    ours = programs["ours"]
    list_small = ["kanban", "list"]
    list_json = ["kanban", "list", "--json"]
    dry = ["kanban", "dispatch", "--dry-run", "--json"]
    page_of_list = ["kanban", "list", "--limit", "50"]

    small = Board(bench, programs, Path(work) / "small")
    small.fill(SMALL)
    many = Board(bench, programs, Path(work) / "many")
    card = many.fill(MANY)
    mixed = Board(bench, {"ours": ours}, Path(work) / "mixed")
    mixed_card = mixed.fill(MANY, LARGE - MANY)
    large = Board(bench, {"ours": ours}, Path(work) / "large")
    large.fill(LARGE)

    def whole(board, arguments):
        return {name: (lambda program=programs[name]: board.seconds(program, arguments))
                for name in ["ours", *versions]}

    figures = {
        "list_small": in_turns(whole(small, list_small), ROUNDS),
        "list_many": in_turns(whole(many, list_json), ROUNDS),
    }
    ticking = {version: ReferenceTicks(python_of(programs[version]), many, MANY)
               for version in versions}
    ask = {"ours": lambda: many.seconds(ours, dry)}
    ask |= {version: one.seconds for version, one in ticking.items()}
    figures["tick"] = in_turns(ask, ROUNDS)
    for one in ticking.values():
        one.close()
    figures["pairs"] = pairs(bench, programs, paces, versions, work)
    figures["pairs"]["disk"] = disk_alone(work)
    if MEMORY.is_dir():
        figures["pairs, no disk"] = pairs(bench, programs, paces, versions, MEMORY)
    figures["growth"] = in_turns({
        "tick": lambda: many.seconds(ours, dry),
        "tick, large": lambda: mixed.seconds(ours, dry),
        "tick, all ready": lambda: large.seconds(ours, dry),
        "list": lambda: many.seconds(ours, page_of_list),
        "list, large": lambda: mixed.seconds(ours, page_of_list),
        "show": lambda: many.seconds(ours, ["kanban", "show", card]),
        "show, large": lambda: mixed.seconds(ours, ["kanban", "show", mixed_card]),
    }, ROUNDS)
    # One card in progress and room for no other: a look that decides about all the rest.
    many.run(ours, ["kanban", "claim", card])
    look = ["kanban", "dispatch", "--max", "1", "--json"]
    figures["look"] = in_turns({"ours": lambda: many.seconds(ours, look)}, ROUNDS)
    for what, times in figures.items():
        unit = (lambda n: f"{n:.0f}/s") if what.startswith("pairs") else (lambda n: f"{n * 1000:.2f} ms")
        print(f"board, {what}: " + ", ".join(f"{n} {unit(t)}" for n, t in times.items()))
    return figures


# (what, key of the figures, times faster)
BESIDE = [
    ("`kanban list`, a small board", "list_small", LIST_SMALL),
    (f"`kanban list --json`, {MANY:,} cards", "list_many", LIST_MANY),
    (f"dry tick, {MANY:,} ready", "tick", TICK),
]
# (what, of the smaller board, of the larger one, how much longer it may take)
GROWTH = [
    (f"dry tick, {LARGE:,} cards, {MANY:,} of them ready", "tick", "tick, large", TICK_GROWTH),
    ("`kanban list --limit 50`", "list", "list, large", READ_GROWTH),
    ("`kanban show`", "show", "show, large", READ_GROWTH),
]


def disk_is_the_limit(figures, version):
    """Whether the budget is met where there is no disk, so that only the disk keeps us from it."""
    without = figures.get("pairs, no disk")
    return without is not None and without["ours"] >= PAIR * without[version]


def judge(figures, versions):
    misses = []
    for what, key, factor in BESIDE:
        for version in versions:
            ratio = figures[key][version] / figures[key]["ours"]
            if ratio < factor:
                misses.append(f"{what}: {ratio:.1f}x faster than {version}, budget {factor}x")
    for version in versions:
        ratio = figures["pairs"]["ours"] / figures["pairs"][version]
        if ratio < PAIR and not disk_is_the_limit(figures, version):
            misses.append(f"claim and complete: {ratio:.1f}x {version}, budget {PAIR}x")
    growth = figures["growth"]
    for what, few, more, most in GROWTH:
        if growth[more] > growth[few] * most + NOISE:
            misses.append(f"{what}: {growth[more] / growth[few]:.1f}x of {MANY:,} cards, "
                          f"budget {most}x")
    return misses


def waits_for_the_disk(figures):
    without = figures.get("pairs, no disk")
    if without is None:
        return []
    ours, memory, disk = (1e6 / rate for rate in
                          (figures["pairs"]["ours"], without["ours"], figures["pairs"]["disk"]))
    return ["",
            f"A pair takes {ours:.0f} µs here, {memory:.0f} µs on a file system in memory; the disk "
            f"alone needs {disk:.0f} µs for the",
            f"{PAIR_BYTES // 1024} KB of its log and their `fdatasync`. So "
            f"{100 * (ours - memory) / ours:.0f} % of it is the disk; the pages are those of the "
            "reference's",
            "own tables and indexes, and each pair waits for the disk once."]


def page(figures, versions):
    out = [
        "", "## The board", "",
        f"Whole programs, {ROUNDS} times in turns; the tick of the reference alone is measured "
        "inside a process that has",
        "the board open. Claiming and completing is measured inside a process in both, "
        f"{PAIRS} cards, a transaction each.", "",
        "| Work | Reference | It takes | We take | Faster | Budget |", "|---|---|---|---|---|---|",
    ]
    for what, key, factor in BESIDE:
        ours = figures[key]["ours"]
        for version in versions:
            its = figures[key][version]
            out.append(f"| {what} | {version} | {its * 1000:.0f} ms | {ours * 1000:.2f} ms "
                       f"| {its / ours:.0f}× | ≥ {factor}× |")
    for version in versions:
        its, ours = figures["pairs"][version], figures["pairs"]["ours"]
        out.append(f"| claim and complete | {version} | {its:.0f} /s | {ours:.0f} /s "
                   f"| {ours / its:.1f}× | ≥ {PAIR}× or the disk's limit |")
    out += waits_for_the_disk(figures)
    growth = figures["growth"]
    out += ["", f"| Work here | {MANY:,} cards | {LARGE:,} cards | Ratio | Budget |",
            "|---|---|---|---|---|"]
    for what, few, more, most in GROWTH:
        out.append(f"| {what} | {growth[few] * 1000:.2f} ms | {growth[more] * 1000:.2f} ms "
                   f"| {growth[more] / growth[few]:.2f} | ≤ {most} |")
    out += ["", f"A tick over {MANY:,} ready cards without room for any: "
            f"{figures['look']['ours'] * 1000:.0f} ms. A dry tick over {LARGE:,} ready cards: "
            f"{growth['tick, all ready'] * 1000:.0f} ms.", ""]
    return out
