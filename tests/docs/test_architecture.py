"""docs/architecture.md names what is in the code, and lists all packages.

A reference is a text between single backticks, outside blocks of code, of one of four forms:

- `module:name`: a module below `autochron`, and a function, class, method, attribute or constant that it defines itself;
- `package.module`: a dotted name, which is a module below `autochron` or below the root (`bench.startup`, `tests.suites`);
- a text with a `/`: a path below the root, which `::name` may follow for a test in that file;
- a single word in the first or the last column of a table of rooms: a package or a module at the top of `autochron`.

Each has to resolve. All else between backticks, such as a command, an option or a line of Python, is no reference.
Nothing is imported: a name that a module only takes from another one does not count.
"""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "autochron"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
TICKED = re.compile(r"`([^`\n]+)`")
NAMED = re.compile(r"(?P<module>[\w.]+):(?P<name>[A-Za-z_][\w.]*)")
DOTTED = re.compile(r"[a-z_]\w*(?:\.[a-z_]\w*)+")
PATH = re.compile(r"(?P<path>[\w.-]*/[\w./-]*)(?:::(?P<name>\w+))?")
FILES = (".toml", ".md", ".py", ".pth", ".json")

ROOMS = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
SINGLE = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}


def references():
    """Return each text between backticks that is of one of the first three forms."""
    texts = dict.fromkeys(TICKED.findall(CODE.sub("", PAGE)))
    return [
        text
        for text in texts
        if NAMED.fullmatch(text)
        or PATH.fullmatch(text)
        or (DOTTED.fullmatch(text) and not text.endswith(FILES))
    ]


def file_of(module, root=PACKAGE):
    """Return the file of a dotted module, or None."""
    path = root.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def names_of(file):
    """Return all names that a file defines: `name`, and `Class.member`, also for attributes that methods set on `self`."""
    names = set()

    def add(body, prefix):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                add(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(prefix + node.target.id)
            elif isinstance(node, ast.Assign):
                names.update(prefix + target.id for target in node.targets if isinstance(target, ast.Name))
            elif isinstance(node, (ast.If, ast.Try)):
                add([*node.body, *node.orelse], prefix)
            elif prefix and isinstance(node, ast.FunctionDef):
                names.update(
                    prefix + inner.attr
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.Attribute)
                    and isinstance(inner.ctx, ast.Store)
                    and isinstance(inner.value, ast.Name)
                    and inner.value.id == "self"
                )

    add(ast.parse(file.read_text("utf-8")).body, "")
    return names


def resolves(reference):
    """Return whether a reference resolves."""
    if named := NAMED.fullmatch(reference):
        file = file_of(named["module"])
        return file is not None and named["name"] in names_of(file)
    if path := PATH.fullmatch(reference):
        file = ROOT / path["path"]
        return file.exists() and (path["name"] is None or path["name"] in names_of(file))
    return any(file_of(reference, root) is not None for root in (PACKAGE, ROOT))


def section(title):
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(title):
    """Return the rows of the tables of a section, each a list of cells, without their headings."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if row[0].startswith("`")]


@cache
def imports():
    """Return for each room the others that it imports, lazy imports included. Imports for type checkers don't count."""
    imported = {room: set() for room in ROOMS | SINGLE}

    def visit(node, room):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for statement in child.orelse:
                    visit(ast.Module([statement], []), room)
                continue
            names = []
            if isinstance(child, ast.ImportFrom) and child.module:
                names = [f"{child.module}.{alias.name}" for alias in child.names]
            elif isinstance(child, ast.Import):
                names = [alias.name for alias in child.names]
            elif isinstance(child, ast.Call) and "late_module" in ast.unparse(child.func):
                arguments = [*child.args, *(keyword.value for keyword in child.keywords)]
                names = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
            parts = [name.split(".") for name in names if name.startswith("autochron.")]
            imported[room].update({part[1] for part in parts} & imported.keys() - {room})
            visit(child, room)

    for file in PACKAGE.rglob("*.py"):
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room in imported:
            visit(ast.parse(file.read_text("utf-8")), room)
    return imported


def drawing():
    """Return the drawn layers from top to bottom, and the rooms that each arrow leads to."""
    (block,) = re.findall(r"^```text\n(.*?)^```", section("The drawing"), re.DOTALL | re.MULTILINE)
    layers, arrows = [set()], {}
    for line in block.splitlines():
        if set(line) == {"-"}:
            layers.append(set())
        elif line:
            room, _, targets = line.partition(" -> ")
            layers[-1].add(room.strip())
            arrows[room.strip()] = set(targets.split())
    return layers, arrows


REFERENCES = references()


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_reference_of_the_page_resolves(reference):
    assert resolves(reference)


def test_references_are_found_and_wrong_ones_do_not_resolve():
    assert len(REFERENCES) > 150
    assert resolves("crossing.kernel:Kernel.enter")
    assert resolves("weaving.gate:Point.compiled")
    assert not resolves("crossing.kernel:Kernel.leave")
    assert not resolves("crossing.kernel:GATE")
    assert not resolves("crossing.core")
    assert not resolves("tests/docs/test_architecture.py::test_nothing")


def test_the_table_of_rooms_lists_all_packages():
    packages = [row[0].strip("`") for row in rows("The rooms")]
    assert sorted(packages) == sorted(ROOMS)


def test_the_table_of_single_modules_lists_all_of_them():
    modules = [row[0].strip("`") for row in rows("Modules outside the packages")]
    assert sorted(modules) == sorted(SINGLE)


def test_each_room_names_two_or_three_modules_of_its_own():
    for room, _, modules, _ in rows("The rooms"):
        named = TICKED.findall(modules)
        assert 1 < len(named) < 4, room
        assert {name.split(".")[0] for name in named} == {room.strip("`")}


def layers():
    """Return the layers of import-linter's contract, from top to bottom."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = [contract for contract in settings["contracts"] if contract["id"] == "layers"]
    return [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]


@pytest.mark.parametrize("row", rows("The rooms"), ids=lambda row: row[0].strip("`"))
def test_the_layers_forbid_the_imports_that_a_room_must_not_have(row):
    place = {room: number for number, layer in enumerate(layers()) for room in layer}
    room, unknown = row[0].strip("`"), {word for word in TICKED.findall(row[3]) if word.isidentifier()}
    allowed = {unknown_room for unknown_room in unknown if place[unknown_room] > place[room]}
    assert allowed == (unknown if room == "provider" else set())  # a separate contract isolates `provider`
    assert unknown & imports()[room] == set()


def test_the_drawn_layers_are_those_of_import_linter():
    assert drawing()[0] == layers()


def test_each_drawn_arrow_is_an_import_and_all_imports_follow_arrows():
    arrows, real = drawing()[1], imports()

    def reached(room):
        return arrows[room].union(*(reached(target) for target in arrows[room]))

    for room in sorted(real):
        assert arrows[room] <= real[room], room
        assert real[room] <= reached(room), room
