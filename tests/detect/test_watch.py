"""A watch counts calls, survives faults, threads and forks, and leaves every function as it was."""

import os
import sys
import threading
import time
import uuid
from types import ModuleType

import pytest

from autochron.detect.line_hash import hash_of
from autochron.detect.watch.attribution import Attribution
from autochron.detect.watch.watch import SourceWatch
from autochron.model import Finding, Site
from tests.detect.running import run


class World:
    """A project of one imported module, and a watch on it."""

    def __init__(self, folder, source):
        self.path = str(folder / "agent.py")
        with open(self.path, "w") as file:
            file.write(source)
        self.module = ModuleType("agent")
        self.module.__file__ = self.path
        exec(compile(source, self.path, "exec"), vars(self.module))
        self.problems = []
        self.inside = False
        self.watch = self.another()

    def another(self, is_inside=None):
        return SourceWatch(
            lambda file: file == self.path,
            lambda file: file.rpartition("/")[2],
            self.problems.append,
            is_inside or (lambda: self.inside),
        )

    def on(self):
        self.watch.on({**sys.modules, "agent": self.module})
        return self.watch

    def found(self):
        return [(finding.site.line, finding.call, finding.count) for finding in self.watch.findings()]


@pytest.fixture
def world(tmp_path):
    worlds = []

    def make(source):
        worlds.append(World(tmp_path, source))
        return worlds[-1]

    yield make
    for project in worlds:
        project.watch.off()


def test_a_finding_has_the_place_the_call_and_the_count(world):
    project = world("import time\ndef f():\n    return time.time()\n")
    project.on()
    project.module.f()
    project.module.f()
    assert project.watch.findings() == [
        Finding(
            site=Site("agent.py", 3, "f", hash_of("return time.time()")),
            category="clock",
            call="time.time",
            count=2,
            tier="direct",
        )
    ]


def test_a_call_inside_a_boundary_is_covered(world):
    project = world("import uuid\ndef f():\n    return uuid.uuid4()\n")
    project.on()
    for project.inside in (False, True, True):
        project.module.f()
    assert sorted((finding.count, finding.covered) for finding in project.watch.findings()) == [
        (1, None),
        (2, "boundary"),
    ]


def test_calls_of_a_source_that_a_module_has_already_imported_are_found(world):
    project = world("from time import time\nfrom uuid import uuid4\ndef f():\n    return time(), uuid4()\n")
    original = project.module.time
    project.on()
    project.module.f()
    project.watch.off()
    assert project.found() == [(4, "time.time", 1), (4, "uuid.uuid4", 1)]
    assert project.module.time is original is time.time


def test_a_patched_function_that_outlives_the_watch_counts_nothing(world):
    project = world("import time\ndef f(clock):\n    return clock()\n")
    project.on()
    patched = time.time
    project.module.f(patched)
    project.watch.off()
    assert project.module.f(patched) > 0
    assert project.found() == [(3, "time.time", 1)]


def test_each_watch_starts_counting_from_zero(world):
    project = world("import time\ndef f():\n    while True:\n        yield time.time()\n")
    running = project.module.f()
    for _ in range(3):
        project.watch = project.another()
        project.on()
        next(running)
        next(running)
        project.watch.off()
        assert project.found() == [(4, "time.time", 2)]


@pytest.mark.parametrize("fault", [ValueError("x"), RuntimeError("x"), RecursionError("x")])
def test_our_own_fault_is_reported_once_and_changes_no_result(world, monkeypatch, fault):
    def fail(*_):
        raise fault

    monkeypatch.setattr(Attribution, "count", fail)
    project = world(
        "import time, uuid, datetime, os, random\ndef f():\n"
        "    now = datetime.datetime.now()\n    open(__file__).close()\n"
        "    return time.time(), uuid.uuid4(), now, os.environ['PATH'], random.random()\n"
    )
    project.on()
    for _ in range(3):
        clock, key, now, path, draw = project.module.f()
    project.watch.off()
    assert (clock > 0, key.version, now.year > 2000, path, 0 <= draw < 1) == (
        True,
        4,
        True,
        os.environ["PATH"],
        True,
    )
    assert len(project.problems) == 1
    assert "(watch-fault)" in project.problems[0]


def test_a_fault_of_the_is_inside_callback_is_reported_once_and_changes_no_result(world):
    def is_inside():
        raise LookupError("gone")

    project = world("import time\ndef f():\n    return time.time()\n")
    project.watch = project.another(is_inside)
    project.on()
    assert project.module.f() > 0
    assert [problem.count("LookupError: gone") for problem in project.problems] == [1]


def test_a_patch_that_fails_is_reported_and_the_others_stay(world, monkeypatch):
    from autochron.detect.watch import patches

    def fail(*_):
        raise SystemError("no such operation")

    monkeypatch.setattr(patches, "with_call", fail)
    project = world("import time, uuid\ndef f():\n    return time.time(), uuid.uuid4()\n")
    project.on()
    project.module.f()
    assert project.found() == [(3, "os.urandom", 1), (3, "time.time", 1)]
    assert len(project.problems) == 1


