"""The container image: its size, how soon it is ready, and the memory of ten idle gateways, beside the
reference's packages in the same base. Used by scripts/bench."""

import json
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
OURS = "hermes-bench:ours"
VERSION = "0.19.0"
THEIRS = f"hermes-bench:{VERSION}"
PROFILES = 10
ROUNDS = 5
IDLE = 5.0
PATIENCE = 120.0
# How many times smaller, sooner and lighter we must be.
SIZE, READY, MEMORY = 1.5, 4, 5

REFERENCE = f"""\
ARG BASE
FROM ${{BASE}}
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends python3 \\
    && rm -rf /var/lib/apt/lists/*
COPY site-packages /opt/reference
RUN useradd --uid 10000 --home-dir /opt/data --create-home hermes
USER hermes
ENV PYTHONPATH=/opt/reference HERMES_HOME=/opt/data HOME=/opt/data
WORKDIR /opt/data
"""
# One process per profile, as its supervised image has them; without a supervisor of its own here.
THEIR_GATEWAYS = """
for n in $(seq %d); do
  mkdir -p /opt/data/profiles/p$n
  HERMES_HOME=/opt/data/profiles/p$n python3 -m hermes_cli.main gateway run >/tmp/p$n.log 2>&1 &
done
wait
"""
OUR_GATEWAYS = """
for n in $(seq %d); do
  hermes profile create p$n --no-alias >/dev/null && hermes -p p$n gateway start >/dev/null || exit 1
done
"""
# Shared pages are counted once.
MEMORY_SCRIPT = "cat /proc/[0-9]*/smaps_rollup 2>/dev/null | awk '/^Pss:/ { sum += $2 } END { print sum }'"
STATE = "grep -ls '\"gateway_state\": *\"running\"' %s/gateway_state.json | wc -l"


def docker(*words, check=True):
    done = subprocess.run(["docker", *words], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise RuntimeError(f"docker {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def build(binary, packages):
    """Both images; the name of the base they share."""
    subprocess.run([PROJECT / "scripts/image", "--tag", OURS, "--binary", binary], check=True,
                   stdout=subprocess.DEVNULL)
    layers = docker("images", "--format", "{{.Repository}}:{{.Tag}}", "hermes-base")
    base = layers.splitlines()[0]
    with tempfile.TemporaryDirectory(prefix="hermes-bench-image-", dir="/var/tmp") as context:
        shutil.copytree(packages, Path(context) / "site-packages", symlinks=True)
        (Path(context) / "Dockerfile").write_text(REFERENCE)
        subprocess.run(["docker", "build", "--quiet", "--tag", THEIRS, "--build-arg",
                        f"BASE={base}", context], check=True, stdout=subprocess.DEVNULL,
                       env={"DOCKER_BUILDKIT": "0", "PATH": "/usr/local/bin:/usr/bin:/bin"})


def size(image):
    return int(docker("image", "inspect", "--format", "{{.Size}}", image)) / 1e6


def wait_for(container, homes, count, begin):
    """Seconds until that many gateways say that they run."""
    while time.perf_counter() - begin < PATIENCE:
        found = docker("exec", container, "bash", "-c", STATE % homes, check=False)
        if found.isdigit() and int(found) >= count:
            return time.perf_counter() - begin
        time.sleep(0.02)
    raise RuntimeError("no gateway: " + docker("logs", container))


def ready(image, command):
    begin = time.perf_counter()
    container = docker("run", "--detach", image, *command)
    try:
        return wait_for(container, "/opt/data", 1, begin)
    finally:
        docker("rm", "--force", "--volumes", container)


def memory(image, command, after):
    # Gateways show their memory to those who may trace them.
    container = docker("run", "--detach", "--cap-add=SYS_PTRACE", image, *command)
    try:
        if after:
            time.sleep(1)
            docker("exec", "--user", "hermes", container, "bash", "-c", after)
        wait_for(container, "/opt/data/profiles/*", PROFILES, time.perf_counter())
        time.sleep(IDLE)
        kilobytes = docker("exec", "--user", "0", container, "bash", "-c", MEMORY_SCRIPT)
        return int(kilobytes) / 1024
    finally:
        docker("rm", "--force", "--volumes", container)


def measure(binary, packages):
    build(str(binary), packages)
    times = {"ours": [], "theirs": []}
    for _ in range(ROUNDS):
        times["ours"].append(ready(OURS, ["gateway", "run"]))
        times["theirs"].append(ready(THEIRS, ["python3", "-m", "hermes_cli.main", "gateway", "run"]))
    figures = {
        "size": {"ours": size(OURS), "theirs": size(THEIRS)},
        "ready": {name: statistics.median(values) for name, values in times.items()},
        "memory": {
            "ours": memory(OURS, ["sleep", "infinity"], OUR_GATEWAYS % PROFILES),
            "theirs": memory(THEIRS, ["bash", "-c", THEIR_GATEWAYS % PROFILES], None),
        },
    }
    for image in (OURS, THEIRS):
        docker("rmi", "--force", image, check=False)
    print(f"image: {json.dumps(figures)}")
    return figures


BUDGETS = [("size", "image size", SIZE, "{:.0f} MB"), ("ready", "run to a ready gateway", READY, "{:.2f} s"),
           ("memory", f"memory of {PROFILES} idle gateways", MEMORY, "{:.0f} MB")]


def judge(figures):
    misses = []
    for key, what, budget, _ in BUDGETS:
        factor = figures[key]["theirs"] / figures[key]["ours"]
        if factor < budget:
            misses.append(f"{what}: 1/{factor:.1f} of {VERSION}, budget 1/{budget}")
    return misses


def page(figures):
    out = [
        "", "## The container image", "",
        f"Built by `scripts/image`, beside the packages of the reference {VERSION} and Debian's Python on the",
        "same base. Ready: from `docker run … gateway run` to a gateway that says it runs, through the",
        f"supervisor in ours; median of {ROUNDS}. Memory: everything in a container with {PROFILES} profiles'",
        f"gateways, after {IDLE:.0f} s without work, shared pages counted once.", "",
        "| Work | Reference | Ours | Factor | Budget |", "|---|---|---|---|---|",
    ]
    for key, what, budget, form in BUDGETS:
        ours, theirs = figures[key]["ours"], figures[key]["theirs"]
        out.append(f"| {what} | {form.format(theirs)} | {form.format(ours)} | 1/{theirs / ours:.1f} "
                   f"| ≤ 1/{budget} |")
    return [*out, ""]
