"""The dependencies in pyproject.toml are those that the code imports."""

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
PLANNED: set[str] = set()
"""Declared for planned features, and not imported yet."""


@cache
def imported(folder):
    """Return the distributions that the modules of a folder import, including lazily and for types."""
    roots = set()
    for file in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                roots.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                roots.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
                roots.update(argument.value for argument in node.args if isinstance(argument, ast.Constant))
    known = packages_distributions()
    # A package that isn't installed counts by the name of its module.
    return {canonicalize_name(name) for root in roots for name in known.get(root, (root,))}


def declared(requirements):
    return {canonicalize_name(Requirement(requirement).name) for requirement in requirements}


def test_every_dependency_is_imported_except_planned_ones():
    assert declared(PROJECT["dependencies"]) - imported("autochron") == PLANNED
    unused = {
        extra: declared(requirements) - imported("bench" if extra == "bench" else "autochron")
        for extra, requirements in PROJECT["optional-dependencies"].items()
    }
    assert unused == {extra: set() for extra in PROJECT["optional-dependencies"]}


def test_a_recorded_run_imports_neither_planned_dependencies_nor_libcst(tmp_path):
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
