"""Other programs that a recorded program starts are recorded with it in lanes of their own, and served."""

import os
import sys

import pytest

from autochron.store import open_store
from tests.agents.workshop import ROOT, write

WORKER = """
import os, signal, subprocess, sys, time


def tool(n):
    with open("ledger.txt", "a") as ledger:
        ledger.write(f"{n}\\n")
    return n * 10


if __name__ == "__main__":
    word = sys.argv[1]
    if word == "kill":
        print(tool(1), flush=True)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "raise":
        tool(2)
        raise ValueError("in the worker")
    if word == "word":
        sys.exit("a word")
    if word == "below":
        tool(3)
        subprocess.run([sys.executable, "worker.py", "4"])
        word = "5"
    if word == "opaque":
        tool(object())
    print(tool(int(word)), sys.argv, __file__, sys.path[0], __spec__ and __spec__.name, flush=True)
"""

RULES = """
[[boundary]]
name = "{__name__}"
kind = "tool"
target = "worker:tool"
"""


def lay_out(folder, source):
    """Write a program that starts `worker.py`, whose `tool` is a boundary."""
    head = "import asyncio, os, subprocess, sys\n\nWORKER = [sys.executable, 'worker.py']\n"
    write(folder, f"{head}\n\n{source}", rules=RULES)
    (folder / "worker.py").write_text(WORKER, encoding="utf-8")
    return folder


def ledger(folder):
    path = folder / "ledger.txt"
    return sorted(path.read_text().split()) if path.exists() else []


def recorded_crossings(folder):
    """Return the trace's crossings as (lane, input)."""
    trace = open_store(str(folder / ".autochron" / "traces.db")).load("last")
    return [(envelope.lane, envelope.input.decode()) for envelope in trace.envelopes]


def run_without_autochron(folder, **more):
    """Run the program without autochron, remove its ledger, and return how it ended."""
    from tests.agents.workshop import Fresh

    completed = Fresh().run(folder, module="agent", **more)
    (folder / "ledger.txt").unlink(missing_ok=True)
    return completed


def assert_recorded_and_served(fresh, folder, lanes, *, takes_part=True, options=(), **more):
    """Record and replay. Check that output is as without autochron, and the lanes of the crossings."""
    unrecorded = run_without_autochron(folder, **more)
    completed = fresh.run(folder, "run", "agent.py", **more)
    assert completed.stdout == unrecorded.stdout, completed.stderr
    assert completed.status == unrecorded.status
    assert sorted(recorded_crossings(folder)) == sorted(lanes)
    assert ("(child-process)" not in completed.stderr) is takes_part, completed.stderr
    done = ledger(folder)
    replayed = fresh.run(folder, "replay", "last", *options, **more)
    assert (replayed.status, replayed.stdout) == (0, completed.stdout), replayed.stderr
    assert f"{len(lanes)} crossing" in replayed.stderr
    assert ("let be" not in replayed.stderr) is takes_part
    return completed, done


# A variable before a command may be a secret, so the lane, which is stored, must not have it.
OTHER_WAYS = """
os.waitpid(os.posix_spawn(sys.executable, [*WORKER, '5'], os.environ), 0)
os.spawnv(os.P_WAIT, sys.executable, [*WORKER, '6'])
subprocess.run([*WORKER, '1'], preexec_fn=os.getpid)
subprocess.run([*WORKER, '2'], close_fds=False)
print(subprocess.run([*WORKER, 'word'], capture_output=True), flush=True)
os.system(f'{sys.executable} worker.py 3')
os.system(f'KEY="a b" {sys.executable} worker.py 4')
subprocess.run(f'{sys.executable} worker.py 7; {sys.executable} worker.py 8', shell=True)
"""


