"""Start real processes: a program as Python runs it, and the same one under `autochron`."""

import os
import re
import signal
import subprocess
import sys
from typing import NamedTuple

from autochron.model import Command
from autochron.replaying.command_trust import digest_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIMEOUT = 60
_KEPT = (
    "AUTOCHRON_CACHE",
    "PYTEST_ADDOPTS",
    "PYTHONHASHSEED",
    "XDG_CONFIG_HOME",
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "SYSTEMROOT",
    "VIRTUAL_ENV",
    "LD_LIBRARY_PATH",
)


class Result(NamedTuple):
    """How a process ended."""

    status: int
    out: bytes
    err: bytes

    @property
    def text(self):
        return self.out.decode()

    @property
    def said(self):
        return self.err.decode()


def environment(**more):
    """Return an environment in which nothing of the test run's own is seen, with `more` in it."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "PYTHONPATH": ROOT, "OPENAI_API_KEY": "unused", **more}


def trust(target="agent.py", *arguments, mode="script", folder="."):
    """Return the words that say yes to a command that was recorded in another folder, or by another user."""
    return ("--trust", digest_of(Command(mode, target, arguments, folder)))


def start(command, folder, *, env=None, **more):
    """Start a process with pipes."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | more
    return subprocess.Popen(
        [str(word) for word in command], cwd=folder, env=environment(**env or {}), **streams
    )


def finish(process, stdin=b""):
    """Wait for a process; one that hangs is killed and fails the test."""
    try:
        out, err = process.communicate(stdin, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"{process.args} hangs; it said {out[-500:]!r} and {err[-500:]!r}") from None
    return Result(process.returncode, out or b"", err or b"")


def python(folder, *words, stdin=b"", env=None, **more):
    """Run `python WORD …`."""
    return finish(start([sys.executable, *words], folder, env=env, **more), stdin)


def autochron(folder, *words, stdin=b"", env=None, **more):
    """Run `python -m autochron WORD …`."""
    return python(folder, "-m", "autochron", *words, stdin=stdin, env=env, **more)


def agreed(folder, *words, **more):
    """Run a command of ours, and say yes where it asks whether the trace's command may be run."""
    done = autochron(folder, *words, **more)
    asked = re.search(rb"--trust ([0-9a-f]{16}) \(untrusted-trace\)", done.err)
    return done if asked is None else autochron(folder, *words, "--trust", asked[1].decode(), **more)


def write(folder, files):
    """Write files, given as text or bytes by path."""
    for name, content in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
