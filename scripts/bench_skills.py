"""What skills on disk cost at the start of a conversation.

Used by scripts/bench. One turn with a model server without thinking time, in a home with the bundled
skills only and in one with two hundred more, in turns; the figure is the difference of the medians.
"""

import time
from pathlib import Path

from bench_agent import settings, turns_of_homes
from bench_model_server import ModelServer

ROUNDS = 31
SKILLS = 200
MOST_MILLISECONDS = 3.0
TEXT = "A step of the skill, with a few words.\n" * 150


def measure(bench, programs, root):
    """Medians in seconds, with and without the skills."""
    server = ModelServer()
    places = {}
    for count in (0, SKILLS):
        home = Path(root) / f"skills-{count}"
        settings(home, "ours", server.base_url(0))
        for number in range(count):
            skill = home / ".hermes" / "skills" / f"category-{number % 12}" / f"skill-{number}"
            skill.mkdir(parents=True)
            (skill / "SKILL.md").write_text(
                f"---\nname: skill-{number}\ndescription: Does the thing number {number}\n"
                f"metadata:\n  hermes:\n    tags: [a, b]\n---\n{TEXT}")
        places[count] = bench.environment | {"HOME": str(home)}
    # What has just been written is not kept yet.
    time.sleep(2)
    medians = turns_of_homes(programs["ours"], places, root, ROUNDS)
    print("skills: " + ", ".join(f"{count}: {value * 1000:.1f} ms"
                                 for count, value in medians.items()))
    return medians


def cost(figures):
    return (figures[SKILLS] - figures[0]) * 1000


def judge(figures):
    if cost(figures) > MOST_MILLISECONDS:
        return [f"{SKILLS} skills: {cost(figures):.1f} ms at start, budget {MOST_MILLISECONDS} ms"]
    return []


def page(figures):
    return [
        "", "## Skills on disk", "",
        f"`hermes chat -Q --yolo -q go` in a home with the bundled skills, and in one with {SKILLS} "
        f"more. Median of {ROUNDS} runs each, in turns.", "",
        "| Skills | One turn | More | Budget |", "|---|---|---|---|",
        f"| bundled | {figures[0] * 1000:.1f} ms | | |",
        f"| + {SKILLS} | {figures[SKILLS] * 1000:.1f} ms | {cost(figures):.1f} ms "
        f"| ≤ {MOST_MILLISECONDS:.0f} ms |", "",
    ]
