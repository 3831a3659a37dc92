"""Write a project's first rule file, `autochron.toml`, from what its source and its latest trace show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from autochron._runtime.unpatched import os
from autochron.config import RULE_FILE
from autochron.diagnostics.found_tools import declared_tools, found_tools, unwoven_tools
from autochron.diagnostics.project_survey import Survey
from autochron.diagnostics.suggest import tool_fields
from autochron.diagnostics.tool_definitions import find_definitions
from autochron.diagnostics.woven_tools import uncovered
from autochron.errors import RuleError
from autochron.escaping import toml_string, visible
from autochron.model import FoundTool, Rules
from autochron.project import Project
from autochron.rules.editing import replace_rules
from autochron.rules.packs import load_pack

if TYPE_CHECKING:
    from autochron.ports import Record

GIT_IGNORE = ".gitignore"

_HEAD = """\
# What a recording and a replay of autochron treat as a boundary. `autochron rules` shows what each rule fits.
version = 1
"""

_NO_TOOLS = """\
# A tool is a function of yours that the model may ask for. A replay serves what it returned, and does not run it.
# [[boundary]]
# name = "{__name__}"
# kind = "tool"
# define = "shop.tools:*"    # the functions of a module; "shop.tools:**" takes the methods of its classes, too
"""

_AMBIENT = """\
# What your code asks of clocks and of chance can be recorded and served, too.
# ambient = ["clock", "random", "uuid"]
"""


class InitialTool(Struct, frozen=True):
    """A tool of the project, and the definitions that it may be."""

    name: str
    seen: str
    """Where the tool was seen: `found by name in the latest run`, `declared at agent.py:12`."""
    targets: tuple[tuple[str, str], ...]
    """The target and the place of each definition."""


def initial_tools(survey: Survey, trace: Record | None, rules: Rules) -> list[InitialTool]:
    """Return the tools that need a rule, in order of their names.

    Left out are those that a pack covers: tools of a framework cross where the framework calls them.

    Args:
        survey: what the project's source shows.
        trace: the latest trace; None if there is none.
        rules: the rules in force.
    """
    found = () if trace is None else found_tools(trace)
    tools = {tool.tool: _of_found(tool) for tool in found if tool.is_confirmed}
    seen = _seen_tools(survey, trace)
    crossed = set() if trace is None else {boundary.name for boundary in trace.boundaries()}
    if not _has_framework(survey, trace):
        wanted = {name: keys for name, (keys, _) in seen.items() if name not in tools and name not in crossed}
        project = Project(rules.project or (rules.root,), rules.root)
        for name, definitions in find_definitions(project, wanted).items():
            places = {f"{definition.file}:{definition.qualname}" for definition in definitions}
            if definitions and uncovered(places, rules) == places:
                targets = tuple((tool.target, f"{tool.file}:{tool.line}") for tool in definitions)
                tools[name] = InitialTool(name, seen[name][1], targets)
    return sorted(tools.values(), key=lambda tool: tool.name)


def _seen_tools(survey: Survey, trace: Record | None) -> dict[str, tuple[frozenset[str] | None, str]]:
    """Return the names of parameters of each tool that is known by name, and where it was seen."""
    seen: dict[str, tuple[frozenset[str] | None, str]] = {
        name: (keys, f"declared at {place}") for name, (keys, place) in survey.tools.items()
    }
    if trace is not None:
        seen |= dict.fromkeys(unwoven_tools(trace.footer), (None, "asked for by the model in the latest run"))
        for name, keys in declared_tools(trace).items():
            seen[name] = (keys, "declared to the model in the latest run")
    return seen


def _of_found(tool: FoundTool) -> InitialTool:
    target = (f"{tool.module}:{tool.qualname}", f"{tool.file}:{tool.line}")
    return InitialTool(tool.tool, f"found {tool.how} in the latest run", (target,))


def _has_framework(survey: Survey, trace: Record | None) -> bool:
    """Return whether tools cross by a pack: in the trace, or by the libraries that the source imports if there is none."""
    if trace is not None:
        return any(
            boundary.kind == "tool" and not boundary.site.partition(":")[0].endswith(".py")
            for boundary in trace.boundaries()
        )
    rules = [rule for pack in survey.packs for rule in load_pack(pack).boundaries]
    return any(rule.kind == "tool" and not rule.observe for rule in rules)


def initial_text(survey: Survey, tools: Sequence[InitialTool]) -> str:
    """Return the text of the rule file: what was found as rules, and the rest as comments that show how to write it."""
    parts = [_HEAD, *(part for part in (_packs(survey), _project(survey), _AMBIENT) if part)]
    parts += [_table(tool) for tool in tools] or [_NO_TOOLS]
    return "\n".join(parts)


def missing_text(survey: Survey, tools: Sequence[InitialTool], rules: Rules) -> str:
    """Return the lines that an existing rule file lacks; an empty text if it lacks nothing."""
    parts = [_table(tool) for tool in tools]
    if survey.project and not rules.project:
        parts.insert(0, _project(survey))
    return "\n".join(parts)


def _packs(survey: Survey) -> str:
    imported = ", ".join(f"{pack} ({place})" for pack, place in survey.packs.items())
    here = f"Here: {visible(imported)}." if imported else "The source imports none yet."
    return f'# Each shipped pack whose library the program imports. {here}\npacks = ["auto"]\n'


def _project(survey: Survey) -> str:
    if not survey.project:
        return '# Your own code, from this folder. Without this line it is all of the folder.\n# project = ["src"]\n'
    paths = ", ".join(map(toml_string, survey.project))
    return f"# Your own code, from this folder.\nproject = [{paths}]\n"


def _table(tool: InitialTool) -> str:
    """Return the table of a tool; if several definitions may be meant, a table of each as a comment."""
    return "\n".join(_lines(tool)) + "\n"


def _lines(tool: InitialTool) -> Iterator[str]:
    count = len(tool.targets)
    which = f"; it may be one of {count} definitions: keep one table" if count > 1 else ""
    yield f"# {visible(tool.name)}: {visible(tool.seen)}{which}"
    for target, place in tool.targets:
        mark = "# " if count > 1 else ""
        yield f"{mark}[[boundary]]"
        for key, value in tool_fields(tool.name, target):
            comment = f"    # {visible(place)}" if key == "target" else ""
            yield f"{mark}{key} = {toml_string(value)}{comment}"


def write_rules(folder: str, text: str) -> str:
    """Write a folder's first rule file, after a check that it loads. A file that is there already stays.

    Returns:
        The path of the file.

    Raises:
        RuleError: it can't be written, or it exists.
    """
    path = os.path.join(folder, RULE_FILE)
    replace_rules(path, text, folder, is_new=True)
    return path


def ignore_in_git(folder: str) -> bool:
    """Have git ignore `.autochron`: add a line to the folder's `.gitignore`, unless one covers it.

    Returns:
        Whether a line was added. Outside of a repository none is, unless there is such a file.

    Raises:
        RuleError: the file can't be read or written.
    """
    path = os.path.join(folder, GIT_IGNORE)
    above, is_repository = _ignore_files(folder)
    if not (is_repository or os.path.exists(path)):
        return False
    try:
        texts = [_read(file) for file in above]
        if any(_covers(text, is_same=file == path) for file, text in zip(above, texts, strict=True)):
            return False
        own = _read(path) if os.path.exists(path) else b""
        newline = b"\r\n" if b"\r\n" in own else b"\n"
        gap = newline if own and not own.endswith(b"\n") else b""
        with open(path, "ab") as file:
            file.write(gap + b".autochron/" + newline)
    except OSError as error:
        raise RuleError(
            f"{os.path.relpath(path)} can't be written ({error.strerror}); add the line .autochron/ to it"
        ) from error
    return True


def _ignore_files(folder: str) -> tuple[list[str], bool]:
    """Return the `.gitignore` files of a folder and those above it in its repository, and whether it is in one."""
    files = []
    while True:
        path = os.path.join(folder, GIT_IGNORE)
        if os.path.isfile(path):
            files.append(path)
        if os.path.exists(os.path.join(folder, ".git")):
            return files, True
        parent = os.path.dirname(folder)
        if parent == folder:
            return files[:1], False
        folder = parent


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _covers(text: bytes, *, is_same: bool) -> bool:
    """Return whether the lines of a `.gitignore` cover `.autochron`; `is_same` says whether it lies beside that folder."""
    from fnmatch import fnmatchcase  # lazy: only here

    covered = False
    for raw in text.decode("utf-8", "replace").splitlines():
        pattern = raw.strip()
        is_negated = pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        for ending in ("/**", "/*", "/"):
            pattern = pattern.removesuffix(ending)
        anywhere = pattern.removeprefix("**/")
        name = anywhere.removeprefix("/") if is_same else anywhere
        if name and not raw.startswith("#") and fnmatchcase(".autochron", name):
            covered = not is_negated
    return covered
