"""A replay that goes on in a fork from the first call of a swapped-in function gives what a whole one gives."""

import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

from autochron.instrument import source_overlay
from autochron.workers.prepared import FROM_CUT
from tests.cli.processes import ROOT, write
from tests.mutate.replays import processes_left, recorded, replayed

GUARD = """
import os, tools

def look(number):
    return {"number": number + 40, "at": 0}
"""

BEFORE = "import tools\nprint('before')\n"
SWAP = {"tools.py:look": "guard.py:look"}

PROGRAMS = {
    "prints": BEFORE + "print(tools.look(1), tools.look(2))\n",
    "prints unflushed, flushed and past Python": """
import os, sys, tools
sys.stdout.write("one ")
os.write(1, b"two\\n")
print("three", flush=True)
sys.stderr.write("four\\n")
print(tools.look(1))
os.write(1, b"five\\n")
sys.stderr.write("six\\n")
""",
    "its surroundings": """
import os, sys, tools
found = [sorted(name for name in os.environ if "AUTOCHRON" in name or "HASHSEED" in name)]
tools.look(1)
found.append(sorted(name for name in os.environ if "AUTOCHRON" in name or "HASHSEED" in name))
print(found, sys.argv, __name__, __file__, sys.path[0], os.getcwd(), repr(sys.stdin.read()))
print(sys.stdout.isatty(), sys.stdout.line_buffering, list({"one", "two", "three", "four", "five"}))
""",
    "what it has kept until then": """
import contextlib, contextvars, random, tools
random.seed(7)
variable = contextvars.ContextVar("v", default=0)
variable.set(random.random())
kept = {"number": random.random()}
with contextlib.ExitStack() as stack:
    stack.callback(print, "left")
    print(tools.look(1)["number"], random.random(), variable.get(), kept)
""",
    "a generator that waits": """
import tools
def numbers():
    yield tools.look(1)["number"]
    yield tools.look(2)["number"]
print(list(numbers()))
""",
    "an exit status": BEFORE + "import sys\ntools.look(1)\nsys.exit(3)\n",
    "an error": BEFORE + "raise ValueError(tools.look(1)['number'])\n",
    "an exit at once": BEFORE + "import os\nprint(tools.look(1), flush=True)\nos._exit(4)\n",
    "a signal": BEFORE + "import os, signal\ntools.look(1)\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "what is done at exit": BEFORE + "import atexit\natexit.register(print, 'end')\ntools.look(1)\n",
    "a thread after it": BEFORE
    + """
import threading
tools.look(1)
thread = threading.Thread(target=lambda: print(tools.look(2)))
thread.start()
thread.join()
""",
    "an event loop after it": BEFORE
    + """
import asyncio
tools.look(1)
async def main():
    await asyncio.sleep(0)
    return tools.look(2)
print(asyncio.run(main()))
""",
    "a process after it": BEFORE
    + """
import os, sys
print(tools.look(1), flush=True)
if os.fork() == 0:
    print(tools.look(2))
    sys.exit(0)
os.wait()
""",
    "a handled signal": BEFORE
    + """
import os, signal
signal.signal(signal.SIGUSR1, lambda *_: print("signalled"))
tools.look(1)
os.kill(os.getpid(), signal.SIGUSR1)
""",
    "an empty environment": "import os, tools\nos.environ.clear()\ntools.look(1)\nprint(dict(os.environ))\n",
    "functions that it has replaced": """
import builtins, json, select, socket, tools
kept = builtins.open, json.loads, select.poll, socket.socket
builtins.open = json.loads = select.poll = socket.socket = None
print(tools.look(1))
builtins.open, json.loads, select.poll, socket.socket = kept
""",
    "a clock": BEFORE + "import time\na = time.time()\ntools.look(1)\nprint(time.time() - a < 60)\n",
    "a file that it has read": BEFORE
    + "text = open('autochron.toml').read()\nprint(tools.look(1), len(text))\n",
}

