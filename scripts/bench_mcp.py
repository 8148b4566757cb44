"""What configured MCP servers cost at the start of a conversation.

Used by scripts/bench. One turn with a model server without thinking time, in a home without MCP
servers and in one with twenty whose tools are known from an earlier conversation, in turns; the
figure is the difference of the medians.
"""

import subprocess
import sys
from pathlib import Path

from bench_agent import settings, turns_of_homes
from bench_model_server import ModelServer

ROUNDS = 31
SERVERS = 20
MOST_MILLISECONDS = 5.0
PROGRAM = Path(__file__).resolve().parent.parent / "crates/hermes/tests/mcp/programs/server.py"


def measure(bench, programs, root):
    """Medians in seconds, with and without the servers."""
    server = ModelServer()
    places = {}
    for count in (0, SERVERS):
        home = Path(root) / f"mcp-{count}"
        settings(home, "ours", server.base_url(0))
        places[count] = bench.environment | {"HOME": str(home)}
        if count:
            with (home / ".hermes" / "config.yaml").open("a") as file:
                file.write("mcp_servers:\n")
                for number in range(count):
                    file.write(f"  server-{number}: {{command: {sys.executable}, "
                               f"args: [{PROGRAM}, number-{number}]}}\n")
            for number in range(count):
                subprocess.run([programs["ours"], "mcp", "test", f"server-{number}"], cwd=root,
                               env=places[count], stdin=subprocess.DEVNULL, capture_output=True,
                               check=True)
    medians = turns_of_homes(programs["ours"], places, root, ROUNDS)
    print("MCP servers: " + ", ".join(f"{count}: {value * 1000:.1f} ms"
                                      for count, value in medians.items()))
    return medians


def cost(figures):
    return (figures[SERVERS] - figures[0]) * 1000


def judge(figures):
    if cost(figures) > MOST_MILLISECONDS:
        return [f"{SERVERS} MCP servers: {cost(figures):.1f} ms at start, "
                f"budget {MOST_MILLISECONDS} ms"]
    return []


def page(figures):
    return [
        "", "## MCP servers", "",
        f"`hermes chat -Q --yolo -q go` in a home without MCP servers, and in one with {SERVERS} of "
        f"nine tools each. Median of {ROUNDS} runs each, in turns; no server is started.", "",
        "| Servers | One turn | More | Budget |", "|---|---|---|---|",
        f"| none | {figures[0] * 1000:.1f} ms | | |",
        f"| {SERVERS} | {figures[SERVERS] * 1000:.1f} ms | {cost(figures):.1f} ms "
        f"| ≤ {MOST_MILLISECONDS:.0f} ms |", "",
    ]