@pytest.mark.parametrize(
    ("start", "lanes"),
    [
        ("print(subprocess.run([*WORKER, '7'], capture_output=True))", [("0/child:worker.py.1", 7)]),
        (
            "print(subprocess.run([sys.executable, '-m', 'worker', '7'], capture_output=True))",
            [("0/child:worker.1", 7)],
        ),
        ("subprocess.run([*WORKER, '7'], env={**os.environ, 'X': '1'})", [("0/child:worker.py.1", 7)]),
        pytest.param(
            OTHER_WAYS,
            [
                ("0/child:worker.py.2", 1),
                ("0/child:worker.py.3", 2),
                ("0/child:worker.py.5", 3),
                ("0/child:worker.py.6", 4),
                ("0/child:?worker.py.1", 5),
                ("0/child:?worker.py.2", 6),
                ("0/child:sh.1/child:?worker.py.1", 7),
                ("0/child:sh.1/child:?worker.py.2", 8),
            ],
            marks=pytest.mark.slow,
            id="other ways",
        ),
    ],
)
def test_a_program_is_recorded_and_served_however_it_is_started(start, lanes, fresh, tmp_path):
    lay_out(tmp_path, start)
    _, done = assert_recorded_and_served(fresh, tmp_path, [(lane, f'{{"n":{n}}}') for lane, n in lanes])
    assert done == sorted(str(n) for _, n in lanes)
    assert ledger(tmp_path) == done


TWO = """
async def main():
    pipe = asyncio.subprocess.PIPE
    both = [await asyncio.create_subprocess_exec(*WORKER, word, stdout=pipe) for word in ("7", "8")]
    for process in both:
        print(await process.communicate())


asyncio.run(main())
"""


def test_two_at_once_of_an_event_loop_have_a_lane_each(fresh, tmp_path):
    lay_out(tmp_path, TWO)
    lanes = [("0/child:worker.py.1", '{"n":7}'), ("0/child:worker.py.2", '{"n":8}')]
    assert_recorded_and_served(fresh, tmp_path, lanes)
    assert ledger(tmp_path) == ["7", "8"]


def test_a_child_of_a_child_has_a_lane_below(fresh, tmp_path):
    lay_out(tmp_path, "subprocess.run([*WORKER, 'below'])")
    child = "0/child:worker.py.1"
    lanes = [(child, '{"n":3}'), (f"{child}/child:worker.py.1", '{"n":4}'), (child, '{"n":5}')]
    completed, done = assert_recorded_and_served(fresh, tmp_path, lanes)
    assert "tool ×3" in completed.stderr
    assert ledger(tmp_path) == done == ["3", "4", "5"]


def test_crossings_of_a_killed_child_are_recorded_and_served(fresh, tmp_path):
    lay_out(tmp_path, "print(subprocess.run([*WORKER, 'kill'], capture_output=True))")
    assert_recorded_and_served(fresh, tmp_path, [("0/child:worker.py.1", '{"n":1}')])
    assert ledger(tmp_path) == ["1"]


def test_a_childs_traceback_is_pythons_own(fresh, tmp_path):
    lay_out(
        tmp_path, "done = subprocess.run([*WORKER, 'raise'], capture_output=True, text=True)\nprint(done)"
    )
    completed, _ = assert_recorded_and_served(fresh, tmp_path, [("0/child:worker.py.1", '{"n":2}')])
    assert b"ValueError: in the worker" in completed.stdout


@pytest.mark.parametrize(
    ("start", "numbers"),
    [
        ("print(subprocess.run([*WORKER, '7'], env={}))", ["7"]),
        pytest.param(
            "\n".join(
                f"print(subprocess.run([sys.executable, '{option}', 'worker.py', '{number}']), flush=True)"
                for number, option in enumerate(("-S", "-E", "-I"), 7)
            ),
            ["7", "8", "9"],
            marks=pytest.mark.slow,
            id="options",
        ),
    ],
)
def test_a_child_that_cannot_take_part_is_reported_and_refused_on_replay(start, numbers, fresh, tmp_path):
    lay_out(tmp_path, start)
    completed, done = assert_recorded_and_served(
        fresh, tmp_path, [], takes_part=False, options=["--allow-effects"]
    )
    refused = fresh.run(tmp_path, "replay", "last")
    assert refused.status == 1
    assert "starts a child process of python outside every boundary" in refused.stderr
    assert completed.stderr.count("not woven: a child process of python") == len(numbers)
    assert (done, ledger(tmp_path)) == (numbers, sorted(2 * numbers))


