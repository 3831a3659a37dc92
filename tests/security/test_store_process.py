"""The process that writes the store ends with the program, and the program continues if that process is killed."""

import os
import time

import pytest

from tests.cli.processes import autochron, write
from tests.security.storing import FIND, STEP, linux, numbers, record


@linux
@pytest.mark.parametrize("when", ["before", "between", "while"])
def test_the_program_writes_the_store_itself_when_the_store_process_is_killed(when, tmp_path):
    code = {
        "before": "step(0); time.sleep(0.1); os.kill(store_process(), 9)\nfor n in range(1, 300): step(n)\n",
        "between": "for n in range(150): step(n)\ntime.sleep(0.2); os.kill(store_process(), 9); time.sleep(0.2)\n"
        "for n in range(150, 300): step(n); time.sleep(0.001)\n",
        "while": "store = store_process()\nfor n in range(300):\n    step(n, 'x' * 5000)\n"
        "    if n == 150: os.kill(store, 9)\n",
    }[when]
    write(tmp_path, {"agent.py": STEP + FIND + code})
    result = autochron(tmp_path, "run", "--store", "t.db", "agent.py", fresh=True)
    assert (result.status, result.out) == (0, b"")
    assert "autochron: 300 crossings recorded" in result.said
    assert "the process that wrote the store was ended by something else" in result.said
    assert numbers(tmp_path) == list(range(300))


@linux
def test_an_idle_store_process_uses_no_cpu_and_is_no_child_of_the_program(tmp_path):
    code = """
step(0); time.sleep(0.2)
def fields():
    with open(f"/proc/{store}/stat") as file: return file.read().rpartition(")")[2].split()
store = store_process()
before = fields()
time.sleep(2)
after = fields()
ticks = sum(map(int, after[11:13])) - sum(map(int, before[11:13]))
assert ticks <= 2, ticks
assert int(after[1]) != os.getpid()
assert int(after[3]) != os.getsid(0)
for stream in range(3): assert os.readlink(f"/proc/{store}/fd/{stream}") == os.devnull
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("alone")
"""
    result = record(tmp_path, FIND + code)
    assert (result.status, result.out, result.err) == (0, b"alone\n", b"")


ENDS = {
    "kill -9": "os.kill(os.getpid(), 9)",
    "its end": "",
    "exec": "os.execv('/bin/true', ['true'])",
    "a fork that has ended": "if not os.fork(): step(1); os._exit(0)\nos.wait()",
    "a child": "import subprocess; subprocess.run([sys.executable, '-c', 'pass'], check=True)",
}


@linux
@pytest.mark.parametrize("end", ENDS)
def test_the_store_process_ends_with_the_program(end, tmp_path):
    code = f"step(0); time.sleep(0.1)\nprint(store_process())\nsys.stdout.flush()\n{ENDS[end]}\n"
    result = record(tmp_path, FIND + code)
    process, give_up = int(result.out), time.monotonic() + 10
    while os.path.exists(f"/proc/{process}/exe") and time.monotonic() < give_up:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{process}/exe")
    assert numbers(tmp_path) == ([0, 1] if "fork" in end else [0])
    assert not os.path.exists(tmp_path / "t.db-wal")


def test_the_recording_does_not_trigger_the_programs_fork_hooks(tmp_path):
    code = """
os.register_at_fork(before=lambda: print("forks"))
for n in range(100): step(n)
time.sleep(0.1)
"""
    result = record(tmp_path, code)
    assert (result.status, result.out, result.err) == (0, b"", b"")
