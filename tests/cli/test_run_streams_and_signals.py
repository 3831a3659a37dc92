"""`autochron run` is transparent for terminals, shared streams, signals from outside, archives and console scripts.

These need more than a row in the table of programs in `test_run_is_transparent.py`.
"""

import os
import pty
import select
import signal
import subprocess
import sys
import time
import zipapp
import zipfile

import pytest

from tests.cli.processes import environment, finish, python, start, write
from tests.cli.test_run_is_transparent import without_addresses

pytestmark = pytest.mark.usefixtures("samples_as_users_do")

OURS = ("-m", "autochron", "run", "--quiet", "--store", "../traces.db")


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def run_plain_and_recorded(home, *words, **options):
    """Run a program plainly and recorded, check that both results are equal, and return the result."""
    plain = without_addresses(python(home, *words, **options))
    woven = without_addresses(python(home, *OURS, *words, **options))
    assert woven == plain
    return plain


MIXED = """
import os, sys
print("one")
sys.stderr.write("two\\n")
os.write(1, b"three\\n")
print("four", flush=True)
print("five")
def f(): 1 / 0
f()
"""


@pytest.mark.parametrize("words", [("prog.py",), ("-m", "prog")], ids=" ".join)
@pytest.mark.parametrize("flags", [(), ("-u",)], ids=str)
def test_streams_that_share_a_pipe_keep_the_order_of_their_output(words, flags, home):
    write(home, {"prog.py": MIXED})
    plain = python(home, *flags, *words, stderr=subprocess.STDOUT)
    assert python(home, *flags, *OURS, *words, stderr=subprocess.STDOUT) == plain
    assert plain.status == 1


TERMINAL = """
import os, sys
print([s.isatty() for s in (sys.stdin, sys.stdout, sys.stderr)], sys.stdout.line_buffering, os.get_terminal_size())
print("no newline", end="")
os.write(1, b"|")
print()
print("read:", repr(input("ask: ")))
print("line:", repr(sys.stdin.readline()))
for line in sys.stdin:
    print("loop:", repr(line))
"""


def at_terminal(home, *words):
    """Run a program at a terminal and type three lines; return what the terminal shows, and the status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(home)
        os.execve(sys.executable, [sys.executable, *words], environment(TERM="xterm"))
    os.write(terminal, b"first\nsecond\nthird\n\x04")
    shown = b""
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        if select.select([terminal], [], [], 1)[0]:
            try:
                data = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            shown += data
    os.close(terminal)
    return shown, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_recorded_program_sees_the_terminal(home):
    write(home, {"prog.py": TERMINAL})
    plain, status = at_terminal(home, "prog.py")
    assert status == 0
    assert b"[True, True, True] True" in plain
    woven, woven_status = at_terminal(home, *OURS, "prog.py")
    # The terminal echoes typed text as soon as it arrives, which may be before or after the program's first output.
    assert sorted(woven.splitlines()) == sorted(plain.splitlines())
    assert woven_status == 0


WAITING = """
import signal, sys, time
{}
try:
    print("ready", flush=True)
    time.sleep(60)
finally:
    print("finally")