@pytest.mark.parametrize("where", ["rules", "option"])
def test_children_are_not_recorded_if_the_rules_or_an_option_say_so(where, fresh, tmp_path):
    lay_out(tmp_path, "print(os.environ.get('AUTOCHRON_CHILD'), flush=True)\nsubprocess.run([*WORKER, '7'])")
    option = ["--no-children"] if where == "option" else []
    if where == "rules":
        rules = tmp_path / "autochron.toml"
        rules.write_text(rules.read_text().replace("version = 1", "version = 1\nchildren = false"))
    completed = fresh.run(tmp_path, "run", *option, "agent.py")
    assert completed.stdout.startswith(b"None\n")
    assert completed.stderr.count("(child-process)") == 1
    assert recorded_crossings(tmp_path) == []


# --- a child's surroundings------------------------------------------------------------------------------------------

SEES = """
import json
import seen_by_site

asked = "import json, os, sys; print(json.dumps([dict(os.environ), sys.path]))"
found = json.loads(subprocess.run([sys.executable, "-c", asked], capture_output=True).stdout)
print(json.dumps([found, [dict(os.environ), sys.path]]))
"""


def test_a_child_sees_its_environment_and_the_users_own_sitecustomize(fresh, tmp_path):
    import json

    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys, seen_by_site\nseen_by_site.names = sys.argv\n")
    (site / "seen_by_site.py").write_text(
        "import os\nos.environ['SEEN'] = os.environ.get('SEEN', '') + 'x'\n"
    )
    lay_out(tmp_path, SEES)
    path = f"{site}{os.pathsep}{ROOT}"
    unrecorded = json.loads(run_without_autochron(tmp_path, PYTHONPATH=path).stdout)
    recorded = json.loads(fresh.run(tmp_path, "run", "agent.py", PYTHONPATH=path).stdout)
    for (environment, modules), (expected, expected_modules) in zip(recorded, unrecorded, strict=True):
        assert environment.pop("AUTOCHRON_CHILD")
        assert environment == expected
        assert modules == expected_modules
    assert recorded[0][0]["SEEN"] == "xx"  # once in each process


# --- divergences --------------------------------------------------------------------------------------------------


def test_a_divergence_in_a_child_is_reported(fresh, tmp_path):
    lay_out(tmp_path, "print(subprocess.run([*WORKER, sys.argv[1]]).returncode)")
    assert fresh.run(tmp_path, "run", "agent.py", "7").status == 0
    replayed = fresh.run(tmp_path, "replay", "last", "--", "agent.py", "8")
    assert replayed.status == 1
    assert "tool[1] was given another input: n was 7, now it is 8 (input)" in replayed.stderr
    assert ledger(tmp_path) == ["7"]


def test_an_extra_or_missing_crossing_of_a_child_is_reported(fresh, tmp_path):
    lay_out(tmp_path, "subprocess.run([*WORKER, sys.argv[1]], stderr=subprocess.DEVNULL)")
    assert fresh.run(tmp_path, "run", "agent.py", "7").status == 0
    missing = fresh.run(tmp_path, "replay", "last", "--", "agent.py", "word")
    assert missing.status == 1
    assert "tool[1] (worker.py:tool) was recorded and did not happen (missing)" in missing.stderr
    assert fresh.run(tmp_path, "run", "agent.py", "word").status == 0
    extra = fresh.run(tmp_path, "replay", "last", "--", "agent.py", "9")
    assert extra.status == 1
    assert "in lane 0/child:worker.py.1 was not recorded" in extra.stderr
    assert ledger(tmp_path) == ["7"]


