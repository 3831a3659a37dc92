"""Mutants that no operator makes: each ends in its own way and is reported as such, and the next trial is unaffected."""

import os
import subprocess
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from autochron.workers.fork import forked
from autochron.workers.limits import Limits
from tests.mutate.desks import PLAIN, Trier

BLOCKS = 'return {"status": "blocked", "most": 4900}\n'
PAYS = 'return {"status": "paid", "cents": cents}\n'
FIX = """
if cents > PAID[order]:
    return {"status": "blocked", "most": PAID[order]}
return pay(order, cents)
"""


def has_ended(process):
    """Return whether a process has ended, or ends within two seconds."""
    for _ in range(200):
        status = subprocess.run(
            ["ps", "-o", "stat=", "-p", process], capture_output=True, text=True, check=False
        )
        if status.stdout.strip()[:1] in {"", "Z"}:
            return True
        time.sleep(0.01)
    return False


def body(text):
    return textwrap.dedent(text).strip("\n")


@pytest.fixture(scope="module")
def trier(desk):
    with pytest.MonkeyPatch.context() as patched:
        for name, value in PLAIN.items():
            patched.setenv(name, value)
        trier_of_desk = Trier(desk, timeout=4.0, memory=64 << 20)
        yield trier_of_desk
        trier_of_desk.end()


@pytest.fixture
def afterwards(trier):
    """Check after the test that the fix still passes and that a body that pays is still caught."""
    yield
    assert trier.ask(FIX).kind == "passed"
    assert trier.ask(PAYS).kind == "assertion"


ENDS = {
    "kills its group": (
        "import os, signal\nos.killpg(os.getpgrp(), signal.SIGKILL)",
        "signal",
        "killed by SIGKILL",
    ),
    "kills its parent's group": (
        "import os, signal\nos.killpg(os.getpgid(os.getppid()), signal.SIGKILL)",
        "signal",
        "it ended the process that was trying it, in whose group it is not",
    ),
    "dies of a segment": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
        "signal",
        "killed by SIGSEGV",
    ),
    "ends its process": (
        "import os\nos._exit(0)",
        "exit",
        "its process ended with status 0 and gave no result",
    ),
    "leaves": ("raise SystemExit(3)", "exit", "SystemExit: 3"),
    "ends pytest": ("import pytest\npytest.exit('enough')", "exit", "Exit: enough"),
    "is interrupted": ("raise KeyboardInterrupt", "crash", "KeyboardInterrupt"),
    "calls itself": (
        "return refund(order, cents)",
        "crash",
        "RecursionError: maximum recursion depth exceeded",
    ),
    "allocates at once": (
        "return 'x' * (1 << 40)",
        "memory",
        "it allocates more than a trial may",
    ),
    "allocates without end": (
        "found = []\nwhile True:\n    found.append(bytearray(1 << 20))",
        "memory",
        "it allocates more than a trial may",
    ),
    "says what can't be written": (r"raise ValueError('\ud800')", "crash", r"ValueError: \ud800"),
    "can't say what it is": (
        body("""
        class Odd(BaseException):
            def __str__(self):
                raise RuntimeError
        raise Odd
        """),
        "crash",
        "Odd",
    ),
    "is no Python": ("return (", "compile", "SyntaxError: '(' was never closed"),
    "is too deep for the compiler": (
        f"return {'(' * 250}1{')' * 250}",
        "compile",
        "SyntaxError: too many nested parentheses",
    ),
    "writes wherever it can": (
        body("""
        import os
        for each in range(3, 64):
            try:
                os.write(each, b"x")
            except OSError:
                pass
        return {"status": "blocked"}
        """),
        "crash",
        "it wrote into a pipe that is not its own, so its result can't be read",
    ),
    "closes everything": (
        f"import os\nos.closerange(0, 256)\n{BLOCKS}",
        "exit",
        "its process ended with status 1 and gave no result",
    ),
}


@pytest.mark.usefixtures("afterwards")
@pytest.mark.parametrize("case", ENDS)
def test_each_ending_of_a_mutant_has_its_kind(trier, case):
    text, kind, message = ENDS[case]
    reply = trier.ask(text, name=case)
    assert (reply.id, reply.kind, reply.said) == (case, kind, message)


SLEEPS = {
    "sleeps": "import time\ntime.sleep(1000)",
    "waits for itself": "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
}
LOOPS = {
    "loops": "while True:\n    pass",
    "loops and swallows": body("""
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass
        """),
    "swallows that memory is out": body("""
        found = []
        while True:
            try:
                found.append(bytearray(1 << 20))
            except BaseException:
                pass
        """),
    "counts in C": "return sum(range(3_000_000_000))",
}


@pytest.mark.parametrize("case", [pytest.param(name, marks=pytest.mark.slow) for name in SLEEPS | LOOPS])
@pytest.mark.usefixtures("afterwards")
def test_a_mutant_that_does_not_end_is_stopped(trier, case):
    reply = trier.ask((SLEEPS | LOOPS)[case])
    assert (reply.kind, reply.said) == ("time-out", "it was not done after 4 s")
    assert 4 < reply.seconds < 8


