"""The distributor for cosmic-ray, run by `cosmic-ray init` and `exec` themselves on a small project."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("cosmic_ray")

from cosmic_ray.distribution.local import LocalDistributor
from cosmic_ray.work_item import MutationSpec, WorkerOutcome, WorkItem
from cosmic_ray.work_item import TestOutcome as Outcome

from autochron.errors import UsageError
from autochron.mutate.distributor import AutochronDistributor, PytestCommand, read_command
from tests.late import LateLibrary

work_db = LateLibrary("cosmic_ray.work_db")
"""Imported by the tests that use it, because it imports sqlalchemy, for which each worker would need half a second."""

PRICE = """
LIMIT = 10


def total(cents, count):
    if count > LIMIT:
        return cents * count
    while count != 0 and cents:
        count -= 1
    return 0
"""

# The second test also sees code that runs at import, in a process that it starts.
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


def write_config(project, name, *, timeout=20.0, command=None):
    command = command or f"{sys.executable} -m pytest -x -q -p no:cacheprovider tests"
    (project / f"{name}.ini").write_text(CONFIG.format(name=name, timeout=timeout, command=command))
    return f"{name}.ini"


def cosmic_ray(project, *words):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-m", "cosmic_ray.cli", *words],
        cwd=project, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def mutation(operator, occurrence=0, **arguments):
    return MutationSpec("shop/price.py", operator, occurrence, (1, 0), (1, 1), arguments)


# Every kind: killed, at import, loops for ever, no such place, no such argument, no mutation, survives.
ITEMS = [
    WorkItem("gt", [mutation("core/ReplaceComparisonOperator_Gt_Lt")]),
    WorkItem("limit", [mutation("core/NumberReplacer", 0)]),
    WorkItem("and", [mutation("core/ReplaceAndWithOr")]),
    WorkItem("times", [mutation("core/ReplaceBinaryOperator_Mul_Add")]),
    WorkItem("nowhere", [mutation("core/ReplaceBinaryOperator_Mul_Add", 9)]),
    WorkItem("unknown", [mutation("core/NumberReplacer", 0, wrong=1)]),
    WorkItem("none", []),
    WorkItem("same", [mutation("core/ReplaceComparisonOperator_Gt_GtE")]),
]


def session(project, items=ITEMS):
    with work_db.use_db(project / "session.sqlite", work_db.WorkDB.Mode.create) as database:
        database.add_work_items(items)


def results(path):
    with work_db.use_db(path, work_db.WorkDB.Mode.open) as database:
        return {
            key: (result.worker_outcome, result.test_outcome, result.diff) for key, result in database.results
        }


@pytest.mark.thorough
def test_outcomes_are_those_of_the_local_distributor(project, tmp_path):
    session(project)
    copy = shutil.copytree(project, tmp_path / "other")
    source = (project / "shop" / "price.py").read_bytes()
    # A mutant that loops for ever takes the whole timeout in both.
    ours = cosmic_ray(project, "exec", write_config(project, "autochron", timeout=8.0), "session.sqlite")
    local = cosmic_ray(copy, "exec", write_config(copy, "local", timeout=8.0), "session.sqlite")
    assert (ours.returncode, local.returncode) == (0, 0), ours.stderr + local.stderr
    ours_by_name = results(project / "session.sqlite")
    assert ours_by_name == results(copy / "session.sqlite")
    assert {name: outcome for name, (_, outcome, _) in ours_by_name.items()} == {
        "gt": Outcome.KILLED,
        "limit": Outcome.KILLED,
        "and": Outcome.KILLED,
        "times": Outcome.KILLED,
        "nowhere": None,
        "unknown": Outcome.INCOMPETENT,
        "none": Outcome.SURVIVED,
        "same": Outcome.SURVIVED,
    }
    assert ours_by_name["nowhere"][0] is WorkerOutcome.NO_TEST
    assert (project / "shop" / "price.py").read_bytes() == source
    assert not list(project.rglob("*.pyc"))


@pytest.mark.thorough
def test_each_of_several_mutations_changes_the_text_that_the_one_before_left(project, monkeypatch):
    # `cosmic-ray init` writes one mutation for each item, but distributors accept several.
    monkeypatch.chdir(project)
    several = [
        mutation("core/ReplaceBinaryOperator_Mul_Add"),
        mutation("core/ReplaceComparisonOperator_Gt_GtE"),
    ]
    lasts = [
        mutation("core/ReplaceComparisonOperator_Gt_GtE"),
        mutation("core/ReplaceComparisonOperator_GtE_Gt"),
    ]
    items = [WorkItem("two", several), WorkItem("back", lasts)]
    command = f"{sys.executable} -m pytest -x -q -p no:cacheprovider tests"

    def outcomes_of(distributor):
        outcomes = {}
        distributor(items, command, 60.0, {}, outcomes.__setitem__)
        return {
            name: (result.worker_outcome, result.test_outcome, result.diff)
            for name, result in outcomes.items()
        }

    outcomes = outcomes_of(AutochronDistributor())
    assert outcomes == outcomes_of(LocalDistributor())
    assert {name: outcome for name, (_, outcome, _) in outcomes.items()} == {
        "two": Outcome.KILLED,
        "back": Outcome.SURVIVED,
    }


@pytest.mark.slow
def test_cosmic_rays_own_tools_read_the_session(project):
    (project / "shop" / "price.py").write_text("LIMIT = 10\n\n\ndef dear(cents):\n    return cents > LIMIT\n")
    (project / "tests" / "test_price.py").write_text(
        "from shop import price\n\n\ndef test_dear():\n    assert price.dear(99)\n"
    )
    config = write_config(project, "autochron", timeout=30.0)
    assert cosmic_ray(project, "init", config, "session.sqlite").returncode == 0
    done = cosmic_ray(project, "exec", config, "session.sqlite")
    assert done.returncode == 0, done.stderr
    bin_folder = os.path.dirname(sys.executable)

    def output_of(tool):
        words = [os.path.join(bin_folder, tool), "session.sqlite"]
        return subprocess.run(words, cwd=project, capture_output=True, text=True, check=True).stdout

    outcomes = results(project / "session.sqlite")
    survivors = [outcome for _, outcome, _ in outcomes.values()].count(Outcome.SURVIVED)
    assert 0 < survivors < len(outcomes)
    assert f"surviving mutants: {survivors} (" in output_of("cr-report")
    assert f"{100 * survivors / len(outcomes):.2f}" == output_of("cr-rate").strip()


@pytest.mark.slow
def test_a_module_that_the_test_process_uses_itself_is_not_mutated(project):
    import msgspec

    session(
        project, [WorkItem("one", [MutationSpec(msgspec.__file__, "core/NumberReplacer", 0, (1, 0), (1, 1))])]
    )
    done = cosmic_ray(project, "exec", write_config(project, "autochron"), "session.sqlite")
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
    other_python = tmp_path / "python3"
    other_python.write_text("#!/bin/sh\necho /nowhere\n")
    other_python.chmod(0o755)
    with pytest.raises(UsageError, match="its Python is that of /nowhere"):
        read_command(f"{other_python} -m pytest")
    other_pytest = tmp_path / "pytest"
    other_pytest.write_text("#!/bin/sh\n")
    other_pytest.chmod(0o755)
    with pytest.raises(UsageError, match="is not of the Python that runs cosmic-ray here"):
        read_command(str(other_pytest))


@pytest.mark.parametrize(
    ("config", "message"), [({"jobs": 0}, "jobs = 0: it takes a number"), ({"job": 2}, "no option `job`")]
)
def test_invalid_options_are_refused(config, message):
    with pytest.raises(UsageError, match=message):
        AutochronDistributor()(ITEMS, f"{sys.executable} -m pytest", 1.0, config, lambda *_: None)


@pytest.mark.slow
def test_a_mutant_of_a_file_that_is_not_imported_is_an_exception(project, monkeypatch):
    # pytest reads the test files that it rewrites itself, so the unchanged test would be run silently.
    monkeypatch.chdir(project)
    change = MutationSpec("tests/test_price.py", "core/NumberReplacer", 0, (1, 0), (1, 1))
    results_by_name = {}
    command = f"{sys.executable} -m pytest -x -q -p no:cacheprovider tests"
    AutochronDistributor()(
        [WorkItem("one", [change])], command, 60.0, {"jobs": 1}, results_by_name.__setitem__
    )
    assert results_by_name["one"].worker_outcome is WorkerOutcome.EXCEPTION
    assert results_by_name["one"].test_outcome is Outcome.INCOMPETENT
    assert "test_price.py was not imported by Python's own loader" in results_by_name["one"].output
