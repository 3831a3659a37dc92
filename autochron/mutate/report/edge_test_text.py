"""The text of a written test: its cases, the state that they start from, and how the function is called."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any, TypeAlias

from msgspec import Struct, json

from autochron._runtime.unpatched import os
from autochron.escaping import python_comment, python_docstring
from autochron.mutate.bytecode import compiled
from autochron.mutate.definitions import functions_of
from autochron.mutate.model import Input, MutationTarget, Receiver, StudiedIncident
from autochron.mutate.server.module_state import import_root
from autochron.mutate.suspicion import suspicion

_TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates")

_SECTIONS = {
    "CASES": """
@pytest.mark.parametrize(({names}, "expected"), CASES{ids})
def test_{plain}_at_its_edges(function, {parameters}, expected):
{set_state}    assert {call} == expected
""",
    "OBJECTS": """
@pytest.mark.parametrize(({names}, "kind", "fields"), OBJECTS{ids})
def test_what_{plain}_gives(function, {parameters}, kind, fields):
{set_state}    result = {call}
    assert type(result).__name__ == kind
    assert {{name: getattr(result, name) for name in fields}} == fields
""",
    "REFUSED": """
@pytest.mark.parametrize(({names}, "error"), REFUSED{ids})
def test_what_{plain}_refuses(function, {parameters}, error):
{set_state}    with pytest.raises(Exception) as raised:
        {call}
    assert type(raised.value).__name__ == error
""",
}
"""The test for each list of cases, by the name of the list."""

_TEXT = '''

class Text(str):
    """A text for people, in the words of today: it equals any other text."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return isinstance(other, str)

