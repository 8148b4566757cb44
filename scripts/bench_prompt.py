"""What the first request carries before the user has said anything: system prompt and tool schemas.

Used by scripts/bench. Every program opens a conversation with the same toolsets in a fresh home; the
first request to the model is counted in bytes, as JSON without spaces, and in tokens of `o200k_base`,
counted by `rs-bpe` from PyPI, which brings its tables along. The index of skills is left out on all
sides: it grows with what is on disk.
"""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

from bench_agent import settings
from bench_model_server import ModelServer

LEAST_SAVED = 0.30
TOOLSETS = ("terminal,file,todo,memory,session_search,clarify,code_execution,delegation,cronjob,"
            "skills")
TOKENIZER = "rs-bpe==0.1.0"
SKILLS = re.compile(r"<available_skills>.*?</available_skills>\s*", re.DOTALL)
# Reads texts as a JSON list, writes their numbers of tokens as one.
COUNT = """
import json, sys
from rs_bpe.bpe import openai
tokens = openai.o200k_base()
print(json.dumps([tokens.count(text) for text in json.load(sys.stdin)]))
"""


class RecordingServer(ModelServer):
    """Keeps the bodies of the requests to the model."""

    def __init__(self):
        self.bodies = []
        self.bodies_lock = threading.Lock()
        super().__init__()

    def answered(self, path, body):
        if path.endswith("/completions") and body:
            with self.bodies_lock:
                self.bodies.append(json.loads(body))
        return super().answered(path, body)

    def first_request(self):
        """The first body with tools since the last time; a title asks without."""
        with self.bodies_lock:
            bodies, self.bodies = self.bodies, []
        return next((body for body in bodies if body.get("tools")), None)


def install_tokenizer(directory):
    """A Python with the tokenizer."""
    place = Path(directory) / TOKENIZER.replace("==", "-")
    python = place / "bin/python"
    works = lambda: subprocess.run([python, "-c", "import rs_bpe"],
                                   capture_output=True).returncode == 0
    if not (python.exists() and works()):
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        TOKENIZER], check=True)
    return str(python)


def measure(bench, programs, versions, tokenizer, root):
    """Bytes and tokens of system prompt and schemas, and the names of the tools, per program."""
    server = RecordingServer()
    texts = {}
    names = {}
    for name in ["ours", *versions]:
        home = Path(root) / f"prompt-{name}"
        settings(home, name, server.base_url(0))
        work = home / "work"
        work.mkdir()
        subprocess.run([programs[name], "chat", "-Q", "--yolo", "-t", TOOLSETS, "-q", "go"],
                       env=bench.environment | {"HOME": str(home)}, cwd=work,
                       stdin=subprocess.DEVNULL, capture_output=True, check=True)
        request = server.first_request()
        if request is None:
            raise RuntimeError(f"{name} made no request with tools")
        system = "\n".join(text_of(message["content"]) for message in request["messages"]
                           if message["role"] == "system")
        schemas = json.dumps(request["tools"], ensure_ascii=False, separators=(",", ":"))
        texts[name] = (SKILLS.sub("", system), schemas)
        names[name] = sorted(tool["function"]["name"] for tool in request["tools"])
    flat = [text for pair in texts.values() for text in pair]
    done = subprocess.run([tokenizer, "-c", COUNT], input=json.dumps(flat), text=True,
                          capture_output=True, check=True)
    counts = iter(json.loads(done.stdout))
    figures = {}
    for name, pair in texts.items():
        figures[name] = {
            "bytes": [len(text.encode()) for text in pair],
            "tokens": [next(counts) for _ in pair],
            "tools": names[name],
        }
    print("fixed prompt: " + ", ".join(
        f"{name} {sum(one['bytes'])} bytes {sum(one['tokens'])} tokens"
        for name, one in figures.items()))
    return figures


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def saved(figures, version, unit):
    return 1 - sum(figures["ours"][unit]) / sum(figures[version][unit])


def judge(figures, versions):
    misses = []
    for version in versions:
        if figures["ours"]["tools"] != figures[version]["tools"]:
            differing = set(figures["ours"]["tools"]) ^ set(figures[version]["tools"])
            misses.append(f"fixed prompt: other tools than {version}: {', '.join(sorted(differing))}")
        for unit in ("bytes", "tokens"):
            share = saved(figures, version, unit)
            if share < LEAST_SAVED:
                misses.append(f"fixed prompt: {share:.0%} fewer {unit} than {version}, "
                              f"budget {LEAST_SAVED:.0%}")
    return misses


def page(figures, versions):
    out = [
        "", "## The fixed prompt", "",
        "System prompt and tool schemas of the first request of `hermes chat -t TOOLSETS`, without "
        "the index of skills, which grows with what is on disk.",
        f"Toolsets: {TOOLSETS.replace(',', ', ')}; the same {len(figures['ours']['tools'])} tools "
        "everywhere.",
        "Bytes of JSON without spaces; tokens of `o200k_base`, counted with "
        f"`{TOKENIZER.split('==')[0]}`.", "",
        "| Reference | | Its system | Its schemas | Our system | Our schemas | Saved | Budget |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for version in versions:
        for unit in ("bytes", "tokens"):
            theirs, ours = figures[version][unit], figures["ours"][unit]
            out.append(f"| {version} | {unit} | {theirs[0]:,} | {theirs[1]:,} | {ours[0]:,} "
                       f"| {ours[1]:,} | {saved(figures, version, unit):.0%} "
                       f"| ≥ {LEAST_SAVED:.0%} |")
    out.append("")
    return out
