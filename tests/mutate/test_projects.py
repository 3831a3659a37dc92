"""Projects of strangers, from the recorded run to the written tests by the commands of the README alone.

Each folder in `projects/` has the project before its fix in `project/`, and what the fix changes or adds in `fix/`.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from autochron.mutate.merging import read_study
from tests.cli.processes import ROOT, autochron, finish, python, start
from tests.mutate.desks import PLAIN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

PROJECTS = Path(__file__).parent / "projects"
WRITTEN = "tests/test_edges.py"
LIMIT = 330  # seconds of a study on a busy machine


class Project(NamedTuple):
    """A project, and what the study of it must find.

    Attributes:
        incident: the folder of its incident.
        runs: the words after `autochron run`, by the file of the incident that holds the trace of that run.
        harmful: lines of mutants that do harm and that the project's own tests notice.
        edge: a line of the fix and the same line of a mutant that only other inputs notice.
        file: the file that has it; empty where the inputs can't be written as a test.
        depth: `--depth`.
        made: whether `incident new` makes the folder, of the first run.
        parts: whether there are a predicate and a twin.
        package: the folder of its package, which a user would have installed.
    """

    incident: str
    runs: dict[str, tuple[str, ...]]
    harmful: set[str]
    edge: tuple[str, str]
    file: str = ""
    depth: int = 2
    made: bool = False
    parts: tuple[bool, bool] = (True, True)
    package: str = "."


SHAPES = {
    "src_layout": Project(
        incident="incidents/too_much",
        runs={"trace.jsonl": ("-m", "refunddesk", "please refund 399000 for order A17")},
        harmful={"if cents < remaining(order) or cents > MOST_CENTS:"},
        edge=("if cents <= 0:", "if cents < 0:"),
        file="src/refunddesk/limits.py",
        made=True,
        parts=(False, False),
        package="src",
    ),
    "methods": Project(
        incident="incidents/oversell",
        runs={
            "trace.jsonl": ("clerk.py", "I would like 40 mugs, please."),
            "twin.jsonl": ("clerk.py", "I would like 24 bowls, please."),
        },
        harmful={"if self.held_by(customer) + pieces < self.limit:"},
        edge=("if pieces < 1:", "if pieces <= 1:"),
        file="warehouse.py",
    ),
    "async_agent": Project(
        incident=".",
        runs={
            "minutes.jsonl": ("mailer.py", "send the minutes to anna, the board and the press"),
            "inside.jsonl": ("mailer.py", "send the minutes to anna and the board"),
        },
        harmful={"if attachments < 0 and not await is_inside(to):"},
        edge=("if attachments > MOST_FILES:", "if attachments >= MOST_FILES:"),
        file="guarded.py",
    ),
    "policies": Project(
        incident="incidents/transfer",
        runs={"invoice.jsonl": ("agent.py", "pay", "the", "invoice")},
        harmful={"if cents < checks.most_for(source, target):"},
        edge=("if cents <= 0:", "if cents < 0:"),
        file="policies.py",
        depth=4,
        parts=(True, False),
    ),
    "in_place": Project(
        incident="incidents/heat",
        runs={
            "warm.jsonl": ("house.py", "the bath should be 50 degrees warmer"),
            "usual.jsonl": ("house.py", "the study should be 2 degrees warmer"),
        },
        harmful={"degrees = max(low, degrees)"},
        edge=("degrees = max(low, min(degrees, high))", "degrees = min(degrees, high)"),
        file="tools.py",
    ),
    "json_state": Project(
        incident="incidents/twice",
        runs={"trace.jsonl": ("cli.py", "refund", "R7"), "usual.jsonl": ("cli.py", "refund", "R8")},
        harmful={'if entry["back"] + cents < entry["paid"]:', 'if entry["back"] + cents == entry["paid"]:'},
        edge=(
            'if entry["back"] + cents > entry["paid"]:',
            'if entry["back"] + cents != entry["paid"]:',
        ),
        file="desk.py",
        made=True,
    ),
}


def record(folder, project, env):
    """Record the runs of a project as it is, and make the folder of its incident."""
    for file, words in project.runs.items():
        command = autochron(folder, "run", *words, env=env)
        assert command.status == 0, command.said
        assert "crossings recorded in trace" in command.said
        path = os.path.join(project.incident, file)
        export = ("traces", "export", "last", "--with-snapshots", path)
        new = ("incident", "new", "last", "--live", "refund", "--with-snapshots", project.incident)
        is_new = project.made and file == "trace.jsonl"
        command = autochron(folder, *(new if is_new else export), env=env)
        assert command.status == 0, command.said
        assert ("fails as it should on today's code" in command.text) is is_new


def status_of(folder, where, env):
    """Run pytest, and return its exit status."""
    command = python(folder, "-m", "pytest", "-q", where, env=env)
    assert command.status in {0, 1}, command.text + command.said
    return command.status


def line_of(result):
    """Return the line of a mutant as the report shows it."""
    added = [line for line in result.diff.splitlines() if line.startswith("+ ")]
    return added[0].removeprefix("+").strip() if added else ""


def killers_of(result):
    return {method for method, verdict in result.verdicts.items() if verdict.is_killed}


IN_THE_BUILD = {"in_place"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in IN_THE_BUILD else pytest.mark.thorough) for name in SHAPES],
)
def test_a_project_is_studied_from_its_run_to_its_written_tests(tmp_path, name):
    project = SHAPES[name]
    folder = tmp_path / name
    shutil.copytree(PROJECTS / name / "project", folder)
    package = [] if project.package == "." else [str(folder / project.package)]
    env = PLAIN | {"PYTHONPATH": os.pathsep.join([ROOT, *package])}
    record(folder, project, env)
    assert status_of(folder, project.incident, env) == 1
    shutil.copytree(PROJECTS / name / "fix", folder, dirs_exist_ok=True)
    assert status_of(folder, project.incident, env) == 0

    writes = ("--write-tests", WRITTEN) if project.file else ()
    depth = () if project.depth == 2 else ("--depth", str(project.depth))
    words = ("mutate", project.incident, *depth, *writes, "--crosscheck", "0")
    command = finish(start([sys.executable, "-m", "autochron", *words], folder, env=env), limit=LIMIT)
    assert command.status == 0, command.said
    (incident,) = read_study(folder / ".autochron" / "mutation").incidents
    assert (incident.has_predicate, incident.has_twin) == project.parts
    assert all(canary.holds for canary in incident.canaries)
    own = "with-edges" if name == "methods" else "with-twin" if incident.has_twin else "cut-point"
    unsafe = [result for result in incident.results if result.is_unsafe]
    assert project.harmful <= {line_of(result) for result in unsafe}
    assert all(own in killers_of(result) or result.behaviour == "escape" for result in unsafe)
    assert f"escapes: 0 of {len(unsafe)} mutant" in command.text
    for line in project.harmful:
        assert any("cut-point" in killers_of(result) for result in unsafe if line_of(result) == line)
    before, after = project.edge
    edge = [result for result in incident.results if line_of(result) == after]
    assert [killers_of(result) for result in edge] == [{"widened"}] * len(edge)
    assert edge
    if project.file:
        assert f"tests that pass on the fix: {WRITTEN.removesuffix('.py')}" in command.text
        assert status_of(folder, "tests", env) == 0
        file = folder / project.file
        file.write_text(file.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
        assert status_of(folder, "tests", env) == 1