QUIET = {
    "closes its output": "import os\nos.close(1)\n",
    "closes its stream": "import sys\nsys.stdout.close()\n",
    "has no streams": "import sys\nsys.stdout = sys.stderr = None\n",
    "goes elsewhere": "import os\nos.chdir('/')\n",
    "says much": "print('x' * 10_000_000)\n",
    "leaves a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\n",
    "leaves a program": "import subprocess\nsubprocess.Popen(['sleep', '1000'])\n",
}


@pytest.mark.parametrize("case", QUIET)
def test_changes_of_its_own_process_change_no_verdict(trier, case):
    assert trier.ask(QUIET[case] + BLOCKS).kind == "passed"
    assert trier.ask(QUIET[case] + PAYS).kind == "assertion"


@pytest.mark.slow
def test_a_forked_child_that_returns_is_ignored(trier):
    paid = "import os\nif os.fork() == 0:\n    return {'status': 'paid'}\n"
    assert trier.ask(paid + BLOCKS).kind == "passed"


@pytest.mark.slow
def test_a_process_that_a_mutant_started_is_ended_with_it(trier, tmp_path):
    # A temporary file, as any other file would be in the trial's scratch copy.
    prefix = f"{tmp_path.parents[1].name}-{tmp_path.parent.name}-{tmp_path.name}-"
    starts = (
        "import subprocess, tempfile\n"
        f"with tempfile.NamedTemporaryFile('w', prefix={prefix!r}, delete=False) as file:\n"
        "    file.write(str(subprocess.Popen(['sleep', '1000']).pid))\n"
    )
    reply = trier.ask(starts + BLOCKS)
    assert (reply.kind, reply.said) == ("passed", "")
    (place,) = Path(tempfile.gettempdir()).glob(f"{prefix}*")
    process = place.read_text()
    place.unlink()
    assert has_ended(process)


def test_nothing_outlives_its_server(desk, trier, tmp_path):
    """A mutant that kills its server and goes on is ended, although its server no longer waits for it."""
    prefix = f"{tmp_path.parents[1].name}-{tmp_path.parent.name}-{tmp_path.name}-"
    text = (
        "import os, signal, tempfile, time\n"
        f"with tempfile.NamedTemporaryFile('w', prefix={prefix!r}, delete=False) as file:\n    file.write(str(os.getpid()))\n"
    )
    reply = trier.ask(f"{text}os.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(1000)")
    assert reply.kind == "signal"
    (place,) = Path(tempfile.gettempdir()).glob(f"{prefix}*")
    process = place.read_text()
    place.unlink()
    assert has_ended(process)


def test_a_skipped_test_fails_nothing(trier):
    assert trier.ask("import pytest\npytest.skip('not today')").kind == "passed"


COUNTS = """
import builtins
builtins.counted = getattr(builtins, "counted", 0) + 1
PAID["A1"] += 1
return {"status": "blocked", "most": PAID["A1"], "counted": builtins.counted}
"""


def test_no_state_passes_from_one_mutant_to_the_next(trier):
    first, second = trier.ask(COUNTS), trier.ask(COUNTS)
    assert first.given[0].outcome == '{"returned":{"status":"blocked","most":4901,"counted":1}}'
    assert second.given == first.given
    assert trier.ask(FIX).given == trier.ready.fix.given


def test_calls_of_the_replaced_function_are_reported(trier):
    assert trier.ready.fix.reached == {"tools.py:refund": (0,)}
    through = trier.ask("pay(order, cents)\n" + BLOCKS)
    assert (through.kind, through.reached) == ("assertion", {"tools.py:refund": (1,)})


@pytest.mark.slow
def test_the_server_does_not_grow(trier):
    """A server that kept something of each trial would grow."""
    job = trier.job(FIX)
    trier.pool.ask(job)
    before = _resident(trier)
    for _ in range(300):
        assert trier.pool.ask(job).kind == "passed"
    assert _resident(trier) - before < 2 << 20


def _resident(trier):
    (server,) = trier.pool._idle
    with open(f"/proc/{server.ready.process}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# --- forks by themselves ---


def test_a_fork_returns_its_output_and_its_result():
    ended = forked(lambda tell: (tell(b"one "), b"two")[1], Limits(10))
    assert (ended.output, ended.is_whole) == (b"one two", True)


def test_the_output_of_a_fork_that_dies_is_kept():
    ended = forked(lambda tell: (tell(b"one "), os._exit(7))[1], Limits(10))
    assert (ended.output, ended.is_whole, ended.status) == (b"one ", False, 7)


def test_only_one_process_of_a_fork_that_forks_again_is_read():
    """After each fork only one of the two processes goes on, so their number doesn't double with each step."""

    def work(tell):
        for _ in range(30):
            os.fork()
            tell(b"x")
        return b""

    assert forked(work, Limits(20)).output == b"x" * 30
