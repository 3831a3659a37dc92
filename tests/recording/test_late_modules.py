"""Modules that crossings need are imported when something is woven, neither before nor during a crossing."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "autochron"

CROSSING = {"autochron.envelope.codec", "autochron.envelope.canonical", "autochron.recording.drafts"}

RULES = """version = 1
packs = []
[[boundary]]
name = "pay"
kind = "tool"
define = "shop:pay"
"""

SHOP = "def pay(amount):\n    return {'paid': amount}\n"


def run(folder, *words):
    done = subprocess.run(
        [sys.executable, "-m", "autochron", *words], cwd=folder, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def imported_modules(folder, program):
    (folder / "agent.py").write_text(
        program.replace("LOADED", f"print(sorted({sorted(CROSSING)} & sys.modules.keys()))")
    )
    status, stdout, stderr = run(folder, "run", "--quiet", "agent.py")
    assert (status, stderr) == (0, "")
    return stdout


def late_module_calls(path):
    text = path.read_text()
    if "late_modules(" not in text:  # to parse the whole package takes seconds, of each worker
        return []
    return [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "late_modules"
    ]


FILES = [
    path for path in sorted(PACKAGE.rglob("*.py")) if path.name != "_late.py" and late_module_calls(path)
]


def test_a_program_without_crossings_does_not_import_the_modules(tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    assert imported_modules(tmp_path, "import sys\nLOADED\n") == "[]\n"


def test_weaving_imports_the_modules_that_crossings_need(tmp_path):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "shop.py").write_text(SHOP)
    stdout = imported_modules(tmp_path, "import sys\nimport shop\nLOADED\n")
    assert stdout == f"{sorted(CROSSING)}\n"


@pytest.mark.parametrize(
    "broken",
    [
        "builtins.__import__ = None",
        "builtins.open = io.open = os.stat = None",
        "sys.path[:], sys.meta_path[:], sys.path_hooks[:] = [], [], []",
        "sys.path_importer_cache.clear(); sys.path_hooks.clear()",
    ],
)
def test_crossings_work_after_the_program_has_broken_imports(tmp_path, broken):
    (tmp_path / "autochron.toml").write_text(RULES)
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "agent.py").write_text(
        "import builtins, io, os, sys\nimport shop\n"
        f"kept = builtins.__import__, open, os.stat, sys.path[:], sys.meta_path[:], sys.path_hooks[:]\n{broken}\n"
        "paid = shop.pay(3)\n"
        "builtins.__import__, builtins.open, os.stat, sys.path[:], sys.meta_path[:], sys.path_hooks[:] = kept\n"
        "io.open = open\nprint(paid)\n"
    )
    assert run(tmp_path, "run", "--quiet", "agent.py") == (0, "{'paid': 3}\n", "")
    status, stdout, _ = run(tmp_path, "traces", "show", "last")
    assert (status, "pay[1]" in stdout) == (0, True)


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(PACKAGE).as_posix() for path in FILES])
def test_late_imports_match_the_imports_for_type_checkers(path):
    tree = ast.parse(path.read_text())
    (call,) = late_module_calls(path)
    late = {argument.value.rpartition(".")[2]: argument.value for argument in call.args[1:]}
    late |= {keyword.arg: keyword.value.value for keyword in call.keywords}
    for module in late.values():
        importlib.import_module(module)
    (block,) = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
    ]
    imported = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    imported |= {
        alias.name: alias.name for node in block.body if isinstance(node, ast.Import) for alias in node.names
    }
    assert late.items() <= imported.items()