COSTS = {"prints": ()} | dict.fromkeys(
    (
        "its surroundings",
        "what it has kept until then",
        "a process after it",
        "functions that it has replaced",
    ),
    pytest.mark.slow,
)


@pytest.mark.parametrize(
    "program",
    [pytest.param(each, marks=COSTS.get(each, pytest.mark.thorough)) for each in PROGRAMS],
)
def test_it_gives_what_a_whole_replay_gives(program, tmp_path, prepare, monkeypatch):
    prepare(recorded(tmp_path, PROGRAMS[program]))
    write(tmp_path, {"guard.py": GUARD})
    replayed(tmp_path, live="kind:tool", swap=SWAP)  # shows what the agent imports
    whole, reason = replayed(tmp_path, live="kind:tool", swap=SWAP)
    assert reason == ""
    monkeypatch.setenv(FROM_CUT, "1")
    for _ in range(2):
        assert replayed(tmp_path, live="kind:tool", swap=SWAP) == (whole, "")


WHOLE = {
    "a thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(2,)).start()\ntools.look(1)\n",
        "there is another thread (",
    ),
    "an event loop": (
        "import asyncio\nasync def main(): return tools.look(1)\nprint(asyncio.run(main()))\n",
        "an event loop runs",
    ),
    "an open file": (
        "file = open('autochron.toml')\nprint(tools.look(1), len(file.read()))\n",
        "a file was opened",
    ),
    "a written file": (
        "open('out.txt', 'w').close()\nprint(tools.look(1))\n",
        "reaches outside of its process (open)",
    ),
    "a timer": (
        "import signal\nsignal.setitimer(signal.ITIMER_VIRTUAL, 60)\nprint(tools.look(1))\n",
        "a timer runs",
    ),
    "shared memory": (
        "import mmap\nshared = mmap.mmap(-1, 8)\nshared[:1] = b'1'\nprint(tools.look(1), shared[:1])\n",
        "memory is shared",
    ),
    "a copy of a stream": (
        "import os, sys\nkept = os.dup(2)\nprint(tools.look(1))\nos.write(kept, b'end')\n",
        "a file was opened",
    ),
    "its process": (
        "import os\nkept = os.getpid()\ntools.look(1)\nprint(kept == os.getpid())\n",
        "os.getpid()",
    ),
    "a process to be started": (
        (
            "import multiprocessing\nprocess = multiprocessing.get_context('fork').Process(target=print)\n"
            "print(tools.look(1), flush=True)\nprocess.start()\nprocess.join()\n"
        ),
        "multiprocessing were set up",
    ),
    "its own limits": (
        "import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nprint(tools.look(1))\n",
        "limits, a tracer",
    ),
    "a tracer": ("import sys\nsys.setprofile(lambda *_: None)\nprint(tools.look(1))\n", "limits, a tracer"),
    "an audit hook": (
        "import sys\nsys.addaudithook(lambda *_: None)\nprint(tools.look(1))\n",
        "an audit hook",
    ),
    "a hook of forks": (
        "import os\nos.register_at_fork(before=lambda: print('fork'))\nprint(tools.look(1))\n",
        "functions for forks",
    ),
    "a pending signal": (
        (
            "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\nsignal.raise_signal(signal.SIGUSR1)\n"
            "tools.look(1)\nprint(signal.sigpending())\n"
        ),
        "a signal is pending",
    ),
    "no call": ("print(tools.rest())\n", "does not call what is swapped in"),
    "an end before": ("import os\ntools.rest()\nos._exit(0)\n", "its process ended before the call"),
}


OFTEN = {"a thread", "an event loop", "a copy of a stream", "its process", "a written file", "no call"}


