"""The copy of a project in which plain cosmic-ray tries mutants."""

import os

import pytest

from autochron.errors import UsageError
from autochron.mutate import agreement
from autochron.mutate.model import MutationTarget
from autochron.mutate.project_copy import copied, root_of, too_large
from tests.cli.processes import write

RULES = 'version = 1\npacks = []\nroot = "../.."\n'
PROJECT = {
    "tools.py": "def refund(): pass\n",
    "incidents/refund/trace.jsonl": "{}",
    "incidents/refund/autochron.toml": RULES,
    "venv/pyvenv.cfg": "",
    "venv/lib/big.py": "",
    ".git/config": "",
    "node_modules/a.js": "",
    "tests/__pycache__/a.pyc": "",
    ".autochron/traces.db": "",
    ".autochron/traces.db-wal": "",
    ".autochron/mutation/study.json": "",
    ".autochron/snapshots/ab": "rows",
}
INSIDE = {"trace.jsonl": "{}", "autochron.toml": "version = 1\n", "guarded.py": ""}


@pytest.fixture
def project(tmp_path):
    write(tmp_path / "shop", PROJECT)
    return tmp_path / "shop"


def test_the_copy_has_what_tests_may_read_and_no_more(project):
    with copied(project) as copy:
        found = {
            os.path.relpath(os.path.join(folder, name), copy)
            for folder, _, names in os.walk(copy)
            for name in names
        }
        assert copy.name == "shop"
    assert found == {
        "tools.py",
        "incidents/refund/trace.jsonl",
        "incidents/refund/autochron.toml",
        ".autochron/snapshots/ab",
    }
    assert not copy.exists()


def test_what_is_copied_is_the_least_folder_with_the_rules_and_the_files(project, tmp_path):
    folder = project / "incidents" / "refund"
    assert root_of(folder, ["../../tools.py"]) == project
    assert root_of(folder, ["guarded.py"]) == project  # the root that the rules name
    write(tmp_path / "alone", INSIDE)
    assert root_of(tmp_path / "alone", ["guarded.py"]) == tmp_path / "alone"
    assert root_of(tmp_path / "alone", ["../shop/tools.py"]) == tmp_path


def test_a_project_that_is_too_large_is_not_copied(project):
    assert too_large(project) == ""
    assert too_large(project, 3) == f"{project} holds more than 3 files or 200 MB"
    assert too_large(project, 4, 10) == f"{project} holds more than 4 files or 0 MB"


TEST = """
import pytest
import sys
sys.path.insert(0, {path!r})
import tools


@pytest.mark.autochron
def test_it():
    assert tools.refund() == {expected}
"""


@pytest.mark.parametrize(
    ("path", "expected", "reason"),
    [
        (".", 1, ""),
        (".", 2, "its tests fail in a copy of {}: assert 1 == 2"),
        (
            "{}",
            1,
            "its tests load ../../tools.py from elsewhere than from a copy of {}, such as from where the project",
        ),
    ],
)
def test_tests_that_do_not_run_in_a_copy_are_told_with_the_reason(
    project, path, expected, reason, monkeypatch
):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    source = "def refund():\n    return 1\n"
    text = TEST.format(path=path.format(project), expected=expected)
    options = "[pytest]\nmarkers = autochron\n"
    write(project, {"tools.py": source, "incidents/refund/test_it.py": text, "pytest.ini": options})
    target = MutationTarget("../../tools.py", "refund")
    found = agreement.obstacle(project / "incidents" / "refund", [target], {target.file: source})
    assert found[: len(reason.format(project))] == reason.format(project)
    assert bool(found) == bool(reason)


def test_operators_that_plain_cosmic_ray_does_not_know_are_refused_at_the_start(monkeypatch):
    monkeypatch.setattr(agreement, "entry_points", lambda group: ())
    agreement.refuse_unknown_operators(["core/NumberReplacer"])
    with pytest.raises(
        UsageError, match=r"is imported from a folder and not installed; install it .* or say --crosscheck 0"
    ):
        agreement.refuse_unknown_operators(["autochron/StringConstant"])