REACHES = """
import socket, sys

if len(sys.argv) == 1:
    print(subprocess.run([sys.executable, "agent.py", "child"], capture_output=True).returncode)
else:
    socket.create_connection(("127.0.0.1", 9), timeout=2)
"""


def test_a_child_reaches_no_network_on_replay(fresh, tmp_path):
    lay_out(tmp_path, REACHES)
    completed = fresh.run(tmp_path, "run", "agent.py")
    assert "network outside every crossing: 127.0.0.1:9 at agent.py:" in completed.stderr
    replayed = fresh.run(tmp_path, "replay", "last")
    assert replayed.status == 0
    assert "reaches for 127.0.0.1:9 outside every live crossing" in replayed.stderr
    assert "nothing that is compared depended on it" in replayed.stderr


def test_a_problem_in_a_child_is_reported(fresh, tmp_path):
    source = "subprocess.run([*WORKER, 'opaque'], stderr=subprocess.DEVNULL)"
    lay_out(tmp_path, source)
    completed = fresh.run(tmp_path, "run", "agent.py")
    assert "compared by type only: tool.n: builtins:object (opaque-input)" in completed.stderr, (
        completed.stderr
    )


OUTLIVES = """
import time

code = "import sys, time; sys.path.insert(0, '.'); import worker; time.sleep(1); print(worker.tool(7))"
process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
os.write(1, b"")
time.sleep(0.5)
"""


