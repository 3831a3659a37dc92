"""What pyproject.toml declares is what the code imports."""

import ast
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.cli import processes

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PLANNED = {"bytecode", "libcst"}
"""Declared for what is to be built on them, and imported by nothing yet."""


@cache
def imported(folder):
    """Return the distributions of which a module of a folder imports something, lazily or for types too."""
    roots = set()
    for file in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                roots.update(each.name.partition(".")[0] for each in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                roots.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
                roots.update(each.value for each in node.args if isinstance(each, ast.Constant))
    known = packages_distributions()
    return {canonicalize_name(each) for root in roots for each in known.get(root, ())}


def declared(requirements):
    return {canonicalize_name(Requirement(each).name) for each in requirements}


def test_every_dependency_is_imported_but_for_those_that_are_planned():
    assert declared(PROJECT["dependencies"]) - imported("autochron") == PLANNED
    unused = {
        extra: declared(requirements) - imported("bench" if extra == "bench" else "autochron")
        for extra, requirements in PROJECT["optional-dependencies"].items()
    }
    assert unused == {extra: set() for extra in PROJECT["optional-dependencies"]}


def test_a_recorded_run_imports_none_that_is_planned(tmp_path):
    (tmp_path / "autochron.toml").write_text(
        'version = 1\n[[boundary]]\nname = "add"\nkind = "tool"\ndefine = "tools:add"\n'
    )
    (tmp_path / "tools.py").write_text("def add(one, two): return one + two\n")
    (tmp_path / "agent.py").write_text(
        "import sys, tools\nprint(tools.add(1, 2), sorted({'bytecode', 'libcst'} & set(sys.modules)))\n"
    )
    run = processes.autochron(tmp_path, "run", "agent.py")
    assert (run.status, run.text) == (0, "3 []\n"), run.said
    assert "1 crossing recorded" in run.said
