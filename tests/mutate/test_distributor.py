"""The distributor for cosmic-ray: `cosmic-ray init` and `exec` themselves, on a small project."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("cosmic_ray")

from cosmic_ray.distribution.local import LocalDistributor
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, WorkerOutcome, WorkItem
from cosmic_ray.work_item import TestOutcome as Outcome

from autochron.errors import UsageError
from autochron.mutate.distributor import AutochronDistributor, PytestCommand, read_command

PRICE = """
LIMIT = 10


def total(cents, count):
    if count > LIMIT:
        return cents * count
    while count != 0 and cents:
        count -= 1
    return 0
"""

# One of the two sees what runs at import, in a process that a test starts as well.
TESTS = """
import subprocess
import sys

from shop import price


def test_total():
    assert price.total(2, 11) == 22
    assert price.total(2, 3) == 0


def test_in_a_process():
    said = subprocess.run([sys.executable, "-c", "from shop import price; print(price.LIMIT)"], capture_output=True)
    assert said.stdout == b"10\\n"
"""

CONFIG = """
[cosmic-ray]
module-path = "shop"
timeout = {timeout}
excluded-modules = []
test-command = "{command}"

[cosmic-ray.distributor]
name = "{name}"
"""


@pytest.fixture
def project(tmp_path):
    files = {"shop/__init__.py": "", "shop/price.py": PRICE, "tests/test_price.py": TESTS}
    for name, text in files.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return tmp_path / "project"


def configured(project, name, *, timeout=20.0, command=None):
    command = command or f"{sys.executable} -m pytest -x -q -p no:cacheprovider tests"
    (project / f"{name}.ini").write_text(CONFIG.format(name=name, timeout=timeout, command=command))
    return f"{name}.ini"


def cosmic_ray(project, *words):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-m", "cosmic_ray.cli", *words],
        cwd=project, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def spec(operator, occurrence=0, **arguments):
    return MutationSpec("shop/price.py", operator, occurrence, (1, 0), (1, 1), arguments)


# Of all kinds: killed, at import, survives, loops for ever, no such place, no such argument.
ITEMS = [
    WorkItem("gt", [spec("core/ReplaceComparisonOperator_Gt_Lt")]),
    WorkItem("limit", [spec("core/NumberReplacer", 0)]),
    WorkItem("and", [spec("core/ReplaceAndWithOr")]),
    WorkItem("times", [spec("core/ReplaceBinaryOperator_Mul_Add")]),
    WorkItem("nowhere", [spec("core/ReplaceBinaryOperator_Mul_Add", 9)]),
    WorkItem("unknown", [spec("core/NumberReplacer", 0, wrong=1)]),
    WorkItem("none", []),
    WorkItem("same", [spec("core/ReplaceComparisonOperator_Gt_GtE")]),
]


def session(project, items=ITEMS):
    with use_db(project / "session.sqlite", WorkDB.Mode.create) as database:
        database.add_work_items(items)


def results(path):
    with use_db(path, WorkDB.Mode.open) as database:
        return {key: (each.worker_outcome, each.test_outcome, each.diff) for key, each in database.results}


@pytest.mark.thorough
def test_outcomes_are_those_of_the_local_distributor(project, tmp_path):
    session(project)
    other = shutil.copytree(project, tmp_path / "other")
    source = (project / "shop" / "price.py").read_bytes()
    # A mutant that loops for ever takes the whole time of both.
    ours = cosmic_ray(project, "exec", configured(project, "autochron", timeout=8.0), "session.sqlite")
    local = cosmic_ray(other, "exec", configured(other, "local", timeout=8.0), "session.sqlite")
    assert (ours.returncode, local.returncode) == (0, 0), ours.stderr + local.stderr
    found = results(project / "session.sqlite")
    assert found == results(other / "session.sqlite")
    assert {name: outcome for name, (_, outcome, _) in found.items()} == {
        "gt": Outcome.KILLED,
        "limit": Outcome.KILLED,
        "and": Outcome.KILLED,
        "times": Outcome.KILLED,
        "nowhere": None,
        "unknown": Outcome.INCOMPETENT,
        "none": Outcome.SURVIVED,
        "same": Outcome.SURVIVED,
    }
    assert found["nowhere"][0] is WorkerOutcome.NO_TEST
    assert (project / "shop" / "price.py").read_bytes() == source
    assert not list(project.rglob("*.pyc"))


@pytest.mark.thorough
def test_each_of_several_mutations_changes_what_the_one_before_has_left(project, monkeypatch):
    # A session of cosmic-ray's holds one mutation an item; its distributors take several.
    monkeypatch.chdir(project)
    several = [spec("core/ReplaceBinaryOperator_Mul_Add"), spec("core/ReplaceComparisonOperator_Gt_GtE")]
    lasts = [spec("core/ReplaceComparisonOperator_Gt_GtE"), spec("core/ReplaceComparisonOperator_GtE_Gt")]
    items = [WorkItem("two", several), WorkItem("back", lasts)]
    command = f"{sys.executable} -m pytest -x -q -p no:cacheprovider tests"

    def said(distributor):
        found = {}
        distributor(items, command, 60.0, {}, found.__setitem__)
        return {name: (each.worker_outcome, each.test_outcome, each.diff) for name, each in found.items()}

    found = said(AutochronDistributor())
    assert found == said(LocalDistributor())
    assert {name: outcome for name, (_, outcome, _) in found.items()} == {
        "two": Outcome.KILLED,
        "back": Outcome.SURVIVED,
    }


@pytest.mark.slow
def test_a_session_of_cosmic_rays_own_is_read_by_its_tools(project):
    (project / "shop" / "price.py").write_text("LIMIT = 10\n\n\ndef dear(cents):\n    return cents > LIMIT\n")
    (project / "tests" / "test_price.py").write_text(
        "from shop import price\n\n\ndef test_dear():\n    assert price.dear(99)\n"
    )
    config = configured(project, "autochron", timeout=30.0)
    assert cosmic_ray(project, "init", config, "session.sqlite").returncode == 0
    done = cosmic_ray(project, "exec", config, "session.sqlite")
    assert done.returncode == 0, done.stderr
    bin_folder = os.path.dirname(sys.executable)

    def said(tool):
        words = [os.path.join(bin_folder, tool), "session.sqlite"]
        return subprocess.run(words, cwd=project, capture_output=True, text=True, check=True).stdout

    found = results(project / "session.sqlite")
    survivors = [outcome for _, outcome, _ in found.values()].count(Outcome.SURVIVED)
    assert 0 < survivors < len(found)
    assert f"surviving mutants: {survivors} (" in said("cr-report")
    assert f"{100 * survivors / len(found):.2f}" == said("cr-rate").strip()


@pytest.mark.slow
def test_a_module_that_the_engine_has_loaded_is_not_tried(project):
    import msgspec

    session(
        project, [WorkItem("one", [MutationSpec(msgspec.__file__, "core/NumberReplacer", 0, (1, 0), (1, 1))])]
    )
    done = cosmic_ray(project, "exec", configured(project, "autochron"), "session.sqlite")
    assert done.returncode != 0
    assert "is loaded by the process that runs the tests" in done.stderr + done.stdout
    assert results(project / "session.sqlite") == {}


def test_commands_of_pytest_are_read():
    assert read_command(f"{sys.executable} -m pytest -x 'a b'") == PytestCommand(
        ("-x", "a b"), is_module=True
    )
    beside = os.path.join(os.path.dirname(sys.executable), "pytest")
    assert read_command(f"{beside} tests") == PytestCommand(("tests",), is_module=False)


@pytest.mark.parametrize(
    "command", ["make test", "python -m unittest", "python -O -m pytest", "sh -c pytest", ""]
)
def test_other_commands_are_refused_with_what_to_do(command):
    with pytest.raises(UsageError, match="is no command of pytest; write `python -m pytest ARGS`"):
        read_command(command)


def test_another_python_is_refused(tmp_path):
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho /nowhere\n")
    other.chmod(0o755)
    with pytest.raises(UsageError, match="its Python is that of /nowhere"):
        read_command(f"{other} -m pytest")
    pytest_of_other = tmp_path / "pytest"
    pytest_of_other.write_text("#!/bin/sh\n")
    pytest_of_other.chmod(0o755)
    with pytest.raises(UsageError, match="is not of the Python that runs cosmic-ray here"):
        read_command(str(pytest_of_other))


@pytest.mark.parametrize(
    ("config", "said"), [({"jobs": 0}, "jobs = 0: it takes a number"), ({"job": 2}, "no option `job`")]
)
def test_options_that_mean_nothing_are_refused(config, said):
    with pytest.raises(UsageError, match=said):
        AutochronDistributor()(ITEMS, f"{sys.executable} -m pytest", 1.0, config, lambda *_: None)


@pytest.mark.slow
def test_a_mutant_that_no_import_could_find_is_said_not_to_be_tried(project, monkeypatch):
    # What pytest rewrites it reads by itself: silently the test as it stands would be run.
    monkeypatch.chdir(project)
    mutation = MutationSpec("tests/test_price.py", "core/NumberReplacer", 0, (1, 0), (1, 1))
    found = {}
    command = f"{sys.executable} -m pytest -x -q -p no:cacheprovider tests"
    AutochronDistributor()([WorkItem("one", [mutation])], command, 60.0, {"jobs": 1}, found.__setitem__)
    assert found["one"].worker_outcome is WorkerOutcome.EXCEPTION
    assert found["one"].test_outcome is Outcome.INCOMPETENT
    assert "test_price.py was not imported by Python's own loader" in found["one"].output
