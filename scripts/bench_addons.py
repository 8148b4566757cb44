"""What installed add-ons cost commands that do not need them.

Used by scripts/bench. A plain command in a home without add-ons and in one with twenty that are
installed, in turns; the figure is the difference of the medians. The store is made by hand, as twenty
installs would leave it: nothing of it is ever run. `addons list` is measured in the second home.
"""

import json
import os
import statistics
import subprocess
import time
from pathlib import Path

ROUNDS = 101
ADDONS = 20
FILES = 200
MOST_MILLISECONDS = 1.0
MOST_LIST_MILLISECONDS = 50.0
PLAIN = ["profile", "list"]


def store(home):
    """Twenty environments of two hundred files each, and their index."""
    root = home / ".hermes" / "lazy-packages"
    root.mkdir(parents=True, mode=0o700)
    root.chmod(0o700)
    (root / ".python-abi").write_text("3.12:.cpython-312-x86_64-linux-gnu.so")
    generation = "20260101T000000Z-00000000"
    features = {}
    names = ["debug.selftest", "platform.feishu", "skill.google_workspace", "skill.youtube",
             "stt.faster_whisper", "terminal.modal", "tts.espeak", "tts.piper"]
    names += [f"npm:package-{number}" for number in range(ADDONS - len(names))]
    for name in names:
        parent = "@node" if name.startswith("npm:") else "@envs"
        directory = root / parent / name / generation
        site = directory / "site"
        site.mkdir(parents=True)
        for number in range(FILES):
            (site / f"module_{number}.py").write_text("pass\n")
        (directory / "record.json").write_text("{}")
        features[name] = {"current": generation, "lock_sha256": "0" * 64, "version": "1.0.0",
                          "kind": "node" if parent == "@node" else "python", "bytes": FILES * 5,
                          "interpreter": os.path.realpath("/bin/sh"), "abi": ""}
    (root / ".hermes-addons.json").write_text(json.dumps({"schema": 1, "features": features}))


def seconds(program, arguments, environment, root):
    begun = time.perf_counter()
    subprocess.run([program, *arguments], cwd=root, env=environment, stdin=subprocess.DEVNULL,
                   capture_output=True, check=True)
    return time.perf_counter() - begun


def measure(bench, programs, root):
    """Medians in seconds: a plain command without and with add-ons, and the list of them."""
    homes = {}
    for count in (0, ADDONS):
        home = Path(root) / f"addons-{count}"
        (home / ".hermes").mkdir(parents=True, mode=0o700)
        homes[count] = bench.environment | {"HOME": str(home)}
        if count:
            store(home)
    listed = subprocess.run([programs["ours"], "addons", "list", "--all", "--json"], cwd=root,
                            env=homes[ADDONS], stdin=subprocess.DEVNULL, capture_output=True,
                            check=True)
    there = [row for row in json.loads(listed.stdout)["addons"] if row["generation"]]
    assert len(there) == ADDONS, f"{len(there)} add-ons are listed"
    runs = {0: [], ADDONS: [], "list": []}
    for _ in range(ROUNDS):
        for count in (0, ADDONS):
            runs[count].append(seconds(programs["ours"], PLAIN, homes[count], root))
        runs["list"].append(seconds(programs["ours"], ["addons", "list"], homes[ADDONS], root))
    medians = {what: statistics.median(values) for what, values in runs.items()}
    print("add-ons: " + ", ".join(f"{what}: {value * 1000:.2f} ms"
                                  for what, value in medians.items()))
    return medians


def cost(figures):
    return (figures[ADDONS] - figures[0]) * 1000


def judge(figures):
    misses = []
    if cost(figures) > MOST_MILLISECONDS:
        misses.append(f"{ADDONS} add-ons: {cost(figures):.2f} ms at start, "
                      f"budget {MOST_MILLISECONDS} ms")
    if figures["list"] * 1000 > MOST_LIST_MILLISECONDS:
        misses.append(f"addons list: {figures['list'] * 1000:.1f} ms, "
                      f"budget {MOST_LIST_MILLISECONDS} ms")
    return misses


def page(figures):
    return [
        "", "## Add-ons", "",
        f"`hermes {' '.join(PLAIN)}` in a home without add-ons, and in one with {ADDONS} of {FILES} "
        f"files each; `hermes addons list` in the second. Median of {ROUNDS} runs each, in turns.", "",
        "| Work | Time | Budget |", "|---|---|---|",
        f"| without add-ons | {figures[0] * 1000:.2f} ms | |",
        f"| with {ADDONS} | {figures[ADDONS] * 1000:.2f} ms | "
        f"{cost(figures):+.2f} ms, at most {MOST_MILLISECONDS:.0f} ms more |",
        f"| `addons list` | {figures['list'] * 1000:.2f} ms | "
        f"at most {MOST_LIST_MILLISECONDS:.0f} ms |", "",
    ]
