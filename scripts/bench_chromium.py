"""A page in Chromium, timed: how long until a text is in it.

Used by bench_web. Speaks the DevTools protocol over a WebSocket of its own, so that nothing must be
installed besides the browser.
"""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

# Looks for the text once a frame; the time is that of the page, from its navigation on.
WATCH = """new Promise((resolve) => {
  const look = () => document.body && document.body.textContent.includes(TEXT)
    ? requestAnimationFrame(() => resolve(performance.now())) : requestAnimationFrame(look);
  look();
})"""


class Chromium:
    def __init__(self, program):
        self.program = program

    @classmethod
    def found(cls):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        return cls(program) if program else None

    def seconds_until(self, address, text, patience):
        """Seconds from the navigation to the text on the page; None if it never came."""
        # Helpers of Chromium may write a moment longer than it lives itself.
        with tempfile.TemporaryDirectory(prefix="bench-chromium-",
                                         ignore_cleanup_errors=True) as profile:
            process = subprocess.Popen(
                [self.program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                 "--disable-dev-shm-usage", "--disable-extensions", "--remote-debugging-port=0",
                 "--remote-allow-origins=*", f"--user-data-dir={profile}", "about:blank"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                return self.timed(Path(profile), address, text, patience)
            finally:
                process.terminate()
                process.wait()

    def timed(self, profile, address, text, patience):
        port = self.port(profile)
        listed = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list"))
        target = next(one for one in listed if one["type"] == "page")
        tab = Tab(target["webSocketDebuggerUrl"], patience)
        tab.call("Page.enable")
        tab.call("Page.navigate", url=address)
        tab.wait_for("Page.domContentEventFired")
        watch = WATCH.replace("TEXT", json.dumps(text))
        try:
            done = tab.call("Runtime.evaluate", expression=watch, awaitPromise=True,
                            returnByValue=True)
        except TimeoutError:
            return None
        return done["result"]["value"] / 1000

    def port(self, profile):
        begin = time.monotonic()
        while time.monotonic() - begin < 30:
            try:
                return int((profile / "DevToolsActivePort").read_text().splitlines()[0])
            except (OSError, ValueError, IndexError):
                time.sleep(0.02)
        raise RuntimeError("Chromium does not come up")


class Tab:
    """One page over its WebSocket."""

    def __init__(self, address, patience):
        host, path = address.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.stream = socket.create_connection((name, int(port)), timeout=patience)
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall(
            f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.stream.recv(4096)
        self.rest = self.rest.split(b"\r\n\r\n", 1)[1]
        self.number = 0

    def exactly(self, count):
        while len(self.rest) < count:
            more = self.stream.recv(65536)
            if not more:
                raise RuntimeError("Chromium has ended")
            self.rest += more
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def receive(self):
        message = b""
        while True:
            head = self.exactly(2)
            length = head[1] & 0x7F
            if length == 126:
                length = struct.unpack(">H", self.exactly(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", self.exactly(8))[0]
            message += self.exactly(length)
            if head[0] & 0x80:
                return json.loads(message)

    def send(self, value):
        data = json.dumps(value).encode()
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
        length = struct.pack(">BH", 0xFE, len(data)) if len(data) > 125 else bytes([0x80 | len(data)])
        self.stream.sendall(b"\x81" + length + mask + masked)

    def call(self, method, **parameters):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": parameters})
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def wait_for(self, event):
        while self.receive().get("method") != event:
            pass
