"""Commands in a container: this program beside the engine's own client and beside the reference.

Used by scripts/bench. All run in containers of the same image on the same engine and are asked in
turns; the figure is the median. Nothing is left behind: containers made meanwhile are removed.
"""

import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import bench_terminal

CALLS = 100
ATTACHES = 9
IMAGE = "hermes-test-debian"
# What `true` may take, as a share of `docker exec` and of the reference; what attaching may.
OF_OTHERS = 1 / 8
ATTACH_OF_REFERENCE = 1 / 3
# Only this version attaches to containers of earlier processes.
ATTACHING = "0.19.0"

# Runs inside the reference's own interpreter: first the time to make or find the container and run
# `true`, then a command per line, seconds per line.
REFERENCE = r"""
import sys, time, logging
logging.disable(logging.CRITICAL)
from tools.environments.docker import DockerEnvironment
answers = sys.stdout
sys.stdout = sys.stderr
begin = time.perf_counter()
environment = DockerEnvironment(image=sys.argv[1], cwd="/root", timeout=60, task_id="bench")
environment.execute("true")
print(time.perf_counter() - begin, file=answers, flush=True)
for line in sys.stdin:
    begin = time.perf_counter()
    result = environment.execute(line.rstrip("\n"))
    elapsed = time.perf_counter() - begin
    print(elapsed if result["returncode"] == 0 else "failed", file=answers, flush=True)
environment.cleanup()
"""


class Reference(bench_terminal.Reference):
    """The reference's container environment, one session."""

    def __init__(self, python, bench, directory):
        self.process = subprocess.Popen(
            [python, "-c", REFERENCE, IMAGE], env=bench.environment, cwd=directory, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.first = float(self.process.stdout.readline())


class Ours(bench_terminal.Ours):
    """`hermes tools call --stdin` with the settings of a container."""

    def __init__(self, program, bench, directory):
        variables = {"TERMINAL_ENV": "docker", "TERMINAL_DOCKER_IMAGE": IMAGE}
        self.process = subprocess.Popen(
            [program, "tools", "call", "--stdin"], env=bench.environment | variables,
            cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def docker(*arguments):
    return subprocess.run(["docker", *arguments], text=True, capture_output=True, check=False)


def containers():
    return set(docker("ps", "-aq", "--filter", "name=hermes-").stdout.split())


def suite():
    """The release of Debian this machine has, for which it reaches the packages; else the stable."""
    try:
        release = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        release = []
    names = [line.partition("=")[2] for line in release if line.startswith("VERSION_CODENAME=")]
    return names[0] if names else "stable"


def unavailable():
    """Why nothing can be measured here; makes the image if that is all that is missing."""
    if not shutil.which("docker"):
        return "docker was not found (Debian: apt-get install docker.io)"
    if docker("version").returncode != 0:
        return "no Docker engine answers; start dockerd"
    if docker("image", "inspect", IMAGE).returncode == 0:
        return None
    if not shutil.which("mmdebstrap"):
        return "mmdebstrap was not found (Debian: apt-get install mmdebstrap)"
    with tempfile.TemporaryDirectory(prefix="hermes-bench-image-") as place:
        archive = str(Path(place) / "debian.tar")
        # A mirror that lags behind does as well: nothing here depends on the newest packages.
        made = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--include=procps",
                               "--aptopt=Acquire::Check-Valid-Until \"false\"", suite(), archive],
                              check=False)
        if made.returncode != 0 or docker("import", archive, IMAGE).returncode != 0:
            return f"the image {IMAGE} could not be made"
    return None


def measure(bench, programs, versions, directory):
    """Medians of `true` in a warm session, and of attaching to a running container."""
    before = containers()
    try:
        return measured(bench, programs, versions, directory)
    finally:
        for container in containers() - before:
            docker("rm", "-f", container)


def measured(bench, programs, versions, directory):
    ours = Ours(programs["ours"], bench, directory)
    ours.seconds("true")
    pythons = {version: str(Path(programs[version]).with_name("python")) for version in versions}
    references = {version: Reference(pythons[version], bench, directory) for version in versions}
    bare = docker("run", "-d", "--init", "--name", "hermes-bench-bare", IMAGE, "sleep",
                  "infinity").stdout.strip()
    client = shutil.which("docker")
    ask = {"ours": lambda: ours.seconds("true"),
           "docker exec": lambda: bench.seconds(client, ["exec", bare, "true"])}
    ask |= {version: (lambda one=one: one.seconds("true")) for version, one in references.items()}
    for _ in range(5):
        for one in ask.values():
            one()
    times = {name: [] for name in ask}
    for _ in range(CALLS):
        for name, one in ask.items():
            times[name].append(one())
    figures = {"short": {name: statistics.median(values) for name, values in times.items()}}
    figures["series"] = {"ours": statistics.median(ours.seconds("true") for _ in range(CALLS))}

    attach = {"ours": [], ATTACHING: []}
    for _ in range(ATTACHES):
        another = Ours(programs["ours"], bench, directory)
        time.sleep(0.1)
        attach["ours"].append(another.seconds("true"))
        another.close()
        another = Reference(pythons[ATTACHING], bench, directory)
        attach[ATTACHING].append(another.first)
        another.close()
    figures["attach"] = {name: statistics.median(values) for name, values in attach.items()}
    for one in [ours, *references.values()]:
        one.close()
    for what, medians in figures.items():
        print(f"container {what}: "
              + ", ".join(f"{n} {t * 1000:.2f} ms" for n, t in medians.items()))
    return figures


def judge(figures, versions):
    misses = []
    short, attach = figures["short"], figures["attach"]
    for other in ["docker exec", *versions]:
        share = short["ours"] / short[other]
        if share > OF_OTHERS:
            misses.append(f"container `true`: 1/{1 / share:.1f} of {other}, budget 1/8")
    share = attach["ours"] / attach[ATTACHING]
    if share > ATTACH_OF_REFERENCE:
        misses.append(f"container attach: 1/{1 / share:.1f} of {ATTACHING}, budget 1/3")
    return misses


def page(figures, versions):
    short, attach = figures["short"], figures["attach"]
    ours = short["ours"] * 1000
    out = [
        "", "## Commands in a container", "",
        f"`true`, {CALLS} times in turns, each in a warm session, as above; containers of one image "
        "on one engine.",
        "Attaching: a fresh process, from its first command to the answer, in a container that runs.",
        "", "| Beside | It takes | We take | Ratio | Budget |", "|---|---|---|---|---|",
    ]
    names = {"docker exec": "`docker exec` of `true`"}
    for other in ["docker exec", *versions]:
        name = names.get(other, f"reference {other}")
        out.append(f"| {name} | {short[other] * 1000:.1f} ms | {ours:.2f} ms "
                   f"| 1/{short[other] / short['ours']:.1f} | ≤ 1/8 |")
    out.append(f"| reference {ATTACHING}, attaching | {attach[ATTACHING] * 1000:.0f} ms "
               f"| {attach['ours'] * 1000:.0f} ms | 1/{attach[ATTACHING] / attach['ours']:.1f} "
               "| ≤ 1/3 |")
    out += ["", "One directly after the other, without the turns of the others in between, `true` takes "
            f"{figures['series']['ours'] * 1000:.2f} ms:",
            "then the start of the next command's shell counts."]
    return out + [""]
