"""A call is reported at the line of project code that caused it, by whatever path."""

import pytest

from tests.detect.running import cases, run

LIBRARY = """
import asyncio, os, threading, time, uuid, random
STARTED = time.time()
def stamp():
    return time.time()
def key():
    return uuid.uuid4()
def call(function):
    return function()
def read():
    return os.environ.get("PATH"), os.getpid()
def connect():
    import socket
    socket.socket(socket.AF_UNIX).connect("nowhere")
def start(target):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
async def later():
    await asyncio.sleep(0)
    time.time()
async def nested():
    await asyncio.create_task(later())
"""


def findings_and_marks(folder, program, **files):
    """Run a program with marked lines (`# → call`); return the findings and the marks, as sorted (line, call, tier)."""
    folder.mkdir(exist_ok=True)
    rows, problems, ended = run(folder, program, **{"site-packages__library": LIBRARY, **files})
    assert (problems, ended.stderr) == ([], "")
    findings = sorted((row[1], row[2], row[4]) for row in rows)
    marked = []
    for number, line in enumerate(program.splitlines(), start=1):
        _, arrow, calls = line.partition("# → ")
        for call in calls.split(", ") if arrow else ():
            name, _, tier = call.partition(" via ")
            marked.append((number, name, "library" if tier else "direct"))
    return findings, sorted(marked)


CASES = cases("told")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_a_call_is_reported_at_its_line(case, tmp_path):
    findings, marked = findings_and_marks(
        tmp_path, f"import sys; sys.path.append('site-packages')\n{CASES[case]}\n"
    )
    assert findings == marked


@pytest.mark.slow
def test_calls_during_the_import_of_a_project_module_count_and_those_of_a_library_do_not(tmp_path):
    findings, _, _ = run(
        tmp_path,
        "import sys; sys.path.append('site-packages')\nimport other, library\n",
        **{"other": "import time\nNOW = time.time()\n", "site-packages__library": LIBRARY},
    )
    assert [row[:3] for row in findings] == [["other.py", 2, "time.time"]]


@pytest.mark.slow
def test_a_finding_names_the_library_function_that_the_line_called(tmp_path):
    findings, _, _ = run(
        tmp_path,
        "import sys; sys.path.append('site-packages')\nimport library\nlibrary.call(library.stamp)\n",
        **{"site-packages__library": LIBRARY},
    )
    assert [row[1:6] for row in findings] == [[3, "time.time", 1, "library", "library.call"]]


@pytest.mark.slow
def test_calls_inside_and_outside_a_boundary_are_counted_separately(tmp_path):
    findings, _, _ = run(
        tmp_path,
        "import time, inside\nfor number in range(5):\n    inside[0] = number > 2\n    time.time()\ninside[0] = False\n",
    )
    assert sorted((row[1], row[3], row[6]) for row in findings) == [(4, 2, "boundary"), (4, 3, None)]


@pytest.mark.slow
def test_a_call_that_c_code_makes_in_a_thread_of_its_own_has_no_line_and_is_no_fault(tmp_path):
    program = (
        "import _thread, threading, time\n"
        "for function in (time.time, threading.Thread, threading.Thread(target=int).start):\n"
        "    _thread.start_new_thread(function, ())\n"
        "time.sleep(0.2)\n"
    )
    findings, problems, ended = run(tmp_path, program)
    assert (problems, ended.stderr) == ([], "")
    assert [row[1:3] for row in findings] == [[3, "_thread.start_new_thread"]]