@pytest.mark.slow
def test_a_child_that_outlives_its_parent_is_recorded(fresh, tmp_path):
    import time

    lay_out(tmp_path, OUTLIVES)
    fresh.run(tmp_path, "run", "agent.py")
    deadline = time.monotonic() + 20
    while not recorded_crossings(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert recorded_crossings(tmp_path) == [("0/child:python.1", '{"n":7}')]


def test_an_exported_trace_replays_with_its_children(fresh, tmp_path):
    lay_out(tmp_path, "subprocess.run([*WORKER, 'below'])")
    completed = fresh.run(tmp_path, "run", "agent.py")
    assert fresh.run(tmp_path, "traces", "export", "last", "t.jsonl").status == 0
    replayed = fresh.run(tmp_path, "replay", "t.jsonl")
    assert (replayed.status, replayed.stdout) == (0, completed.stdout), replayed.stderr
    assert ledger(tmp_path) == ["3", "4", "5"]


def test_a_replay_leaves_no_temporary_files(fresh, tmp_path):
    lay_out(tmp_path, "subprocess.run([*WORKER, '7'])")
    (tmp_path / "tmp").mkdir()
    fresh.run(tmp_path, "run", "agent.py")
    assert fresh.run(tmp_path, "replay", "last", TMPDIR=str(tmp_path / "tmp")).status == 0
    assert os.listdir(tmp_path / "tmp") == []


BLOCK = """
import autochron

with autochron.record("blocks"):
    print(subprocess.run([*WORKER, "7"], capture_output=True).stdout)
with autochron.replay("blocks"):
    print(subprocess.run([*WORKER, "7"], capture_output=True).stdout)
print("AUTOCHRON_CHILD" in os.environ)
"""


def test_the_children_of_a_block_are_recorded_and_served(fresh, tmp_path):
    lay_out(tmp_path, BLOCK)
    completed = fresh.run(tmp_path, module="agent")
    assert completed.status == 0, completed.stderr
    recorded_output, replayed_output, is_variable_set = completed.stdout.splitlines()
    assert (recorded_output, is_variable_set) == (replayed_output, b"False")
    assert ledger(tmp_path) == ["7"]


COST = """
import os, sys, time
os.environ.pop("AUTOCHRON_CHILD", None)
line = open(sys.argv[1]).read()
code = compile(line, "x", "exec")
best = min(
    (lambda start: (exec(code), time.perf_counter_ns() - start)[1])(time.perf_counter_ns()) for _ in range(200)
)
print(best, "autochron" in sys.modules)
"""


def test_the_line_that_every_interpreter_runs_costs_microseconds(fresh, tmp_path):
    import subprocess

    line = ROOT / "autochron" / "children.pth"
    command = [sys.executable, "-c", COST, str(line)]
    best, loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert loaded == "False"
    assert int(best) < 20_000


OWN = """
import autochron

if len(sys.argv) == 1:
    print(subprocess.run([sys.executable, "agent.py", "child"], capture_output=True, text=True))
else:
    with autochron.record(store="memory:") as recording:
        import worker

        worker.tool(7)
    print(len(recording.trace().envelopes))
"""


def test_a_child_may_begin_a_session_of_its_own(fresh, tmp_path):
    lay_out(tmp_path, OWN)
    unrecorded = run_without_autochron(tmp_path)
    completed = fresh.run(tmp_path, "run", "agent.py")
    assert completed.stdout == unrecorded.stdout
    assert b"stdout='1\\n'" in completed.stdout
    assert "a session of its own began there" in completed.stderr


def test_a_recorded_child_is_not_run_for_real_if_it_would_not_find_autochron(fresh, tmp_path):
    lay_out(tmp_path, "subprocess.run([*WORKER, '7'])")
    assert fresh.run(tmp_path, "run", "agent.py").status == 0
    # An installation without `children.pth`, as when autochron is merely on PYTHONPATH.
    hidden = "import os, sys; find = os.path.isfile; os.path.isfile = lambda path: 'children.pth' not in path and find(path)"
    code = f"{hidden}; sys.argv[0] = 'autochron'; from autochron.cli import main; main(['replay', 'last'])"
    (tmp_path / "hiding.py").write_text(code, encoding="utf-8")
    replayed = fresh.run(tmp_path, module="hiding")
    assert replayed.status == 1, replayed.stderr
    assert "would be started for real at agent.py:" in replayed.stderr
    assert ledger(tmp_path) == ["7"]


INTERRUPTED = """
source = "import threading, time, atexit\\natexit.register(print, 'exit', flush=True)\\n"
source += "threading.Thread(target=lambda: (time.sleep(0.2), print('thread', flush=True))).start()\\n"
source += "raise KeyboardInterrupt"
open("ends.py", "w").write(source)
print(subprocess.run([sys.executable, "ends.py"], capture_output=True, text=True))
"""


def test_an_interrupted_child_ends_as_python_ends_it(fresh, tmp_path):
    lay_out(tmp_path, INTERRUPTED)
    completed, _ = assert_recorded_and_served(fresh, tmp_path, [])
    assert b"returncode=-2, stdout='thread\\nexit\\n'" in completed.stdout


def test_a_child_that_cannot_be_recorded_runs_unchanged_and_is_reported(fresh, tmp_path):
    source = "import shutil\n\nshutil.rmtree('.autochron')\nprint(subprocess.run([*WORKER, '7'], capture_output=True))"
    lay_out(tmp_path, source)
    (tmp_path / ".autochron").mkdir()
    unrecorded = run_without_autochron(tmp_path)
    (tmp_path / ".autochron").mkdir()
    completed = fresh.run(tmp_path, "run", "agent.py")
    assert (completed.status, completed.stdout) == (0, unrecorded.stdout)
    assert "not woven: a child process of python" in completed.stderr


def test_a_child_whose_rules_are_gone_on_replay_is_not_run_for_real(fresh, tmp_path):
    removes = "subprocess.run(['rm', 'autochron.toml'])"
    source = f"if len(sys.argv) > 1:\n    {removes}\nprint(subprocess.run([*WORKER, '7']).returncode)"
    lay_out(tmp_path, source)
    assert fresh.run(tmp_path, "run", "agent.py").status == 0
    replayed = fresh.run(tmp_path, "replay", "last", "--allow-effects", "--", "agent.py", "remove")
    assert (replayed.status, replayed.stdout) == (1, b"2\n"), replayed.stderr
    assert "this process can't be served" in replayed.stderr
    assert ledger(tmp_path) == ["7"]