def test_all_calls_of_many_threads_are_counted(world):
    project = world(
        "import time, uuid\ndef f():\n    for _ in range(500):\n        time.time()\n        uuid.uuid4()\n"
    )
    project.on()
    threads = [threading.Thread(target=project.module.f) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    project.watch.off()
    assert project.found() == [(4, "time.time", 3000), (5, "uuid.uuid4", 3000)]


def test_a_wrapper_that_someone_else_put_on_a_patch_stays(world, monkeypatch):
    project = world("import time\n")
    project.on()
    ours = time.time

    def theirs():
        return ours() + 1

    monkeypatch.setattr(time, "time", theirs)
    project.watch.off()
    assert time.time is theirs
    assert theirs() > 1
    monkeypatch.undo()
    assert time.time is ours
    time.time = ours.autochron_original


def test_a_function_that_was_changed_meanwhile_is_not_restored(world):
    project = world("import uuid\n")
    before = uuid.uuid1.__code__
    project.on()
    theirs = uuid.uuid1.__code__.replace(co_name="theirs")
    uuid.uuid1.__code__ = theirs
    project.watch.off()
    remaining, uuid.uuid1.__code__ = uuid.uuid1.__code__, before
    assert remaining is theirs


THREADED = """
import threading, time
def run():
    for _ in range(20):
        time.time()
        time.sleep(0.001)
thread = threading.Thread(target=run)
thread.start()
"""

GOING_ON = """
import threading, time, uuid
def run():
    while True:
        uuid.uuid4()
        open("/dev/null").close()
threading.Thread(target=run, daemon=True).start()
time.sleep(0.05)
print("end")
"""

FINALIZED = """
import atexit, os, time, uuid
atexit.register(time.time)
class A:
    def __del__(self, time=time, os=os, uuid=uuid):
        time.time(), os.stat("."), uuid.uuid4()
held = A()
held.self = held
print("end")
"""

ENDINGS = {
    "threads at import": (
        "import other\nother.thread.join()\nprint('end')\n",
        {("other.py", 5, "time.time", 20), ("other.py", 8, "threading.Thread.start", 1)},
    ),
    "a daemon thread that goes on": (GOING_ON, {("agent.py", 7, "threading.Thread.start", 1)}),
    "an exit handler and a finalizer": (FINALIZED, set()),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", ENDINGS)
def test_a_watched_program_ends_without_additional_output(case, tmp_path):
    program, expected = ENDINGS[case]
    findings, problems, ended = run(tmp_path, program, other=THREADED)
    rows = {tuple(row[:4]) for row in findings}
    assert (ended.stdout, problems, ended.stderr, ended.returncode) == ("end", [], "", 0)
    assert expected <= rows


FORK = """
import json, os, time
def f():
    time.time()
f()
pid = os.fork()
if not pid:
    f()
    import watch
    found = [[finding.site.line, finding.call, finding.count] for finding in watch.findings()]
    os.write(1, json.dumps(found).encode() + b"\\n")
    os._exit(0)
os.waitpid(pid, 0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_counts_its_own_calls(tmp_path):
    findings, problems, ended = run(tmp_path, FORK)
    assert ended.stdout == '[[4, "time.time", 1]]'
    assert [row[1:4] for row in findings] == [[4, "time.time", 1], [6, "os.fork", 1]]
    assert (problems, ended.stderr) == ([], "")


CHANGES = """
import datetime, random, time
def are_plain():
    named = (time.time, time.localtime, random.choice, datetime.datetime.now)
    return [type(each).__dict__.get("__call__").__class__.__name__ != "property" for each in named]
TRAVELS = "import _time_machine\\ndef travel():\\n    print(_time_machine.patch())"
"""

IN_C = """
import changes
print(changes.are_plain())
def patch():
    return changes.are_plain()
"""

TRAVELLER = """
import datetime, importlib.util, sys, time
import changes
class Rewriting:  # as pytest loads its plugins: the loader is none of importlib's
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "time_machine" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(changes.TRAVELS, vars(module))
sys.meta_path.insert(0, Rewriting())
print(changes.are_plain())
import time_machine
time_machine.travel()
print(changes.are_plain())
datetime.datetime.now(), time.time(), time.localtime()
"""


@pytest.mark.slow
def test_a_library_that_patches_c_functions_in_place_finds_the_originals(tmp_path):
    findings, problems, ended = run(
        tmp_path,
        TRAVELLER,
        changes=CHANGES,
        _time_machine=IN_C,
    )
    covered, plain = [False] * 4, [True] * 4
    assert (ended.stdout.split("\n"), problems, ended.stderr) == (
        [str(states) for states in (covered, plain, plain, covered)],
        [],
        "",
    )
    assert [tuple(row[:4]) for row in findings] == [
        ("agent.py", 16, "datetime.datetime.now", 1),
        ("agent.py", 16, "time.localtime", 1),
        ("agent.py", 16, "time.time", 1),
    ]


def test_a_call_in_code_without_line_numbers_is_found_at_its_function(world):
    project = world(
        "import time\ndef f():\n    return time.time()\nf.__code__ = f.__code__.replace(co_linetable=b'')\n"
    )
    project.on()
    assert project.module.f() > 0
    assert [(finding.call, finding.site.line) for finding in project.watch.findings()] == [("time.time", 2)]
