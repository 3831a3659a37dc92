"""Writes the edge inputs that tell mutants from the fix as a test of pytest."""

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
from autochron.mutate.definitions import functions_of
from autochron.mutate.model import MutationTarget, StudiedIncident, Study
from autochron.report.writing import write_whole

_TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates", "test_edges.py.txt")
_PLACEHOLDER = "{incident}"
_FUNCTION = "{function}"

_SECTIONS = {
    "CASES": """
@pytest.mark.parametrize(("arguments", "expected"), CASES)
def test_{plain}_at_its_edges(function, arguments, expected):
    assert {call} == expected
""",
    "OBJECTS": """
@pytest.mark.parametrize(("arguments", "kind", "fields"), OBJECTS)
def test_what_{plain}_gives(function, arguments, kind, fields):
    result = {call}
    assert type(result).__name__ == kind
    assert {{name: getattr(result, name) for name in fields}} == fields
""",
    "REFUSED": """
@pytest.mark.parametrize(("arguments", "error"), REFUSED)
def test_what_{plain}_refuses(function, arguments, error):
    with pytest.raises(Exception) as raised:
        {call}
    assert type(raised.value).__name__ == error
""",
}
"""The test for each list of cases, by the name of the list."""


def write_tests(study: Study, path: str) -> list[str]:
    """Write the kept inputs of each target as a test, and return the paths of the files.

    Args:
        study: a study with edge inputs.
        path: the path of a file; `{incident}` in it is replaced by the incident's name, and `{function}` by the
            function's. They are needed where there are several.

    Raises:
        UsageError: several incidents or functions would go into one file, or no input can be written.
    """
    incidents = [
        incident for incident in study.incidents if any(edge_input.is_kept for edge_input in incident.inputs)
    ]
    if not incidents:
        raise UsageError(
            "--write-tests: there is nothing to write, for no other input is needed to tell a mutant from the fix"
        )
    if len(incidents) > 1 and _PLACEHOLDER not in path:
        raise UsageError(
            f"--write-tests {path}: there are {len(incidents)} incidents; say where each goes with {_PLACEHOLDER}"
        )
    texts: dict[str, str] = {}
    for incident in incidents:
        for target in incident.targets:
            text = _text(incident, target)
            if text is not None:
                target_path = path.replace(_PLACEHOLDER, incident.name)
                target_path = target_path.replace(_FUNCTION, re.sub(r"\W+", "_", target.function))
                if target_path in texts:
                    raise UsageError(
                        f"--write-tests {path}: {target_path} would get the tests of several functions; say where each"
                        f" goes with {_FUNCTION}"
                    )
                texts[target_path] = text
    if not texts:
        raise UsageError(
            "--write-tests: none of the inputs can be written in Python; look at study.json for them"
        )
    for target_path, text in texts.items():
        write_whole(target_path, text.encode())
    return list(texts)


def _text(incident: StudiedIncident, target: MutationTarget) -> str | None:
    """Return the text of a target's test; None where none of its inputs can be written."""
    name = target.function.rpartition(".")[2]
    inputs = [
        edge_input for edge_input in incident.inputs if edge_input.is_kept and edge_input.target == target
    ]
    cases_by_list: dict[str, list[str]] = {name: [] for name in _SECTIONS}
    for edge_input in inputs:
        expected = (
            None if _literal(edge_input.arguments) is None else _expected(json.decode(edge_input.outcome))
        )
        if expected is not None:
            description = (
                f"{edge_input.argument} = {edge_input.value}: {edge_input.source}"
                if edge_input.argument
                else "as it was recorded"
            )
            cases_by_list[expected[0]].append(
                f"    # {python_comment(description)}\n    ({edge_input.arguments}, {expected[1]}),"
            )
    if not any(cases_by_list.values()):
        return None
    definition = functions_of(ast.parse(incident.sources[target.file])).get(target.function)
    is_async = isinstance(definition, ast.AsyncFunctionDef)
    call = "asyncio.run(function(**arguments))" if is_async else "function(**arguments)"
    identifier = re.sub(r"\W+", "_", name)
    lists = [f"{title} = [\n" + "\n".join(cases) + "\n]" for title, cases in cases_by_list.items() if cases]
    tests = [
        _SECTIONS[title].format(plain=identifier, call=call)
        for title, cases in cases_by_list.items()
        if cases
    ]
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
    """Return the name of the list for an outcome, and the outcome in Python's notation; None where it can't be written."""
    if "raised" in outcome:
        raised = str(outcome["raised"].get("$error", "")).rpartition(":")[2].rpartition(".")[2]
        return ("REFUSED", repr(raised)) if raised else None
    result = outcome.get("returned")
    if isinstance(result, dict) and next(iter(result), "") == "$type":
        fields = {name: value for name, value in result.items() if name != "$type"}
        kind = str(result["$type"]).rpartition(":")[2].rpartition(".")[2]
        return ("OBJECTS", f"{kind!r}, {fields!r}") if _is_plain(fields) else None
    return ("CASES", repr(result)) if _is_plain(result) else None


def _literal(text: str) -> Any:
    """Return the value of a Python literal; None where the text is none."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _is_plain(tree: Any) -> bool:
    """Return whether a value is plain JSON: to compare another value, the test would need its type."""
    if isinstance(tree, dict):
        return all(not key.startswith("$") and _is_plain(member) for key, member in tree.items())
    return (
        all(map(_is_plain, tree))
        if isinstance(tree, list)
        else tree is None or isinstance(tree, str | int | float)
    )


def _module(file: str) -> str:
    parts = [part for part in PurePosixPath(file).with_suffix("").parts if part not in {"..", "/"}]
    return ".".join(parts)
