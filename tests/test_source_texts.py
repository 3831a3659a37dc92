"""Rules for the source: dotted names in strings resolve, modules are short, and class names are unique."""

import ast
import functools
import importlib
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
DOTTED = re.compile(r"autochron(?:\.[A-Za-z_]\w*)+[.:]?[\w.]*")
FILES = re.compile(r"\.(?:toml|db|json|jsonl|pth|py)\Z")


def texts(file):
    """Yield the dotted names among a module's string constants, with their lines."""
    source = file.read_text(encoding="utf-8")
    if not re.search(
        r"""["']autochron\.""", source
    ):  # to parse the whole package takes seconds, of each worker
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if DOTTED.fullmatch(node.value) and not FILES.search(node.value):
                yield f"{file.relative_to(ROOT)}:{node.lineno}", node.value


def settings():
    """Yield the dotted names in pyproject.toml and in the `.pth` file, with their places."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for table in (project["scripts"], *project["entry-points"].values()):
        for name, target in table.items():
            yield f"pyproject.toml: {name}", target
    for name in DOTTED.findall((ROOT / "autochron" / "children.pth").read_text(encoding="utf-8")):
        yield "autochron/children.pth", name


NAMES = sorted(
    {*settings(), *(text for file in sorted((ROOT / "autochron").rglob("*.py")) for text in texts(file))}
)


def resolve(name):
    """Return the object with a dotted name: `module:name` as in entry points, or `package.` as a prefix."""
    module, _, inner = name.rstrip(".").partition(":")
    parts = [*module.split("."), *inner.split(".")] if inner else module.split(".")
    for end in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            value = getattr(value, part)
        return value
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize(("where", "name"), NAMES)
def test_a_dotted_name_in_a_string_resolves(where, name):
    assert resolve(name) is not None


def test_the_search_finds_dotted_names():
    names = {name for _, name in NAMES}
    assert {"autochron.cli:main", "autochron.program.bootstrap", "autochron.weaving.gate"} <= names


def test_paths_in_pyproject_exist():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    tool = settings["tool"]
    wheel = tool["hatch"]["build"]["targets"]["wheel"]
    patterns = [
        *tool["ruff"]["lint"]["per-file-ignores"],
        *settings["project"]["license-files"],
        *wheel["include"],
        *wheel["sources"],
        *wheel["force-include"],
    ]
    expanded = [glob for pattern in patterns for glob in expand_braces(pattern.lstrip("/"))]
    assert [glob for glob in expanded if not any(ROOT.glob(glob))] == []


def expand_braces(pattern):
    """Expand `{a,b}` in a pattern, which `glob` does not support."""
    match = re.search(r"\{([^}]*)\}", pattern)
    if match is None:
        return [pattern]
    return [pattern.replace(match[0], choice) for choice in match[1].split(",")]


class Source(NamedTuple):
    """What the rules ask of a module."""

    place: str
    docstrings: list[tuple[int, str]]
    classes: list[str]
    functions: list[tuple[str, int]]
    """The names of the functions, and their lines without the docstring."""


def modules():
    return sorted((ROOT / "autochron").rglob("*.py"))


@functools.cache
def sources():
    """Return what the rules ask of each module: to parse the whole package takes a second, so this is done once."""
    return [source_of(file) for file in modules()]


def source_of(file):
    source = Source(str(file.relative_to(ROOT)), [], [], [])
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                source.docstrings.append((node.lineno, node.value.value))
        elif isinstance(node, ast.ClassDef):
            source.classes.append(node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            has_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            docstring = first.end_lineno - first.lineno + 1 if has_docstring else 0
            source.functions.append((node.name, node.end_lineno - node.lineno + 1 - docstring))
    return source


def test_no_docstring_begins_with_give_or_tell():
    """The standard library uses "return", "yield", "report" and "check"."""
    wrong = [
        f"{source.place}:{line}"
        for source in sources()
        for line, text in source.docstrings
        if re.match(r"(?:Give|Tell)s?\b", text)
    ]
    assert wrong == []


@pytest.mark.parametrize("folder", ["bench", "incidents", "mutation", "tests"])
def test_no_docstring_beside_the_package_begins_so(folder):
    """Also those of the agents of incidents and of test programs, which a model is sent as descriptions of tools."""
    files = [file for file in (ROOT / folder).rglob("*.py") if "__pycache__" not in file.parts]
    wrong = [
        f"{file.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}"
        for file in files
        for text in [file.read_text(encoding="utf-8")]
        for match in re.finditer(r"^[ \t]*\"{3}(?:Give|Tell)s?\b", text, re.MULTILINE)
    ]
    assert files
    assert wrong == []


MOST_LINES = 500
ALIKE = {"Served"}
"""A class for httpx and one for aiohttp: the same idea for two clients."""


def test_no_module_exceeds_the_limit_of_lines():
    lengths = {str(file.relative_to(ROOT)): file.read_bytes().count(b"\n") for file in modules()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_class_names_are_unique():
    places = {}
    for source in sources():
        for name in source.classes:
            places.setdefault(name, []).append(source.place)
    assert {name for name, files in places.items() if len(files) > 1} == ALIKE


MOST_LINES_OF_A_FUNCTION = 50
LONG = {"autochron/envelope/plain_json.py:is_plain"}
"""Written out on purpose: it runs for each argument, and one more call for each dictionary takes 9 to 25 % longer."""


def test_functions_fit_a_screen():
    """Docstrings don't count: those of public functions have sections for arguments and errors."""
    long = {
        f"{source.place}:{name}"
        for source in sources()
        for name, lines in source.functions
        if lines > MOST_LINES_OF_A_FUNCTION
    }
    assert long == LONG
