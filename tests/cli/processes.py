"""Start real processes: a program run by Python, and the same program run by `autochron`."""

import os
import re
import signal
import subprocess
import sys
from typing import NamedTuple

from autochron.model import Command
from autochron.replaying.command_trust import digest_of
from tests.cli.fork_server import ForkedProcess, served

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
    """The result of a process: its exit status, and what it wrote."""

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
    """Return an environment with few variables of the test run, and with `more`."""
    inherited = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**inherited, "PYTHONPATH": ROOT, "OPENAI_API_KEY": "unused", **more}


def trust(target="agent.py", *arguments, mode="script", folder="."):
    """Return the options that trust a command that was recorded in another folder, or by another user."""
    return ("--trust", digest_of(Command(mode, target, arguments, folder)))


def start(command, folder, *, env=None, fresh=False, **more):
    """Start a process with pipes; one that a fork server may start only if it need not be a fresh one."""
    return start_with(environment(**env or {}), command, folder, fresh=fresh, **more)


def start_with(variables, command, folder, *, fresh=False, **more):
    """Start a process as `start` does, with exactly these variables as its environment."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    streams |= {name: more.pop(name) for name in streams.keys() & more}
    words = [str(word) for word in command]
    kind = ForkedProcess if not fresh and served(words, folder, variables, more) else subprocess.Popen
    return kind(words, cwd=folder, env=variables, **streams, **more)


def finish(process, stdin=b"", limit=TIMEOUT):
    """Wait for a process, and return its result; kill a process that hangs, and fail the test."""
    try:
        out, err = process.communicate(stdin, timeout=limit)
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
    """Run `autochron`, and once more with `--trust` if it refused to run the command of a trace."""
    done = autochron(folder, *words, **more)
    refusal = re.search(rb"--trust ([0-9a-f]{16}) \(untrusted-trace\)", done.err)
    return done if refusal is None else autochron(folder, *words, "--trust", refusal[1].decode(), **more)


def write(folder, files):
    """Write files, given as text or bytes by path."""
    for name, content in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
