"""A call is told at the line of project code that it was for, by whatever way it came there."""

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


def told(folder, program, **files):
    """Run a program whose marked lines (`# → call`) are those that are to be told; give what was and what was to be."""
    folder.mkdir(exist_ok=True)
    found, problems, ended = run(folder, program, **{"site-packages__library": LIBRARY, **files})
    assert (problems, ended.stderr) == ([], "")
    was = sorted((row[1], row[2], row[4]) for row in found)
    marked = []
    for number, line in enumerate(program.splitlines(), start=1):
        _, arrow, calls = line.partition("# → ")
        for call in calls.split(", ") if arrow else ():
            name, _, tier = call.partition(" via ")
            marked.append((number, name, "library" if tier else "direct"))
    return was, sorted(marked)


CASES = cases("told")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_a_call_is_told_at_its_line(case, tmp_path):
    was, marked = told(tmp_path, f"import sys; sys.path.append('site-packages')\n{CASES[case]}\n")
    assert was == marked


@pytest.mark.slow
def test_a_project_s_module_that_is_imported_counts_and_a_library_s_does_not(tmp_path):
    found, _, _ = run(
        tmp_path,
        "import sys; sys.path.append('site-packages')\nimport other, library\n",
        **{"other": "import time\nNOW = time.time()\n", "site-packages__library": LIBRARY},
    )
    assert [row[:3] for row in found] == [["other.py", 2, "time.time"]]


@pytest.mark.slow
def test_the_function_of_a_library_that_the_line_called_is_named(tmp_path):
    found, _, _ = run(
        tmp_path,
        "import sys; sys.path.append('site-packages')\nimport library\nlibrary.call(library.stamp)\n",
        **{"site-packages__library": LIBRARY},
    )
    assert [row[1:6] for row in found] == [[3, "time.time", 1, "library", "library.call"]]


@pytest.mark.slow
def test_what_ran_in_a_boundary_stands_apart_from_what_ran_outside(tmp_path):
    found, _, _ = run(
        tmp_path,
        "import time, inside\nfor number in range(5):\n    inside[0] = number > 2\n    time.time()\ninside[0] = False\n",
    )
    assert sorted((row[1], row[3], row[6]) for row in found) == [(4, 2, "boundary"), (4, 3, None)]
