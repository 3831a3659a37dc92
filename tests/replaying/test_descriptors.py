"""Standard output and input at their descriptors, however a program writes and reads there."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from tests.cli.processes import ROOT, autochron, finish, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descriptors are known on Linux")

RULES = 'version = 1\npacks = []\n\n[[boundary]]\nname = "{__name__}"\nkind = "tool"\ndefine = "tools:*"\n'
HEAD = (
    "import os, subprocess, sys\nimport tools\nWHAT = os.environ.get('WHAT', 'one')\ntools.look_up('mug')\n"
    'CHILD = \'import os; os.write(1, b"child " + os.environb.get(b"WHAT", b""))\'\n'
)

ALLOWED = '[[effect]]\nkind = "program"\nwhat = "*"\nsite = "*"\nreason = "it prints"\n'

PLAIN = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}

WAYS = {
    "os_write": "os.write(1, f'{WHAT}\\n'.encode())",
    "written_by_a_copy": "os.write(os.dup(1), f'{WHAT}\\n'.encode())",
    "opened_by_number": "with open(1, 'w', closefd=False) as file:\n    file.write(f'{WHAT}\\n')",
    "opened_by_name": "with open('/dev/stdout', 'a') as file:\n    file.write(f'{WHAT}\\n')",
    "wrapped_anew": "import io\nsys.stdout = io.TextIOWrapper(io.FileIO(1, 'w', closefd=False))\nprint(WHAT, flush=True)",
    "from_c": "import ctypes\nctypes.CDLL(None).puts(WHAT.encode())\nctypes.CDLL(None).fflush(None)",
    "from_a_fork": "if not os.fork():\n    os.write(1, WHAT.encode() + b'\\n')\n    os._exit(0)\nos.wait()",
    "by_writev": "os.writev(1, [WHAT.encode(), b'\\n'])",
    "by_posix": "import posix\nposix.write(1, WHAT.encode() + b'\\n')",
    "half_a_line_each": "sys.stdout.flush()\nos.write(1, WHAT.encode())\nprint(' and the rest')",
    "by_a_python_child": "subprocess.run([sys.executable, '-c', CHILD])",
}
KINDS = ("pipe", "file")


def lay_out(folder, source, tool="    return item\n"):
    (folder / "autochron.toml").write_text(RULES)
    (folder / "tools.py").write_text(f"import os, subprocess, sys\n\ndef look_up(item):\n{tool}")
    (folder / "agent.py").write_text(HEAD + source + "\nprint('end', flush=True)\n")


def run_command(folder, *arguments, kind="pipe", stdin=b"", status=0, **env):
    """Run a command with its output in a pipe or a file. Return its standard output (bytes) and standard error (text)."""
    with open(folder / "said.txt", "w+b") as file:
        stdout = subprocess.PIPE if kind == "pipe" else file
        done = autochron(folder, *arguments, stdin=stdin, stdout=stdout, env=env)
        file.seek(0)
        output = done.out if kind == "pipe" else file.read()
    assert done.status == status, (output, done.err)
    return output, done.said


BINARY = {
    "the_buffer": "sys.stdout.buffer.write(b'\\0' + (b'\\xff' if WHAT == 'one' else b'\\xfe') + b'end\\n')",
    "os_write": "os.write(1, b'\\x89PNG' + (b'\\x80' if WHAT == 'one' else b'\\x81') + b'\\n')",
}


@pytest.mark.parametrize("way", BINARY)
def test_output_bytes_that_are_not_text_are_compared(tmp_path, way):
    lay_out(tmp_path, BINARY[way])
    run_command(tmp_path, "run", "agent.py")
    assert "autochron: the same" in run_command(tmp_path, "replay", "last")[1]
    assert "of the output was" in run_command(tmp_path, "replay", "last", status=1, WHAT="two")[1]


def test_bytes_that_a_served_tool_wrote_are_written_again(tmp_path):
    lay_out(tmp_path, "", "    os.write(1, b'\\xff\\xfe\\n')\n    return item\n")
    assert run_command(tmp_path, "run", "agent.py")[0] == b"\xff\xfe\nend\n"
    assert run_command(tmp_path, "replay", "last")[0].startswith(b"\xff\xfe\nend\n")


def test_output_of_a_child_is_not_mistaken_for_the_programs_own(tmp_path):
    source = "if WHAT == 'two':\n    print('done', flush=True)\n"
    lay_out(tmp_path, source, "    subprocess.run(['echo', 'done'])\n    return item\n")
    run_command(tmp_path, "run", "agent.py")
    assert "autochron: the same" in run_command(tmp_path, "replay", "last")[1]
    assert "now it is 'done'" in run_command(tmp_path, "replay", "last", status=1, WHAT="two")[1]


def test_output_lost_by_an_abrupt_exit_is_also_lost_on_replay(tmp_path):
    lay_out(tmp_path, "print('first', flush=True)\nprint('lost')\nos._exit(5)\n")
    output, _ = run_command(tmp_path, "run", "agent.py", status=5)
    assert output == b"first\n"
    assert "autochron: the same" in run_command(tmp_path, "replay", "last")[1]


def test_output_that_c_buffers_is_compared(tmp_path):
    lay_out(tmp_path, "import ctypes\nctypes.CDLL(None).printf(b'c says %s\\n', WHAT.encode())")
    assert run_command(tmp_path, "run", "agent.py")[0] == b"end\nc says one\n"
    assert "autochron: the same" in run_command(tmp_path, "replay", "last")[1]
    assert "'c says two'" in run_command(tmp_path, "replay", "last", status=1, WHAT="two")[1]


def test_a_program_without_standard_input_is_replayed(tmp_path):
    lay_out(tmp_path, "")
    words = f"{sys.executable} -u -m autochron run agent.py <&- | cat"
    environ = {**PLAIN, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        words, shell=True, cwd=tmp_path, env=environ, capture_output=True, timeout=60, check=True
    )
    assert done.stdout == b"end\n", done.stderr
    assert "autochron: the same" in run_command(tmp_path, "replay", "last")[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_output_that_bypasses_pythons_streams_is_compared(tmp_path, way, kind):
    if kind == "file" and way == "opened_by_name":
        pytest.skip("two ends of one file overwrite each other")
    lay_out(tmp_path, WAYS[way])
    output, _ = run_command(tmp_path, "run", "agent.py", kind=kind)
    assert b"one" in output or b"child" in output
    assert run_command(tmp_path, "replay", "last", kind=kind)[1].startswith("autochron: the same")
    _, report = run_command(tmp_path, "replay", "last", kind=kind, status=1, WHAT="two")
    assert "of the output was" in report
    assert "two" in report


def test_the_line_that_wrote_different_output_is_named(tmp_path):
    lay_out(tmp_path, WAYS["os_write"])
    run_command(tmp_path, "run", "agent.py")
    _, report = run_command(tmp_path, "replay", "last", status=1, WHAT="two")
    assert "line 1 of the output was 'one', now it is 'two', written at agent.py:6" in report


def test_output_of_a_served_tool_is_written_again(tmp_path):
    lay_out(tmp_path, "print('after')", "    os.write(1, b'raw\\n')\n    return item\n")
    assert run_command(tmp_path, "run", "agent.py")[0] == b"raw\nafter\nend\n"
    output, report = run_command(tmp_path, "replay", "last")
    assert report.startswith("autochron: the same")
    assert output.startswith(b"raw\nafter\nend\n")


def test_output_of_a_served_tools_child_is_counted_and_not_written_again(tmp_path):
    lay_out(tmp_path, "print('after')", "    subprocess.run(['echo', 'child'])\n    return item\n")
    assert run_command(tmp_path, "run", "agent.py")[0] == b"child\nafter\nend\n"
    output, report = run_command(tmp_path, "replay", "last")
    assert report.startswith("autochron: the same")
    assert "output lines that are not written again: 1;" in report
    assert output.startswith(b"after\nend\n")


SHOWN = "import stat\nsys.stderr.write(f'{sys.stdout.isatty()} {stat.S_IFMT(os.fstat(1).st_mode)} {os.isatty(1)}\\n')\n"


@pytest.mark.parametrize(("kind", "mode"), [("pipe", stat.S_IFIFO), ("file", stat.S_IFREG)])
def test_the_descriptor_of_standard_output_keeps_its_kind(tmp_path, kind, mode):
    lay_out(tmp_path, SHOWN)
    assert f"False {mode} False" in run_command(tmp_path, "run", "agent.py", kind=kind)[1]
    assert f"False {mode} False" in run_command(tmp_path, "replay", "last", kind=kind)[1]


def test_a_program_may_redirect_the_descriptor(tmp_path):
    source = "print('first', flush=True)\nos.dup2(os.open('log.txt', os.O_WRONLY | os.O_CREAT), 1)\n"
    lay_out(tmp_path, source)
    output, _ = run_command(tmp_path, "run", "agent.py")
    assert output == b"first\n"
    assert (tmp_path / "log.txt").read_text() == "end\n"
    assert "autochron: the same" in run_command(tmp_path, "replay", "last", status=0)[1]


def test_a_daemon_does_not_keep_the_output_pipe_open(tmp_path):
    source = (
        "if not os.fork():\n    import time\n    os.setsid()\n    null = os.open(os.devnull, os.O_RDWR)\n"
        "    for each in range(3):\n        os.dup2(null, each)\n    time.sleep(20)\n    os._exit(0)\n"
    )
    lay_out(tmp_path, source)
    assert (
        run_command(tmp_path, "run", "agent.py")[0] == b"end\n"
    )  # at once, and not after the daemon's 20 seconds


def test_the_programs_descriptors_keep_their_usual_numbers(tmp_path):
    lay_out(tmp_path, "print(os.dup(0) < 20)")
    assert run_command(tmp_path, "run", "agent.py")[0] == b"True\nend\n"


def test_the_relay_is_no_child_of_the_program(tmp_path):
    source = "try:\n    os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError:\n    print('none')\n"
    lay_out(tmp_path, source)
    assert run_command(tmp_path, "run", "agent.py")[0] == b"none\nend\n"


def test_a_reader_that_closes_the_pipe_ends_the_program_by_a_broken_pipe(tmp_path):
    lay_out(tmp_path, "import time\nfor each in range(100_000):\n    print('x' * 100, flush=True)\n")
    words = [sys.executable, "-m", "autochron", "run", "agent.py"]
    environ = {**PLAIN, "PYTHONPATH": str(ROOT)}
    program = subprocess.Popen(
        words, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    program.stdout.read(1_000)
    program.stdout.close()
    report = program.stderr.read().decode()
    program.stderr.close()
    assert program.wait(60) in {1, 120}
    assert "BrokenPipeError" in report


def test_all_output_has_arrived_when_the_program_ends(tmp_path):
    # Words, which are masked ten times as fast as one long token.
    lay_out(tmp_path, "for each in range(5_000):\n    os.write(1, b'some words ' * 100 + b'\\n')\n")
    done = subprocess.run(
        f"({sys.executable} -m autochron run agent.py 2>/dev/null; echo after) | tail -c 10",
        shell=True,
        cwd=tmp_path,
        env={**PLAIN, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == b"end\nafter\n"


def test_a_killed_program_loses_nothing_that_it_wrote(tmp_path):
    lay_out(tmp_path, "import signal\nos.write(1, b'last words\\n')\nos.kill(os.getpid(), signal.SIGKILL)\n")
    output, _ = run_command(tmp_path, "run", "agent.py", status=-signal.SIGKILL)
    assert output == b"last words\n"


def test_output_and_errors_in_one_pipe_keep_their_order(tmp_path):
    lay_out(tmp_path, "for each in range(200):\n    os.write(1 + each % 2, f'{each}\\n'.encode())\n")
    done = subprocess.run(
        [sys.executable, "-m", "autochron", "run", "agent.py"],
        cwd=tmp_path,
        env={**PLAIN, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=True,
    )
    assert [line for line in done.stdout.splitlines() if line.isdigit()] == [b"%d" % n for n in range(200)]
    _, report = run_command(tmp_path, "replay", "last")
    assert "autochron: the same" in report
    assert (
        "standard output was no file or pipe of its own when it was recorded: only what Python's streams and os.write write"
        " is compared" in report
    )


READS = {
    "os_read": "print(os.read(0, 100))",
    "opened_by_number": "with open(0, closefd=False) as file:\n    print(file.read())",
    "closed_after_it": "with open(0) as file:\n    print(file.read())",
    "by_a_child": "subprocess.run([sys.executable, '-c', 'print(input())'])",
    "by_the_stream": "print(sys.stdin.read())",
    "line_by_line": "for line in sys.stdin:\n    print(line)",
    "from_the_buffer": "print(sys.stdin.buffer.read())",
    "asyncio": """