@pytest.mark.parametrize(
    "case",
    [pytest.param(each, marks=pytest.mark.slow if each in OFTEN else pytest.mark.thorough) for each in WHOLE],
)
def test_a_program_that_a_fork_would_not_inherit_is_replayed_whole(case, tmp_path, prepare, monkeypatch):
    program, why = WHOLE[case]
    prepare(recorded(tmp_path, BEFORE + program))
    write(tmp_path, {"guard.py": GUARD})
    replayed(tmp_path, live="kind:tool", swap=SWAP)
    whole, _ = replayed(tmp_path, live="kind:tool", swap=SWAP)
    monkeypatch.setenv(FROM_CUT, "1")
    for _ in range(2):
        found, reason = replayed(tmp_path, live="kind:tool", swap=SWAP)
        assert found == whole
        assert why in reason


@pytest.fixture
def cut(tmp_path, prepare, monkeypatch):
    """Return a function that replays a program from the cut, with the text of a file replaced."""

    def begin(program):
        write(tmp_path, {"guard.py": GUARD})
        prepare(recorded(tmp_path, program))
        replayed(tmp_path, live="kind:tool", swap=SWAP)
        monkeypatch.setenv(FROM_CUT, "1")

    def replay(file="guard.py", text=GUARD, timeout=None):
        path = os.path.realpath(tmp_path / file)
        monkeypatch.setenv(source_overlay.VARIABLE, json.dumps({path: text}))
        try:
            (_, out, *_), reason = replayed(tmp_path, live="kind:tool", swap=SWAP, timeout=timeout)
        finally:
            monkeypatch.delenv(source_overlay.VARIABLE)
        return out, reason

    replay.begin = begin
    return replay


def test_each_replay_has_its_own_text_of_what_is_swapped_in(cut):
    cut.begin(BEFORE + "print(tools.look(1)['number'])\n")
    texts = [GUARD.replace("40", str(number)) for number in (50, 60, 70)]
    assert [cut(text=text) for text in texts] == [(f"before\n{n}\n", "") for n in (51, 61, 71)]


READS = {
    "imports it": "import guard\n",
    "imports it, and forgets it": "import guard, sys\ndel sys.modules['guard']\n",
    "runs it": "import runpy\nrunpy.run_path('guard.py')\n",
    "reads it": "open('guard.py').close()\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("reads", READS)
def test_what_is_mutated_and_was_read_before_the_call_takes_a_whole_replay(reads, cut):
    cut.begin(f"{BEFORE}{READS[reads]}print(tools.look(1)['number'])\n")
    expected = "the agent has read what is mutated before the call"
    for _ in range(2):  # the second time, bytecode of it may be there
        assert cut(text=GUARD.replace("40", "50")) == ("before\n51\n", expected)
    out, reason = cut(file="agent.py", text="import tools\nprint(tools.look(1)['number'] + 1)\n")
    assert (out, reason) == ("42\n", expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "reads", ["import helper\nmore = helper.MORE", "more = int(open('helper.py').read()[7:])"]
)
def test_a_file_that_was_changed_on_the_disk_takes_a_whole_replay(reads, cut, tmp_path):
    write(tmp_path, {"helper.py": "MORE = 100\n"})
    cut.begin(f"{BEFORE}{reads}\nprint(tools.look(1)['number'] + more)\n")
    assert cut() == ("before\n141\n", "")
    write(tmp_path, {"helper.py": "MORE = 2000\n", "new.py": ""})
    assert cut() == ("before\n2041\n", "a file that the agent has read before the call was changed")


@pytest.mark.slow
def test_replays_at_one_time_have_files_and_modules_of_their_own(cut, tmp_path):
    cut.begin(
        BEFORE + "tools.KEPT = []\ntools.look(1)\ntools.look(2)\nprint(tools.KEPT, open('out.txt').read())\n",
    )
    text = """
import tools, time

def look(number):
    tools.KEPT.append(WHO)
    with open("out.txt", "a") as file:
        file.write(f"{WHO}{number} ")
    time.sleep(0.2)
    return {"number": number, "at": 0}
"""
    cut(text=f"WHO = 'first'\n{text}")
    path = os.path.realpath(tmp_path / "guard.py")

    code = (
        "from pathlib import Path\nfrom tests.mutate.replays import replayed\n"
        f"print(replayed(Path({str(tmp_path)!r}), live='kind:tool', swap={SWAP!r})[0][1], end='')\n"
    )

    def replay(who):
        texts = json.dumps({path: f"WHO = '{who}'\n{text}"})
        environment = {**os.environ, source_overlay.VARIABLE: texts}
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(replay, "abcd"))
    assert found == [f"before\n['{who}', '{who}'] {who}1 {who}2 \n" for who in "abcd"]
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.slow
def test_a_replay_that_takes_too_long_is_killed_and_the_next_one_goes_on(cut, tmp_path):
    cut.begin(BEFORE + "print(tools.look(1)['number'])\n")
    late = "import os, signal\n\ndef look(number):\n    os.fork()\n    signal.pause()\n"
    with pytest.raises(subprocess.TimeoutExpired):
        cut(text=late, timeout=3)
    assert cut() == ("before\n41\n", "")


