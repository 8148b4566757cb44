"""The task board on a PostgreSQL server, beside what the same server does for pgbench.

Used by scripts/bench. The server is one of its own, in a directory on a disk, with Debian's settings:
every commit is forced. Several claimers are several processes; all are on this machine, as the server.
"""

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import bench_board

CLAIMERS = [1, 4, 16]
PAIRS = 400
PGBENCH_SECONDS = 5
SCALE = 10
TICKS = 7
LARGE = 100_000
STARTS = 15
# A worker on another host begins within this many milliseconds after `create` has returned.
START_BUDGET = 50.0

WORKER = """turns:
  - match: {step: 1}
    calls: [{tool: kanban_complete, arguments: {summary: done}}]
  - text: ok
"""


def program(name):
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


def unavailable():
    absent = [name for name in ("initdb", "postgres", "psql", "pgbench") if not program(name)]
    return f"not found: {' '.join(absent)} (Debian: apt-get install postgresql)" if absent else None


class Server:
    """A server in a directory of its own, which lets everybody on this machine in."""

    def __init__(self, work):
        self.directory = Path(tempfile.mkdtemp(prefix="postgres-", dir=work))
        self.account = []
        if os.geteuid() == 0:
            # It does not run as root.
            for path in [*self.directory.parents][:2]:
                path.chmod(0o755)
            shutil.chown(self.directory, "postgres")
            self.account = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        data = str(self.directory / "data")
        subprocess.run([*self.account, program("initdb"), "-U", "boards", "-A", "trust", "-D", data],
                       check=True, stdout=subprocess.DEVNULL, cwd="/")
        self.process = subprocess.Popen(
            [*self.account, program("postgres"), "-D", data, "-c", f"port={self.port}",
             "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        for _ in range(200):
            if subprocess.run(self.psql("postgres", "SELECT 1"), capture_output=True).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError("the server does not answer")

    def words(self, name, *words):
        return [program(name), "-h", "127.0.0.1", "-p", str(self.port), "-U", "boards", *words]

    def psql(self, database, sql):
        return self.words("psql", "-X", "-q", "-A", "-t", "-d", database, "-c", sql)

    def sql(self, database, sql):
        done = subprocess.run(self.psql(database, sql), text=True, capture_output=True, check=True)
        return done.stdout.strip()

    def database(self, name):
        self.sql("postgres", f"CREATE DATABASE {name}")
        return f"postgres://boards@127.0.0.1:{self.port}/{name}?sslmode=disable"

    def close(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


def pgbench(server, clients):
    """Transactions a second of the script that pgbench calls TPC-B-like."""
    words = server.words("pgbench", "-c", str(clients), "-j", "2", "-T", str(PGBENCH_SECONDS), "bench")
    done = subprocess.run(words, text=True, capture_output=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("tps = "))
    return float(line.split()[2])


def pairs(paces, environment, work, claimers):
    """Claims and completions a second of several processes on one board."""
    each = max(PAIRS // claimers, 50)
    processes = [subprocess.Popen(
        [paces, str(work), "together", str(each)], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(claimers)]
    for one in processes:
        if one.stdout.readline().strip() != "ready":
            raise RuntimeError("a claimer did not get ready")
    begin = time.perf_counter()
    for one in processes:
        one.stdin.write("\n")
        one.stdin.flush()
    for one in processes:
        if one.wait() != 0:
            raise RuntimeError("a claimer failed")
    return claimers * each / (time.perf_counter() - begin)


def home_with_worker(directory, address):
    home = Path(directory)
    (home / "profiles" / "coder").mkdir(parents=True)
    script = home / "worker.yaml"
    script.write_text(WORKER)
    (home / "config.yaml").write_text(f"kanban: {{database: '{address}'}}\n")
    (home / "profiles" / "coder" / "config.yaml").write_text(
        f"model: {{provider: replay, script: '{script}'}}\nterminal: {{sandbox: 'off'}}\n")
    return home


def starts(ours, environment, server, work):
    """Milliseconds from the end of `create` in one home to a worker's log in another."""
    address = server.database("starts")
    here = home_with_worker(Path(work) / "here", address)
    there = home_with_worker(Path(work) / "there", address)
    ask = dict(environment, HERMES_HOME=str(here))
    serve = dict(environment, HERMES_HOME=str(there))
    subprocess.run([ours, "kanban", "init"], env=ask, check=True, stdout=subprocess.DEVNULL)
    daemon = subprocess.Popen([ours, "kanban", "daemon"], env=serve, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    daemon.stderr.readline()
    logs = there / "kanban" / "logs"
    times = []
    try:
        for _ in range(STARTS + 1):
            time.sleep(0.5)
            made = subprocess.run([ours, "kanban", "create", "x", "--assignee", "coder", "--json"],
                                  env=ask, text=True, capture_output=True, check=True)
            begin = time.perf_counter()
            log = logs / f"{json.loads(made.stdout)['id']}.log"
            while not log.exists():
                if time.perf_counter() - begin > 30:
                    raise RuntimeError("no worker was started")
                time.sleep(0.0005)
            times.append(1000 * (time.perf_counter() - begin))
    finally:
        daemon.send_signal(signal.SIGINT)
        daemon.wait()
    return statistics.median(times[1:])


def large_board(bench, ours, server, work):
    """Seconds to move a board of many cards to the server, and of a dry tick over it there."""
    board = bench_board.Board(bench, {"ours": ours}, Path(work) / "moved")
    board.fill(LARGE)
    begin = time.perf_counter()
    board.run(ours, ["kanban", "move-board", "--to", server.database("large")])
    moved = time.perf_counter() - begin
    dry = ["kanban", "dispatch", "--dry-run", "--json"]
    return moved, statistics.median(board.seconds(ours, dry) for _ in range(TICKS))


def measure(bench, programs, paces, work):
    ours = programs["ours"]
    server = Server(work)
    try:
        server.sql("postgres", "CREATE DATABASE bench")
        subprocess.run(server.words("pgbench", "-i", "-q", "-s", str(SCALE), "bench"), check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        environment = dict(bench.environment)
        environment["HERMES_KANBAN_DATABASE_URL"] = server.database("pairs")
        figures = {"pairs": {}, "pgbench": {}}
        for claimers in CLAIMERS:
            figures["pgbench"][claimers] = pgbench(server, claimers)
            figures["pairs"][claimers] = pairs(paces, environment, work, claimers)
            print(f"board on a server, {claimers} claimers: {figures['pairs'][claimers]:.0f}/s, "
                  f"pgbench {figures['pgbench'][claimers]:.0f}/s", flush=True)
        figures["moved"], figures["tick"] = large_board(bench, ours, server, work)
        print(f"board on a server, {LARGE:,} cards: moved in {figures['moved']:.1f} s, tick "
              f"{figures['tick'] * 1000:.0f} ms", flush=True)
        figures["start"] = starts(ours, dict(bench.environment), server, work)
    finally:
        server.close()
    print(f"board on a server: a worker elsewhere after {figures['start']:.0f} ms")
    return figures


def judge(figures):
    if figures["start"] > START_BUDGET:
        return [f"a worker in another home begins {figures['start']:.0f} ms after `create`, "
                f"budget {START_BUDGET:.0f} ms"]
    return []


def page(figures):
    out = ["", "## A board on a server", "",
           "PostgreSQL on this machine, on a disk, every commit forced, beside the rate of `pgbench` "
           "(TPC-B-like, one",
           "transaction of five statements) on the same server. A pair is two transactions: a claim and a "
           "completion.", "",
           "| Processes | Claim and complete | `pgbench` |", "|---|---|---|"]
    for claimers in CLAIMERS:
        out.append(f"| {claimers} | {figures['pairs'][claimers]:.0f} /s "
                   f"| {figures['pgbench'][claimers]:.0f} /s |")
    out += ["", f"A dry tick over {LARGE:,} ready cards: {figures['tick'] * 1000:.0f} ms. "
            f"`move-board` takes {figures['moved']:.1f} s for them, check and verification included.",
            f"A worker in another home begins {figures['start']:.0f} ms after `create` has returned "
            f"(budget {START_BUDGET:.0f} ms).", ""]
    return out
