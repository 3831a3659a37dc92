"""Look at a project's source for what its first rule file needs: its libraries, programs and declared tools."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import tomli
from msgspec import Struct

from autochron._runtime.unpatched import os
from autochron.config import PROJECT_FILE
from autochron.model import Command
from autochron.project import Project, python_files, read_source
from autochron.rules.packs import packs_of

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w, \t]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
_MAIN = re.compile(
    rb"^if[ \t]*\(?[ \t]*(?:__name__[ \t]*==[ \t]*[\"']__main__[\"']|[\"']__main__[\"'][ \t]*==)",
    re.MULTILINE,
)
_NAMES = ("agent", "main", "__main__", "app", "run", "cli")
"""Names of files that are likely to be the program."""

_SCHEMAS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")
"""Keys that hold a tool's schema beside its `name`, in the dialects of the providers."""

_ASIDE = frozenset(
    {
        *(
            "test",
            "tests",
            "testing",
            "doc",
            "docs",
            "example",
            "examples",
            "bench",
            "benchmarks",
            "build",
            "dist",
        ),
        *(
            "script",
            "scripts",
            "tools",
            "notebooks",
            "conftest.py",
            "setup.py",
            "noxfile.py",
            "tasks.py",
            "fabfile.py",
        ),
    }
)
"""Files and folders beside `src` that are no part of the program."""


class Survey(Struct, frozen=True):
    """What the source of a project shows."""

    packs: dict[str, str]
    """The packs of libraries that it imports, each with the first place, as `file:line`."""
    programs: tuple[Command, ...]
    """The programs of the project, the likeliest first."""
    project: tuple[str, ...]
    """The paths of the user's own code, where the whole folder is more than that; empty if it isn't."""
    tools: dict[str, tuple[frozenset[str], str]]
    """The tools that it declares by a schema: the names of the parameters, and the place."""


def survey_project(folder: str) -> Survey:
    """Read the source of a project. Nothing of it is run or imported.

    Args:
        folder: the absolute path of the project's folder.
    """
    reader = _Reader(Project((folder,), folder))
    for path in python_files((folder,)):
        reader.read(path)
    return Survey(
        packs=dict(sorted(reader.packs.items())),
        programs=(*reader.programs(), *_console_scripts(folder)),
        project=_own_paths(folder),
        tools=reader.tools,
    )


class _Reader:
    """Reads the files of a project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.packs: dict[str, str] = {}
        self.tools: dict[str, tuple[frozenset[str], str]] = {}
        self._scripts: list[tuple[tuple[Any, ...], Command]] = []
        """The programs, each with the key by which they are sorted."""

    def read(self, path: str) -> None:
        """Read one file."""
        source = read_source(path)
        if source is None or not self._project.owns(path):
            return
        name = self._project.name(path)
        used = False
        for module, offset in _imported(source):
            for pack in packs_of(module):
                used = True
                line = source.count(b"\n", 0, offset) + 1
                self.packs.setdefault(pack, f"{name}:{line}")
        if any(key.encode() in source for key in _SCHEMAS):
            for tool, keys, line in _declared(source):
                self.tools.setdefault(tool, (keys, f"{name}:{line}"))
        self._note_program(name, source, used=used)

    def _note_program(self, name: str, source: bytes, *, used: bool) -> None:
        """Note a file that can be run. One without a check of `__name__` counts if it lies at the top and uses a library."""
        *folders, file = name.split("/")
        stem = file.removesuffix(".py")
        is_guarded = _MAIN.search(source) is not None or stem == "__main__"
        if (
            not (is_guarded or (used and not folders))
            or _ASIDE & {*folders, file}
            or file.startswith("test_")
        ):
            return
        is_module = stem == "__main__" and bool(folders)
        parts = folders[1:] if folders[:1] == ["src"] and is_module else folders
        command = Command("module", ".".join(parts)) if is_module and parts else Command("script", name)
        rank = _NAMES.index(stem) if stem in _NAMES else len(_NAMES)
        self._scripts.append(((not used, not is_guarded, len(folders), rank, name), command))

    def programs(self) -> Iterator[Command]:
        """Yield the programs, the likeliest first."""
        for _, command in sorted(self._scripts, key=lambda entry: entry[0]):
            yield command


def _imported(source: bytes) -> Iterator[tuple[str, int]]:
    """Yield the modules that a source imports, and with `from` also what it imports from them, each with its offset."""
    for match in _IMPORT.finditer(source):
        package, names, modules = match.groups()
        if package is not None:
            for name in (b"", *names.split(b",")):
                part = name.split()[:1]
                yield b".".join((package, *part)).decode(), match.start()
        for module in (modules or b"").split(b","):
            for name in module.split()[:1]:
                yield name.decode(), match.start()


def _declared(source: bytes) -> Iterator[tuple[str, frozenset[str], int]]:
    """Yield each tool that a source declares by a literal schema: its name, its parameters, and the line."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        entries = _entries(node)
        name = entries.get("name")
        schema = next((entries[key] for key in _SCHEMAS if key in entries), None)
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and isinstance(schema, ast.Dict):
            properties = [found for part in ast.walk(schema) if (found := _entries(part).get("properties"))]
            yield name.value, frozenset(_entries(properties[0]) if properties else ()), node.lineno  # type: ignore[attr-defined]


def _entries(node: ast.AST) -> dict[str, ast.expr]:
    """Return the entries of a dictionary display whose keys are texts; none for another node."""
    if not isinstance(node, ast.Dict):
        return {}
    return {
        key.value: value
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def _console_scripts(folder: str) -> Iterator[Command]:
    """Yield the commands that `[project.scripts]` of a pyproject.toml names."""
    text = read_source(os.path.join(folder, PROJECT_FILE))
    try:
        table: Any = tomli.loads((text or b"").decode())
    except ValueError:
        return
    for key in ("project", "scripts"):
        table = table.get(key) if isinstance(table, dict) else None
    yield from (Command("console", name) for name in (table if isinstance(table, dict) else ()))


def _own_paths(folder: str) -> tuple[str, ...]:
    """Return the paths of the project's own code in a src layout; none in another one."""
    if next(iter(python_files((os.path.join(folder, "src"),))), None) is None:
        return ()
    return ("src", *sorted(filter(lambda name: _is_own(folder, name), os.listdir(folder))))


def _is_own(folder: str, name: str) -> bool:
    """Return whether a file or a folder beside `src` holds code of the program."""
    path = os.path.join(folder, name)
    if name == "src" or name.startswith(".") or name in _ASIDE:
        return False
    if os.path.isfile(path):
        return name.endswith(".py")
    if os.path.exists(os.path.join(path, "pyvenv.cfg")):
        return False
    return next(iter(python_files((path,))), None) is not None