"""
HANDLERS = {
    "none": "",
    "exits": "signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))",
    "goes on": "signal.signal(signal.SIGTERM, lambda *_: print('handled'))\nsignal.alarm(1)",
    "ignores": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.alarm(1)",
    "SIGINT as SIGTERM": "signal.signal(signal.SIGINT, signal.SIG_DFL)",
    "atexit": "import atexit\natexit.register(print, 'at exit')",
}


SENT = [
    pytest.param(
        handler,
        number,
        id=f"{handler}-{number.name}",
        marks=() if handler in {"none", "exits"} else pytest.mark.slow,
    )
    for handler in HANDLERS
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    if handler not in {"goes on", "ignores"} or number is signal.SIGTERM
]


@pytest.mark.parametrize(("handler", "number"), SENT)
def test_signals_from_outside_act_as_in_a_plain_run(handler, number, home):
    write(
        home,
        {
            "prog.py": "import resource\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))"
            + WAITING.format(HANDLERS[handler])
        },
    )

    def signalled(*words):
        process = start([sys.executable, *words], home)
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        result = finish(process)
        # The place of the interruption varies, so only the last line is compared.
        return result._replace(err=result.err.splitlines()[-1:])

    assert signalled(*OURS, "prog.py") == signalled("prog.py")


def test_a_signal_that_was_ignored_at_the_start_stays_ignored(home):
    """This is the case under nohup."""
    write(
        home,
        {
            "prog.py": "import signal\nprint(signal.getsignal(signal.SIGHUP))\nsignal.raise_signal(1)\nprint('on')"
        },
    )
    ignoring = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    plain = python(home, "prog.py", preexec_fn=ignoring)
    assert python(home, *OURS, "prog.py", preexec_fn=ignoring) == plain
    assert plain.text.endswith("on\n")


ARCHIVED = "import sys, beside\nprint(__name__, __file__, sys.argv, sys.path[0], beside.x, type(__loader__).__name__)\n{}"


@pytest.mark.parametrize("end", ["", "def f():\n    1/0\nf()", "import sys; sys.exit('so')"])
@pytest.mark.parametrize("name", ["app.zip", pytest.param("app.pyz", marks=pytest.mark.slow), "app"])
def test_archives_run_as_in_a_plain_run(name, end, home):
    write(home.parent, {"source/__main__.py": ARCHIVED.format(end), "source/beside.py": "x = 1\n"})
    if name == "app.zip":
        with zipfile.ZipFile(home / name, "w") as archive:
            for file in ("__main__.py", "beside.py"):
                archive.write(home.parent / "source" / file, file)
    else:
        zipapp.create_archive(home.parent / "source", home / name, interpreter="/usr/bin/env python3")
    plain = run_plain_and_recorded(home, name, "an argument", "--quiet")
    assert plain.status == (1 if end else 0), plain.said


def test_broken_archives_fail_as_in_a_plain_run(home):
    write(home, {"broken.zip": b"PK\x05\x06 not a zip", "empty/x": ""})
    with zipfile.ZipFile(home / "nothing.zip", "w") as archive:
        archive.writestr("beside.py", "")
    for name in ("nothing.zip", "empty"):
        run_plain_and_recorded(home, name)


def test_a_script_that_is_a_link_runs_as_in_a_plain_run(home):
    write(
        home,
        {
            "real/prog.py": "import sys, beside\nprint(__file__, sys.path[0], sys.argv)\n1/0",
            "real/beside.py": "",
        },
    )
    os.symlink("real/prog.py", home / "link.py")
    run_plain_and_recorded(home, "link.py")


@pytest.mark.parametrize("way", ["absolute", "relative", "on PATH"])
def test_console_scripts_run_as_in_a_plain_run(way, home):
    """`run -- tool` runs a script that an installer has written."""
    statement = "print(__name__, sys.argv[1:], os.path.basename(sys.argv[0]), sys.path[0])"
    source = f"#!{sys.executable}\nimport sys, os\n{statement}\nsys.exit(3)\n"
    write(home, {"bin/tool": source})
    os.chmod(home / "bin" / "tool", 0o755)
    env = {"PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    script = {"absolute": str(home / "bin" / "tool"), "relative": "bin/tool", "on PATH": "tool"}[way]
    words = [script, "a", "--quiet", "--", "-m"]
    plain = (
        finish(start(words, home, env=env), b"")
        if way != "on PATH"
        else finish(start(["env", *words], home, env=env))
    )
    woven = python(home, *OURS, "--", *words, env=env)
    assert woven == plain
    assert plain.status == 3


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_stream_that_is_closed_at_the_start_stays_closed(closed, home):
    """After `python prog.py >&-` Python's stream is None."""
    source = "import sys\nprint(sys.stdin is None, sys.stdout is None)\nsys.stderr and sys.stderr.write('e')\nsys.exit('end')"
    write(home, {"prog.py": source})
    close_stream = lambda: os.close(closed)
    plain = python(home, "prog.py", preexec_fn=close_stream)
    assert python(home, *OURS, "prog.py", preexec_fn=close_stream) == plain


def test_a_full_device_is_reported_by_python(home):
    write(home, {"prog.py": "print('x')"})
    with open("/dev/full", "wb") as full:
        plain = python(home, "prog.py", stdout=full)
        assert python(home, *OURS, "prog.py", stdout=full) == plain
    assert plain.status == 120


def test_a_program_may_remove_its_working_folder(home):
    write(home, {"prog.py": "import os\nos.mkdir('x'); os.chdir('x'); os.rmdir('../x')\nprint('still here')"})
    run_plain_and_recorded(home, "prog.py")


def test_options_after_the_program_are_passed_to_it(home):
    write(home, {"prog.py": "import sys; print(sys.argv)"})
    run_plain_and_recorded(
        home, "prog.py", "--store", "x", "--rules=none.toml", "--help", "--quiet", "-m", "--", "--", ""
    )


def test_the_report_is_the_last_output_and_goes_to_standard_error(home):
    write(
        home,
        {
            "prog.py": "import atexit, sys\natexit.register(sys.stderr.write, 'last\\n')\nprint('out')\nsys.exit('end')"
        },
    )
    result = python(home, *[word for word in OURS if word != "--quiet"], "prog.py")
    assert (result.status, result.text) == (1, "out\n")
    first, second, report = result.said.splitlines()
    assert (first, second) == ("end", "last")
    assert report.startswith("autochron: 0 crossings recorded in trace ")
