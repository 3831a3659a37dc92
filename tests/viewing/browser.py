"""A real browser without a window, driven over the pipe of its DevTools protocol, without any other program."""

import base64
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--window-size=1300,900",
    "--remote-debugging-pipe",
)  # fmt: skip

# The browser reads descriptor 3 and writes 4. The pipe's ends are moved to higher numbers first, as one may be 3 or 4.
_LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, number in zip(ends, (3, 4)):
    os.dup2(end, number)
    os.close(end)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find():
    """Return the path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Tab:
    """One page, its errors, and the URLs that it requested."""

    def __init__(self, commands, answers):
        self._commands, self._answers = commands, answers
        self._numbers = itertools.count(1)
        self._read = b""
        self.session = None
        self.errors = []
        self.requests = []

    def ask(self, method, **params):
        """Return the result of a command. Events of the page that come before it are kept."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": params}
        if self.session is not None:
            command["sessionId"] = self.session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self._keep(message)

    def _next(self, seconds=30):
        deadline = time.monotonic() + seconds
        while b"\0" not in self._read:
            ready, _, _ = select.select([self._answers], [], [], max(0, deadline - time.monotonic()))
            assert ready, "the browser doesn't answer"
            more = os.read(self._answers, 1 << 16)
            assert more, "the browser is gone"
            self._read += more
        message, _, self._read = self._read.partition(b"\0")
        return json.loads(message)

    def _keep(self, message):
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(params["exceptionDetails"])
            case "Runtime.consoleAPICalled" if params["type"] in {"error", "assert", "warning"}:
                self.errors.append(params["args"])
            case "Log.entryAdded" if params["entry"]["level"] in {"error", "warning"}:
                self.errors.append(params["entry"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])

    def open(self, url):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Page.navigate", url=url)

    def js(self, expression):
        """Evaluate an expression in the page."""
        reply = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    def wait(self, expression, seconds=20):
        """Wait until an expression is true, and return its value."""
        deadline = time.monotonic() + seconds
        while not (value := self.js(expression)):
            assert time.monotonic() < deadline, f"never came: {expression}"
            time.sleep(0.05)
        return value

    def screenshot(self, file):
        Path(file).write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))


@contextmanager
def tab(browser, folder):
    """Start a browser with its settings in a folder of its own. At the end, kill all of its processes."""
    mine, theirs = os.pipe(), os.pipe()
    process = subprocess.Popen(
        [
            sys.executable, "-c", _LAUNCH, str(mine[0]), str(theirs[1]),
            browser, *OPTIONS, f"--user-data-dir={folder}", "about:blank",
        ],
        pass_fds=(mine[0], theirs[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    os.close(mine[0])
    os.close(theirs[1])
    try:
        yield Tab(mine[1], theirs[0])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(mine[1])
        os.close(theirs[0])
