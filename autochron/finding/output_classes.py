"""Know the tools that stand for a form of the answer: the model fills in the fields of a class, and no function runs.

Frameworks declare a class of data as a tool where a program asks for an answer of that class. What the program does with the
answer runs again on replay, as it does where the answer is text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

from autochron._runtime.bare import bases_of, dictionary_of, slot, space_of, text
from autochron._runtime.live_objects import with_subclasses
from autochron.envelope import shapes
from autochron.project import Project, read_source
from autochron.recording.call_facts import DeclaredTool


def output_tools(tools: Iterable[DeclaredTool], project: Project) -> set[str]:
    """Return the names of those tools that are a class of data: of that name, with these fields, and without methods.

    Args:
        tools: declared tools of which no function is known.
        project: whose methods count. What a method does may be the work of a tool.
    """
    wanted = {tool.name: tool.parameters for tool in tools if tool.parameters is not None}
    named: dict[str, list[type]] = {}
    for cls in with_subclasses(object) if wanted else ():
        name = text(cls, "__name__")
        if name in wanted and _fields_of(cls) and _is_written(cls, name, project):
            named.setdefault(name, []).append(cls)
    return {
        name
        for name, classes in named.items()
        if any(wanted[name] in _fields_of(cls) for cls in classes)
        and not any(_has_methods(cls, project) for cls in classes)
    }


def _is_written(cls: type, name: str, project: Project) -> bool:
    """Return whether the project's source has a class. Frameworks make one of a tool's parameters, with the tool's name."""
    module = sys.modules.get(text(cls, "__module__"))
    file = None if module is None else (dictionary_of(module) or {}).get("__file__")
    if type(file) is not str or not project.owns(file):
        return False
    source = read_source(file)
    return (
        source is not None
        and re.search(rf"^\s*class\s+{re.escape(name)}\b".encode(), source, re.MULTILINE) is not None
    )


def _fields_of(cls: type) -> tuple[frozenset[str], ...]:
    """Return the names of a class's fields, as its own and as the model gets them; nothing if it is no class of data."""
    if shapes.is_pydantic(cls):
        fields = space_of(cls).get("__pydantic_fields__")
        if type(fields) is not dict:
            return ()
        aliases = frozenset(slot(field, "alias") or name for name, field in fields.items())
        return frozenset(fields), aliases
    if shapes.is_record(cls):
        return (shapes.field_names(cls),)
    if text(type(cls), "__name__") == "_TypedDictMeta":
        # Not its annotations: from Python 3.14 on, to read them runs code of the program.
        keys = (space_of(cls).get("__required_keys__"), space_of(cls).get("__optional_keys__"))
        return (frozenset().union(*[names for names in keys if type(names) is frozenset]),)
    return ()


def _has_methods(cls: type, project: Project) -> bool:
    """Return whether the project wrote methods for a class that are neither special nor checks of its fields."""
    checks = {*_checks_of(cls)}
    return any(
        type(value) is FunctionType
        and project.owns(value.__code__.co_filename)
        and (name == "__call__" or not (name in checks or (name.startswith("__") and name.endswith("__"))))
        for base in bases_of(cls)
        for name, value in space_of(base).items()
    )


def _checks_of(cls: type) -> Iterator[str]:
    """Yield the names of the methods by which pydantic checks and writes the fields of a model."""
    for base in bases_of(cls):
        decorators: Any = space_of(base).get("__pydantic_decorators__")
        if decorators is not None:
            for name in shapes.field_names(type(decorators)):
                members = slot(decorators, name)
                yield from members if type(members) is dict else ()
