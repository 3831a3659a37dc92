"""The six guarded tools of agent-chronicle 0.5.0, out of its source, and the mutants that its own study makes of them.

    python -m bench.chronicle [FOLDER]

compares these with what our operator set `paper` makes, tree for tree. FOLDER is its unpacked source, which is fetched
without one. Nothing of it is kept.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from msgspec import Struct, json

from autochron.mutate.generating import generate, mutated
from autochron.mutate.model import MutationTarget
from autochron.mutate.sets import operator_set
from bench.paper import peer

# Its own generator, asked in a process of its own: its modules register what they decorate.
_THEIRS = """
import ast, json
from examples.benchmark import mutation
found = {}
for name, module in mutation.SCENARIOS.items():
    tool = mutation._tool_def(module)
    total = mutation._apply(tool, -1)[1].count
    made = [mutation._apply(tool, number)[0] for number in range(total)]
    found[name] = {
        "file": module.__file__,
        "function": tool.name,
        "mutants": [[ast.dump(statement) for statement in each.body] for each in made],
    }
print(json.dumps(found))
"""


class Theirs(Struct, frozen=True):
    """What its generator makes of a tool: the bodies of the mutants, as trees."""

    file: str
    function: str
    mutants: list[list[str]]


class Guarded(Struct, frozen=True):
    """A guarded tool: its name in the paper, its module without the marks, and its function there."""

    name: str
    source: str
    function: str


def guarded_tools(folder: Path) -> list[Guarded]:
    """Return the guarded tools of an unpacked source, in the paper's order."""
    return [
        Guarded(name, without_marks(Path(each.file).read_text(encoding="utf-8")), each.function)
        for name, each in _theirs(folder).items()
    ]


def without_marks(source: str) -> str:
    """Take `@boundary(…)` and its import out of a module."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        gone: list[ast.stmt | ast.expr] = []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            gone = [each for each in node.decorator_list if _is_mark(each)]
        elif isinstance(node, ast.ImportFrom) and [each.name for each in node.names] == ["boundary"]:
            gone = [node]
        for each in gone:
            for number in range(each.lineno - 1, each.end_lineno or each.lineno):
                lines[number] = ""
    return "".join(lines)


def compare(folder: Path) -> bool:
    """Print how many mutants each side makes of each tool, and how many of them are the same; True where all are."""
    theirs = _theirs(folder)
    print(f"{'':10}{'theirs':>8}{'ours':>8}{'the same':>10}")
    sums = [0, 0, 0]
    for tool in guarded_tools(folder):
        expected = Counter("\n".join(body) for body in theirs[tool.name].mutants)
        made = Counter(_ours(tool))
        row = [expected.total(), made.total(), (expected & made).total()]
        print(f"{tool.name:10}{row[0]:8}{row[1]:8}{row[2]:10}")
        sums = [before + more for before, more in zip(sums, row, strict=True)]
    print(f"{'in sum':10}{sums[0]:8}{sums[1]:8}{sums[2]:10}")
    return sums[0] == sums[1] == sums[2]


def _ours(tool: Guarded) -> list[str]:
    """Return the bodies of our mutants, as trees."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "guarded.py").write_text(tool.source, encoding="utf-8")
        made = generate(folder, tool.name, MutationTarget("guarded.py", tool.function), operator_set("paper"))
    bodies = []
    for mutant in made.mutants:
        nodes = ast.walk(ast.parse(mutated(made.source, mutant)))
        functions = [
            node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == tool.function
        ]
        bodies.append("\n".join(ast.dump(statement) for statement in functions[0].body))
    return bodies


def _theirs(folder: Path) -> dict[str, Theirs]:
    done = subprocess.run(
        [sys.executable, "-c", _THEIRS], cwd=folder, capture_output=True, text=True, timeout=120, check=True
    )
    return json.decode(done.stdout, type=dict[str, Theirs])


def _is_mark(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "boundary"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.chronicle", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("folder", type=Path, nargs="?", help="its unpacked source; fetched without")
    folder: Path | None = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as scratch:
        source = folder or peer.fetched(Path(scratch))
        if isinstance(source, str):
            print(source, file=sys.stderr)
            return 2
        return 0 if compare(source) else 1


if __name__ == "__main__":
    sys.exit(main())