import asyncio
async def main():
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    print(await reader.read())
asyncio.run(main())""",
}


def run_with_input(folder, how, *arguments, status=0, text="yes\nno\n"):
    (folder / "input.txt").write_text(text)
    words = [sys.executable, "-m", "autochron", *arguments]
    with open(folder / "input.txt", "rb") as file:
        process = start(words, folder, stdin=file if how == "file" else subprocess.PIPE)
        done = finish(process, b"" if how == "file" else text.encode())
    assert done.status == status, done.err
    return done.out, done.said


@pytest.mark.parametrize("how", ["file", "pipe"])
@pytest.mark.parametrize("way", READS)
def test_standard_input_is_served_at_the_descriptor(tmp_path, way, how):
    lay_out(tmp_path, READS[way])
    if (way, how) == ("asyncio", "file"):
        pytest.skip("asyncio reads no files")
    output, report = run_with_input(tmp_path, how, "run", "agent.py")
    assert b"yes" in output
    if how == "pipe" and way in {"opened_by_number", "closed_after_it", "by_a_child"}:
        expected = (
            "not woven: standard input: opened anew at agent.py:6" if way != "by_a_child" else "autochron"
        )
        assert expected in report
        return
    output, report = run_with_input(tmp_path, "pipe", "replay", "last", text="other")
    assert report.startswith("autochron: the same")
    assert b"yes" in output


def test_standard_input_that_is_larger_than_a_pipe_is_served(tmp_path):
    lay_out(tmp_path, "print(len(os.read(0, 10)) + len(sys.stdin.read()))")
    text = "x" * 2_500_000
    assert run_with_input(tmp_path, "pipe", "run", "agent.py", text=text)[0] == b"2500000\nend\n"
    assert run_with_input(tmp_path, "pipe", "replay", "last", text="")[1].startswith("autochron: the same")


ASKS = {
    "input": "    return input('ok? ')\n",
    "readline": "    return sys.stdin.readline()\n",
    "read": "    return sys.stdin.read(6)\n",
    "readlines": "    return sys.stdin.readlines(2)\n",
    "the_buffer": "    return sys.stdin.buffer.readline()\n",
    "os_read": "    return os.read(0, 6)\n",
}


@pytest.mark.parametrize("how", ["file", "pipe"])
@pytest.mark.parametrize("way", ASKS)
def test_input_that_a_served_tool_read_is_not_read_again(tmp_path, way, how):
    next_read = "print(os.read(0, 6))" if way == "os_read" else "print(sys.stdin.buffer.readline())"
    next_read = "print(input('more? '))" if way in {"input", "readline", "read", "readlines"} else next_read
    lay_out(tmp_path, f"print(tools.look_up('again'))\n{next_read}", ASKS[way])
    text = "line1\nline2\nline3\nline4\n"
    output, _ = run_with_input(tmp_path, how, "run", "agent.py", text=text)
    assert b"line3" in output
    replayed, report = run_with_input(tmp_path, "pipe", "replay", "last", text="other")
    assert "autochron: the same" in report
    assert replayed.startswith(output)


def test_output_that_a_tool_prints_into_another_stream_is_printed_there_again(tmp_path):
    source = (
        "import contextlib, io\nheld = io.StringIO()\nwith contextlib.redirect_stdout(held):\n"
        "    tools.look_up('again')\n    print('beside')\nprint(repr(held.getvalue()), vars(held))"
    )
    lay_out(tmp_path, source, "    print('inside', item)\n    return item\n")
    output, _ = run_command(tmp_path, "run", "agent.py")
    assert output.splitlines()[1] == b"'inside again\\nbeside\\n' {}"
    replayed, report = run_command(tmp_path, "replay", "last")
    assert "autochron: the same" in report
    assert replayed.startswith(output)


WITHOUT_FCNTL = """
import os, sys
sys.modules["fcntl"] = None  # as on Windows
from autochron.stdio.descriptors import InputDescriptor, serve_input
descriptor = InputDescriptor()
descriptor.start()
before = sorted(os.listdir("/proc/self/fd"))
served = [serve_input(b"x" * size, kind) for size in (10, 100_000, 3_000_000) for kind in ("file", "pipe")]
print(descriptor.kind, served, sorted(os.listdir("/proc/self/fd")) == before, sys.stdin.read())
"""


def test_without_fcntl_the_descriptor_of_input_is_let_be(tmp_path):
    (tmp_path / "given.txt").write_text("given")
    with open(tmp_path / "given.txt") as given:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_FCNTL],
            stdin=given,
            env={**PLAIN, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.stdout, done.stderr) == (f" {[None] * 6} True given\n", "")


LARGE_PIPE = """
import fcntl, os, sys
if sys.argv[1] == "unsized":
    del fcntl.F_SETPIPE_SZ
else:
    import resource
from autochron.stdio.descriptors import serve_input
if sys.argv[1] == "full":
    resource.setrlimit(resource.RLIMIT_NOFILE, (90, 90))
before = sorted(os.listdir("/proc/self/fd"))
undo = serve_input(b"x" * 100_000, "pipe")
print(undo, sorted(os.listdir("/proc/self/fd")) == before, sys.stdin.read())
"""


@pytest.mark.parametrize("lacks", ["unsized", "full"])
def test_where_the_system_refuses_the_descriptor_of_input_is_let_be(tmp_path, lacks):
    done = subprocess.run(
        [sys.executable, "-c", LARGE_PIPE, lacks],
        input="given",
        env={**PLAIN, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("None True given\n", "")
