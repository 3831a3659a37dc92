"""A command that a fork server starts is as one in a fresh process."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from tests.cli import fork_server
from tests.cli.processes import finish, start, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="fork servers are for Linux")
RULES = 'version = 1\npacks = []\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "tools:*"\n'
SHOWN = """
import json, os, resource, signal, sys, threading, time
import tools
tools.look_up("mug")
def stream(each):
    raw = each.buffer.raw
    return [
        *(repr(type(part)) for part in (each, each.buffer, raw)), each.name, each.mode, each.encoding, each.errors,
        each.line_buffering, each.write_through, each.fileno(), each.isatty(), raw.closefd,
        each is getattr(sys, f"__{each.name[1:-1]}__"),
    ]
print(json.dumps({
    "argv": [sys.argv, sys.orig_argv, sys.executable, list(sys.flags), sys.warnoptions, dict(sys._xoptions)],
    "path": sys.path,
    "main": {name: repr(value) for name, value in vars(sys.modules["__main__"]).items() if name not in {"stream", "tools"}},
    "modules": sorted(sys.modules),
    "streams": [stream(each) for each in (sys.stdin, sys.stdout, sys.stderr)],
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "descriptors": sum(  # the libffi of some systems keeps its own file open
        "libffi" not in os.path.realpath(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")
    ),
    "signals": {int(each): repr(signal.getsignal(each)) for each in signal.valid_signals()},
    "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "limits": [sys.getrecursionlimit(), sys.getswitchinterval(), *resource.getrlimit(resource.RLIMIT_NOFILE)],
    "threads": [each.name for each in threading.enumerate()],
    "is main": threading.main_thread().native_id == os.getpid(),
    "hash": hash("mug"),
    "zone": time.tzname,
    "umask": os.umask(0o77),
    "session": [os.getsid(0), os.getpgid(0)],
    "said": sys.stdin.read(),
}))
sys.exit(3)
"""
ENVIRONMENT = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
OWN = {"AUTOCHRON_CHILD", "PWD"}
"""Variables of which each run has its own value."""


@pytest.fixture(autouse=True)
def servers(monkeypatch):
    """Let fork servers start commands here, too."""
    monkeypatch.setattr(fork_server, "is_on", True)


@pytest.fixture
def folder(tmp_path):
    files = {"autochron.toml": RULES, "tools.py": "def look_up(item):\n    return item\n", "agent.py": SHOWN}
    write(tmp_path, files)
    return tmp_path


def started(folder, words, *, fresh, options=(), env=None, **more):
    """Start a command in a fresh process or in a forked one, which must be possible."""
    command = [sys.executable, *options, "-m", *words]
    process = start(command, folder, env=ENVIRONMENT | (env or {}), fresh=fresh, **more)
    assert isinstance(process, fork_server.ForkedProcess) is not fresh
    return process


@pytest.mark.parametrize("rules", [RULES, "version = 1\npacks = []\n"], ids=["a boundary", "no boundary"])
def test_a_recorded_program_sees_no_difference(folder, rules):
    write(folder, {"autochron.toml": rules})
    words = ("autochron", "run", "--quiet", "agent.py", "one")
    finish(started(folder, words, fresh=True))  # weaves the code, which the next find in the cache
    fresh, forked = (finish(started(folder, words, fresh=fresh), b"hello") for fresh in (True, False))
    assert (fresh.status, fresh.err) == (forked.status, forked.err) == (3, b"")
    expected, seen = json.loads(fresh.out), json.loads(forked.out)
    more, fewer = (
        set(one["modules"]) - set(other["modules"]) for one, other in ((seen, expected), (expected, seen))
    )
    assert (more - {"_socket"}, fewer) == (set(), set())
    assert {
        name for name, value in seen["environment"].items() if value != expected["environment"][name]
    } <= OWN
    for each in (seen, expected):
        del each["modules"], each["environment"], each["main"]["__loader__"]  # whose text has an address
    assert seen == expected


TEST = """
import sys
def test_it():
    print("modules", *sorted(sys.modules))
    print(sys.argv, sys.orig_argv, sys.path, sys.flags)
    assert 0
"""
ONE_PLUGIN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "autochron.pytest_plugin"}


@pytest.mark.parametrize(
    ("options", "env"), [((), {}), (("-P",), ONE_PLUGIN)], ids=["all plugins", "a safe path and one plugin"]
)
def test_a_test_session_sees_no_difference(folder, options, env):
    write(folder, {"test_it.py": TEST})
    words = ("pytest", "-p", "no:cacheprovider", "-q")
    more = {"options": options, "env": env}
    finish(started(folder, words, fresh=True, **more))  # compiles the test
    runs = [finish(started(folder, words, fresh=fresh, **more)) for fresh in (True, False)]
    expected, seen = ({*re.search("^modules (.*)", run.text, re.MULTILINE)[1].split()} for run in runs)
    assert expected - seen == set()
    assert {name.partition(".")[0] for name in seen - expected} <= sys.stdlib_module_names
    texts = [re.sub(r"^modules .*|\d+\.\d+s", "", run.text, flags=re.MULTILINE) for run in runs]
    assert "1 failed" in texts[0], runs[0].err
    assert (texts[1], runs[1].err) == (texts[0], runs[0].err)


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("sys.exit(7)", 7),
        ("os._exit(8)", 8),
        ("raise LookupError('mug')", 1),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("os.abort()", -signal.SIGABRT),
        ("sys.exit('a text')", 1),
    ],
)
def test_the_end_of_a_forked_program_is_reported(folder, end, status):
    write(folder, {"agent.py": f"import os, signal, sys\nprint('begun', flush=True)\n{end}\n"})
    words = ("autochron", "run", "--quiet", "agent.py")
    results = [finish(started(folder, words, fresh=fresh)) for fresh in (True, False)]
    assert results[0] == results[1]
    assert (results[1].status, results[1].out) == (status, b"begun\n")


def test_a_forked_program_is_waited_for_signalled_and_polled(folder):
    write(folder, {"agent.py": "import time\nprint('begun', flush=True)\ntime.sleep(60)\n"})
    process = started(folder, ("autochron", "run", "--quiet", "agent.py"), fresh=False)
    assert process.stdout.readline() == b"begun\n"
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert (process.returncode, process.poll()) == (-signal.SIGINT, -signal.SIGINT)
    assert error.endswith(b"KeyboardInterrupt\n")


def test_the_streams_of_a_forked_program_are_those_it_was_given(folder):
    write(
        folder,
        {
            "agent.py": "import sys\nprint('out')\nsys.stdout.flush()\nprint(sys.stdin.read(), file=sys.stderr)\n"
        },
    )
    written, read = folder / "out.txt", folder / "in.txt"
    written.write_bytes(b"before\n")
    read.write_bytes(b"given")
    with written.open("ab") as out, read.open("rb") as given:
        words = ("autochron", "run", "--quiet", "agent.py")
        process = started(folder, words, fresh=False, stdin=given, stdout=out, stderr=subprocess.STDOUT)
        assert process.wait(timeout=30) == 0
    assert written.read_bytes() == b"before\nout\ngiven\n"


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "-X", "utf8", "-m", "autochron", "run", "agent.py"],
        [sys.executable, "agent.py"],
        [sys.executable, "-m", "autochron", "judge"],
        ["python3", "-m", "autochron", "run"],
    ],
)
def test_other_commands_are_started_afresh(command):
    environment = {"PYTHONPATH": os.getcwd()}
    assert fork_server.served(command, ".", environment, {}) == ()
    assert fork_server.served([sys.executable, "-m", "autochron", "run"], ".", environment, {}) == (
        "autochron",
        "run",
    )
    assert (
        fork_server.served(
            [sys.executable, "-m", "autochron", "run"], ".", environment, {"start_new_session": True}
        )
        == ()
    )