'''


_States: TypeAlias = dict[str, dict[str, dict[str, str]]]
"""By the address of a call and the name of a module, the values of globals in Python's notation."""


class EdgeCase(Struct, frozen=True):
    """A case of a test.

    Attributes:
        section: the name of its list.
        comment: what the input is.
        arguments: the arguments in Python's notation.
        expected: what the call is to give, in Python's notation.
        address: the call whose state it starts from.
        receiver: what a method is called on.
    """

    section: str
    comment: str
    arguments: str
    expected: str
    address: str
    receiver: Receiver | None = None


def identifier(text: str) -> str:
    """Return a text with an underscore for all that no identifier has."""
    return re.sub(r"\W+", "_", text)


class EdgeTestText:
    """The test of one target."""

    def __init__(
        self, incident: StudiedIncident, target: MutationTarget, folder: Path, project: Path, place: str
    ) -> None:
        """Take what is tested.

        Args:
            incident: the incident.
            target: the function.
            folder: the incident's folder.
            project: the folder that is copied for each case.
            place: the folder of the test's file, absolute.
        """
        self._incident = incident
        self._target = target
        self._folder = os.path.realpath(folder)
        self._path = os.path.realpath(os.path.join(self._folder, target.file))
        self._root = import_root(self._path)
        self._project = os.path.realpath(project)
        self._place = os.path.realpath(place)

    def cases(self) -> list[EdgeCase]:
        """Return the kept inputs that can be written in Python."""
        own = [each for each in self._kept() if not suspicion(each)]
        cases = [case for edge_input in own if (case := _case(edge_input)) is not None]
        return sorted(cases, key=lambda case: list(_SECTIONS).index(case.section))

    def doubted(self) -> list[str]:
        """Return the kept inputs that the function accepts though no call should have them."""
        return [
            f"{each.argument} = {each.value} ({why})" for each in self._kept() if (why := suspicion(each))
        ]

    def _kept(self) -> list[Input]:
        return [each for each in self._incident.inputs if each.is_kept and each.target == self._target]

    def text(self, cases: Sequence[EdgeCase]) -> str:
        """Return the text of the test with some of the cases, which are numbered in their order."""
        states = {
            address: state
            for address in dict.fromkeys(case.address for case in cases)
            if (state := self._state(address))
        }
        files = {
            address: held
            for address in dict.fromkeys(case.address for case in cases)
            if (held := self._files(address))
        }
        lists, tests, number = [], [], 0
        for section, template in _SECTIONS.items():
            of_section = [case for case in cases if case.section == section]
            if not of_section:
                continue
            written = "\n".join(self._written_case(case, states, files) for case in of_section)
            lists.append(f"{section} = [\n{written}\n]")
            tests.append(self._test(template, number, of_section, bool(states), bool(files)))
            number += len(of_section)
        if files:
            lists.insert(0, _written_files(files))
        if states:
            lists.insert(0, _written_states(states))
        has_objects = any(map(_is_object, cases))
        names = ["asyncio"] if self._call(cases).startswith("asyncio") else []
        names += ["copy"] if states or has_objects else []
        body = "\n\n".join(lists)
        return Template(_template("test_edges.py.txt")).substitute(
            function=python_docstring(self._target.function),
            file=python_docstring(self._target.file),
            imports="".join(f"import {name}\n" for name in names),
            module=repr(self._module(self._path)),
            qualname=repr(self._target.function),
            project=repr(os.path.relpath(self._project, self._place).replace(os.sep, "/")),
            folder=repr(os.path.relpath(self._root, self._project).replace(os.sep, "/")),
            texts=(_TEXT if "Text(" in body else "")
            + (_template("edges_receiver.py.txt") if has_objects else ""),
            lists=body,
            state=(_template("edges_state.py.txt").rstrip("\n") + "\n" if states else "")
            + (_template("edges_files.py.txt").rstrip("\n") + "\n" if files else ""),
            tests="\n".join(tests).rstrip(),
        )

    def _test(
        self,
        template: str,
        first: int,
        cases: Sequence[EdgeCase],
        has_states: bool,  # noqa: FBT001 - of this class only
        has_files: bool,  # noqa: FBT001
    ) -> str:
        """Return the test function of a list of cases; its cases are numbered from `first`."""
        names = [*(["state"] if has_states else []), *(["files"] if has_files else []), "arguments"]
        return template.format(
            plain=identifier(self._target.function.rpartition(".")[2]),
            call=self._call(cases),
            names=", ".join(f'"{name}"' for name in names),
            parameters=", ".join(names),
            set_state="".join(f"    set_{name}({name})\n" for name in names[:-1]),
            ids=f", ids=map(str, range({first}, {first + len(cases)}))",
        )

    def _call(self, cases: Sequence[EdgeCase]) -> str:
        """Return the call of the function in Python's notation."""
        given = "with_objects(arguments)" if any(map(_is_object, cases)) else "arguments"
        source = self._incident.sources[self._target.file]
        if isinstance(functions_of(ast.parse(source)).get(self._target.function), ast.AsyncFunctionDef):
            return f"asyncio.run(function(**{given}))"
        flags = compiled(source, self._path, self._target.function).co_flags
        return f"list(function(**{given}))" if flags & inspect.CO_GENERATOR else f"function(**{given})"

    def _state(self, address: str) -> dict[str, dict[str, str]]:
        """Return the state at a call, by the names of the modules and of their globals."""
        state = self._incident.states.get(address, {})
        by_path = {
            os.path.realpath(os.path.join(self._folder, file)): values for file, values in state.items()
        }
        return {self._module(path): values for path, values in by_path.items()}

    def _files(self, address: str) -> dict[str, str]:
        """Return what files hold at a call, by their paths in the project."""
        paths = {
            os.path.realpath(os.path.join(self._folder, file)): text
            for file, text in self._incident.files.get(address, {}).items()
        }
        return {
            os.path.relpath(path, self._project).replace(os.sep, "/"): text
            for path, text in paths.items()
            if path.startswith(self._project + os.sep)
        }

    def _written_case(self, case: EdgeCase, states: _States, files: dict[str, dict[str, str]]) -> str:
        state, arguments = "", case.arguments
        if states:
            state = f"STATES[{case.address!r}], " if case.address in states else "{}, "
        if files:
            state += f"FILES[{case.address!r}], " if case.address in files else "{}, "
        receiver = case.receiver
        if receiver is not None and receiver.argument == "self":
            module = self._module(os.path.realpath(os.path.join(self._folder, receiver.file)))
            fields = ", ".join(f"{name!r}: {value}" for name, value in receiver.fields.items())
            made = f"Made({module!r}, {receiver.name!r}, {{{fields}}})"
            arguments = f"{{'self': {made}, {arguments.removeprefix('{')}"
        return f"    # {python_comment(case.comment)}\n    ({state}{arguments}, {case.expected}),"

    def _module(self, path: str) -> str:
        """Return the name by which a file is imported from where imports start."""
        return (
            os.path.relpath(path, self._root)
            .removesuffix(".py")
            .replace(os.sep, ".")
            .removesuffix(".__init__")
        )


def _template(name: str) -> str:
    with open(os.path.join(_TEMPLATES, name), encoding="utf-8") as file:
        return file.read()


def _written_files(files: dict[str, dict[str, str]]) -> str:
    lines = ["# What files of the project held at each call of the agent.", "FILES = {"]
    for address, held in files.items():
        lines.append(f"    {address!r}: {{")
        lines += [f"        {path!r}: {text!r}," for path, text in held.items()]
        lines.append("    },")
    return "\n".join([*lines, "}"])


def _written_states(states: _States) -> str:
    lines = ["# What the modules held at each call of the agent.", "STATES = {"]
    for address, state in states.items():
        lines.append(f"    {address!r}: {{")
        for module, values in state.items():
            members = ", ".join(f"{name!r}: {value}" for name, value in values.items())
            lines.append(f"        {module!r}: {{{members}}},")
        lines.append("    },")
    return "\n".join([*lines, "}"])


def _is_object(case: EdgeCase) -> bool:
    """Return whether a case calls a method on an object that has to be made."""
    return case.receiver is not None and case.receiver.argument == "self"


def _case(edge_input: Input) -> EdgeCase | None:
    """Return the case of an input; None where it can't be written."""
    arguments = _literal(edge_input.arguments)
    expected = None if arguments is None else _expected(json.decode(edge_input.outcome), arguments)
    if expected is None:
        return None
    comment = (
        f"{edge_input.argument} = {edge_input.value}: {edge_input.source}"
        if edge_input.argument
        else "as it was recorded"
    )
    return EdgeCase(
        expected[0], comment, edge_input.arguments, expected[1], edge_input.address, edge_input.receiver
    )


def _expected(outcome: dict[str, Any], arguments: Any) -> tuple[str, str] | None:
    """Return the name of the list for an outcome, and the outcome in Python's notation; None where it can't be written."""
    if "raised" in outcome:
        raised = outcome["raised"]
        error = str(raised.get("$error", "")) if isinstance(raised, dict) else ""
        error = error.rpartition(":")[2].rpartition(".")[2]
        return ("REFUSED", repr(error)) if error else None
    result = outcome.get("returned")
    texts = set(_texts(arguments))
    if isinstance(result, dict) and next(iter(result), "") == "$type":
        fields = {name: value for name, value in result.items() if name != "$type"}
        kind = str(result["$type"]).rpartition(":")[2].rpartition(".")[2]
        return ("OBJECTS", f"{kind!r}, {_notation(fields, texts)}") if _is_plain(fields) else None
    return ("CASES", _notation(result, texts)) if _is_plain(result) else None


def _notation(tree: Any, texts: set[str]) -> str:
    """Return a value in Python's notation. A text of several words that is no argument is one for people."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {_notation(member, texts)}" for key, member in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(_notation(member, texts) for member in tree) + "]"
    is_for_people = isinstance(tree, str) and " " in tree.strip() and tree not in texts
    return f"Text({tree!r})" if is_for_people else repr(tree)


def _texts(tree: Any) -> list[str]:
    if isinstance(tree, dict | list | tuple):
        members = tree.values() if isinstance(tree, dict) else tree
        return [text for member in members for text in _texts(member)]
    return [tree] if isinstance(tree, str) else []


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