@pytest.mark.slow
def test_an_agent_that_does_not_come_to_the_call_is_killed(tmp_path, prepare, monkeypatch):
    program = "import os\nwhile os.path.exists('stop'): pass\n" + BEFORE + "print(tools.look(1)['number'])\n"
    write(tmp_path, {"guard.py": GUARD})
    prepared = prepare(recorded(tmp_path, program))
    replayed(tmp_path, live="kind:tool", swap=SWAP)
    write(tmp_path, {"stop": ""})
    monkeypatch.setenv(FROM_CUT, "1")
    with pytest.raises(subprocess.TimeoutExpired):
        replayed(tmp_path, live="kind:tool", swap=SWAP, timeout=2)
    (tmp_path / "stop").unlink()
    (_, out, *_), reason = replayed(tmp_path, live="kind:tool", swap=SWAP)
    assert (out, reason) == ("before\n41\n", "the agent takes too long to come to the call")
    assert processes_left(prepared, 1) == 1
    prepared.end()
    assert processes_left(prepared, 0) == 0


@pytest.mark.slow
def test_nothing_is_left_at_the_end(tmp_path, prepare, monkeypatch, request):
    write(tmp_path, {"guard.py": GUARD})
    seed = recorded(tmp_path, PROGRAMS["prints"])
    temporary = tempfile.mkdtemp(prefix="a")  # short, as the path of a socket must be
    request.addfinalizer(lambda: shutil.rmtree(temporary))
    monkeypatch.setenv("TMPDIR", temporary)
    monkeypatch.setattr(tempfile, "tempdir", None)
    prepared = prepare(seed)
    replayed(tmp_path, live="kind:tool", swap=SWAP)
    monkeypatch.setenv(FROM_CUT, "1")
    assert replayed(tmp_path, live="kind:tool", swap=SWAP)[1] == ""
    assert processes_left(prepared, 2) == 2
    prepared.end()
    assert processes_left(prepared, 0) == 0
    assert os.listdir(temporary) == []


@pytest.mark.slow
def test_a_process_with_a_copied_environment_has_the_text_that_was_laid(cut, tmp_path):
    write(tmp_path, {"child.py": "import guard\nprint('child', guard.look(7)['number'])\n"})
    cut.begin(
        "import os, subprocess, sys, tools\n"
        "kept = dict(os.environ)\nprint(tools.look(1)['number'], flush=True)\n"
        "subprocess.run([sys.executable, 'child.py'], env=kept)\n"
    )
    text = "def look(number):\n    return {'number': number + 50, 'at': 0}\n"
    assert cut(text=text) == ("51\nchild 57\n", "")


@pytest.mark.slow
def test_a_replay_in_a_new_interpreter_has_a_reason(cut, prepare):
    cut.begin(BEFORE + "print(tools.look(1)['number'])\n")
    prepare("1" if os.environ.get("PYTHONHASHSEED") != "1" else "2")  # of another hash seed
    assert cut()[1] == "no prepared process takes it"
