"""The inputs that tell mutants from the fix, as a test of pytest."""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath
from string import Template
from typing import Any

from msgspec import json

from autochron._runtime.unpatched import os
from autochron.errors import UsageError
from autochron.escaping import python_comment, python_docstring
from autochron.mutate.model import MutationTarget, StudiedIncident, Study
from autochron.report.writing import write_whole

_TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates", "test_edges.py.txt")
_PLACE = "{incident}"

_SECTIONS = {
    "CASES": """
@pytest.mark.parametrize(("arguments", "expected"), CASES)
def test_{plain}_at_its_edges(function, arguments, expected):
    assert {call} == expected
""",
    "OBJECTS": """
@pytest.mark.parametrize(("arguments", "kind", "fields"), OBJECTS)
def test_what_{plain}_gives(function, arguments, kind, fields):
    given = {call}
    assert type(given).__name__ == kind
    assert {{name: getattr(given, name) for name in fields}} == fields
""",
    "REFUSED": """
@pytest.mark.parametrize(("arguments", "error"), REFUSED)
def test_what_{plain}_refuses(function, arguments, error):
    with pytest.raises(Exception) as raised:
        {call}
    assert type(raised.value).__name__ == error
""",
}
"""What a list of cases is called, and the test that goes through it."""


def write_tests(study: Study, path: str) -> list[str]:
    """Write the kept inputs of each target as a test; gives the files.

    Args:
        study: a study with widened inputs.
        path: of the file; `{incident}` in it stands for the incident's name, and must where there are several.

    Raises:
        UsageError: several incidents would go into one file, or none has an input that could be written.
    """
    several = [each for each in study.incidents if any(kept.is_kept for kept in each.inputs)]
    if not several:
        raise UsageError(
            "--write-tests: there is nothing to write, for no other input is needed to tell a mutant from the fix"
        )
    if len(several) > 1 and _PLACE not in path:
        raise UsageError(
            f"--write-tests {path}: there are {len(several)} incidents; say where each goes with {_PLACE}"
        )
    written = []
    for incident in several:
        for target in incident.targets:
            text = _text(incident, target)
            if text is not None:
                place = path.replace(_PLACE, incident.name)
                write_whole(place, text.encode())
                written.append(place)
    if not written:
        raise UsageError(
            "--write-tests: none of the inputs can be written in Python; look at study.json for them"
        )
    return written


def _text(incident: StudiedIncident, target: MutationTarget) -> str | None:
    name = target.function.rpartition(".")[2]
    own = [each for each in incident.inputs if each.is_kept and each.address.startswith(f"{name}[")]
    found: dict[str, list[str]] = {name: [] for name in _SECTIONS}
    for each in own:
        expected = None if _literal(each.arguments) is None else _expected(json.decode(each.outcome))
        if expected is not None:
            where = (
                f"{each.argument} = {each.value}: {each.source}" if each.argument else "as it was recorded"
            )
            found[expected[0]].append(
                f"    # {python_comment(where)}\n    ({each.arguments}, {expected[1]}),"
            )
    if not any(found.values()):
        return None
    is_async = _is_async(incident.sources[target.file], name)
    call = "asyncio.run(function(**arguments))" if is_async else "function(**arguments)"
    plain = re.sub(r"\W+", "_", name)
    lists = [f"{title} = [\n" + "\n".join(cases) + "\n]" for title, cases in found.items() if cases]
    tests = [_SECTIONS[title].format(plain=plain, call=call) for title, cases in found.items() if cases]
    with open(_TEMPLATE, encoding="utf-8") as file:
        template = Template(file.read())
    return template.substitute(
        function=python_docstring(target.function),
        file=python_docstring(target.file),
        imports="import asyncio\n" if is_async else "",
        module=python_docstring(_module(target.file)),
        lists="\n\n".join(lists),
        tests="\n".join(tests).rstrip(),
    )


def _expected(outcome: dict[str, Any]) -> tuple[str, str] | None:
    """Return the list that an outcome goes into, and how it is written there; None where it can't be."""
    if "raised" in outcome:
        raised = str(outcome["raised"].get("$error", "")).rpartition(":")[2].rpartition(".")[2]
        return ("REFUSED", repr(raised)) if raised else None
    given = outcome.get("returned")
    if isinstance(given, dict) and next(iter(given), "") == "$type":
        fields = {name: value for name, value in given.items() if name != "$type"}
        kind = str(given["$type"]).rpartition(":")[2].rpartition(".")[2]
        return ("OBJECTS", f"{kind!r}, {fields!r}") if _is_plain(fields) else None
    return ("CASES", repr(given)) if _is_plain(given) else None


def _literal(text: str) -> Any:
    """Return the arguments where they can be written in Python as they stand."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _is_plain(tree: Any) -> bool:
    """Return whether a value is JSON as it stands: what has a type of its own would need that to be compared."""
    if isinstance(tree, dict):
        return all(not key.startswith("$") and _is_plain(each) for key, each in tree.items())
    return (
        all(map(_is_plain, tree))
        if isinstance(tree, list)
        else tree is None or isinstance(tree, str | int | float)
    )


def _is_async(source: str, name: str) -> bool:
    return any(
        isinstance(each, ast.AsyncFunctionDef) and each.name == name for each in ast.walk(ast.parse(source))
    )


def _module(file: str) -> str:
    parts = [part for part in PurePosixPath(file).with_suffix("").parts if part not in {"..", "/"}]
    return ".".join(parts)
