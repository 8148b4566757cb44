"""The API of a gateway beside the reference's: plain requests by the second, and one turn of a chat.

Used by scripts/bench. Requests are counted by wrk, over 32 connections that are kept. The model of a
turn is a server without thinking time (bench_model_server), so that what is measured is the gateway;
every chat begins a conversation of its own. The programs take turns; the figure is the median.
"""

import http.client
import json
import re
import socket
import statistics
import subprocess
import time
from pathlib import Path

import bench_agent
from bench_gateway import PATIENCE, Gateway
from bench_model_server import ModelServer

CONNECTIONS = 32
SECONDS = 3
ROUNDS = 3
CHATS = 15
KEY = "0123456789abcdef0123456789abcdef"

# How many times more requests a second, and what part of the time a chat may take.
REQUESTS, CHAT = 8, 25


class Server:
    """A gateway with its API on."""

    def __init__(self, name, program, bench, model, root):
        home = Path(root) / name
        bench_agent.settings(home, name, model.base_url(0))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        environment = {**bench.environment, "HOME": str(home), "HERMES_GATEWAY_MAX_STARTS": "0",
                       "API_SERVER_ENABLED": "true", "API_SERVER_KEY": KEY,
                       "API_SERVER_PORT": str(self.port)}
        self.name = name
        self.chats = 0
        self.gateway = Gateway(program, environment)
        begin = time.perf_counter()
        while self.status() != 200:
            if self.gateway.process.poll() is not None or time.perf_counter() - begin > PATIENCE:
                self.gateway.end()
                raise RuntimeError(f"the API of {name} does not come up")
            time.sleep(0.01)

    def status(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            connection.request("GET", "/health")
            return connection.getresponse().status
        except OSError:
            return None

    def requests_a_second(self):
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s",
                   f"http://127.0.0.1:{self.port}/health"]
        done = subprocess.run(command, text=True, capture_output=True, check=True)
        if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
            raise RuntimeError(f"{self.name}: {done.stdout}")
        return float(re.search(r"Requests/sec:\s*([0-9.]+)", done.stdout)[1])

    def chat(self):
        """Seconds of one turn in a conversation of its own."""
        self.chats += 1
        body = json.dumps({"model": "hermes-agent", "messages": [
            {"role": "user", "content": f"question {self.chats}"}]})
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        begin = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("POST", "/v1/chat/completions", body, headers)
        answer = connection.getresponse()
        text = answer.read()
        elapsed = time.perf_counter() - begin
        if answer.status != 200 or b'"done"' not in text:
            raise RuntimeError(f"{self.name}: {answer.status} {text[:500]}")
        return elapsed


def measure(bench, programs, versions, root):
    root = Path(root) / "api"
    root.mkdir()
    model = ModelServer()
    servers = []
    try:
        for name in ["ours", *versions]:
            servers.append(Server(name, programs[name], bench, model, root))
        requests = {server.name: [] for server in servers}
        chats = {server.name: [] for server in servers}
        for _ in range(ROUNDS):
            for server in servers:
                requests[server.name].append(server.requests_a_second())
        for round_ in range(-1, CHATS):
            for server in servers:
                seconds = server.chat()
                # The first turn loads what the others find loaded.
                if round_ >= 0:
                    chats[server.name].append(seconds)
    finally:
        for server in servers:
            server.gateway.end()
    requests = {name: statistics.median(values) for name, values in requests.items()}
    chats = {name: statistics.median(values) for name, values in chats.items()}
    print("/health: " + ", ".join(f"{n} {r:.0f}/s" for n, r in requests.items()))
    print("chat by the API: " + ", ".join(f"{n} {t * 1000:.1f} ms" for n, t in chats.items()))
    return {"requests": requests, "chats": chats}


def judge(figures, versions):
    requests, chats = figures["requests"], figures["chats"]
    misses = []
    for version in versions:
        more, sooner = requests["ours"] / requests[version], chats[version] / chats["ours"]
        if more < REQUESTS:
            misses.append(f"/health: {more:.1f}x the requests of {version}, budget {REQUESTS}x")
        if sooner < CHAT:
            misses.append(f"chat by the API: 1/{sooner:.1f} of {version}, budget 1/{CHAT}")
    return misses


def page(figures, versions):
    requests, chats = figures["requests"], figures["chats"]
    out = [
        "", "## The API of the gateway", "",
        f"`GET /health` over {CONNECTIONS} connections, counted by wrk for {SECONDS} s, median of",
        f"{ROUNDS}; one turn by `POST /v1/chat/completions` with a model that answers at once, median of",
        f"{CHATS}.", "",
        "| Work | Reference | Reference | We | Factor | Budget |",
        "|---|---|---|---|---|---|",
    ]
    for version in versions:
        out.append(f"| `/health` | {version} | {requests[version]:.0f}/s | {requests['ours']:.0f}/s "
                   f"| {requests['ours'] / requests[version]:.0f}× | ≥ {REQUESTS}× |")
        out.append(f"| a chat of one turn | {version} | {chats[version] * 1000:.0f} ms "
                   f"| {chats['ours'] * 1000:.1f} ms | 1/{chats[version] / chats['ours']:.0f} "
                   f"| ≤ 1/{CHAT} |")
    return [*out, ""]
