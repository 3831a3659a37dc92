"""Know the parameters by which a framework passes its own context to a tool.

The model knows nothing of them, and the objects hold half of a run, so they are no input. What of them a tool may change, the
`[[context]]` tables of the packs say.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from msgspec import Struct

from autochron._runtime.bare import bases_of, dictionary_of, slot, text
from autochron._runtime.codeflags import parameter_names
from autochron.inputs import RECEIVERS
from autochron.model import Rules
from autochron.project import Project
from autochron.recording.call_facts import DeclaredTool
from autochron.rules.packs import with_imported

_NAMES = re.compile(r"[A-Za-z_][\w.]*")
_DEEPEST = 4
"""How deep annotations are read, such as `Optional[Annotated[Context[State], …]]`."""


class Selection(Struct, frozen=True):
    """What of a tool's arguments is its input, and what it may change; empty and None for all, as in a rule."""

    capture: tuple[str, ...] = ()
    changes: tuple[str, ...] | None = None


_ALL = Selection()


def select(function: FunctionType, tool: DeclaredTool | None, project: Project, rules: Rules) -> Selection:
    """Return what of the arguments of a tool's function is input, and what it may change.

    Args:
        function: the function.
        tool: how the model's request declares it; None if that is unknown.
        project: whose classes are no contexts.
        rules: name the packs in force.
    """
    names, variadic = parameter_names(function.__code__)
    names = (*names, *(name for name in variadic if name and name not in names))
    declared = frozenset() if tool is None or tool.parameters is None else tool.parameters
    contexts = contexts_of(function, declared, project)
    is_own = project.owns(function.__code__.co_filename)
    if not contexts and is_own:
        return _ALL
    # A library's own receiver is a context, too: it holds what the library works with.
    others = tuple(name for name in names if name not in contexts and (is_own or name not in RECEIVERS))
    changing = [f"{name}.{path}" for name, classes in contexts.items() for path in _changes(classes, rules)]
    if not is_own:  # what else a library passes to a function of its own differs from run to run
        others = (
            tuple(name for name in others if name in declared) or tuple(filter(None, variadic[1:])) or others
        )
    capture = tuple(name for name in others if name not in RECEIVERS)
    if not capture and contexts:  # without any the rule would capture all
        capture = (f"{next(iter(contexts))}.__class__.__name__",)
    return Selection(capture, (*others, *changing) if changing or not is_own else None)


def contexts_of(function: FunctionType, declared: frozenset[str], project: Project) -> dict[str, list[type]]:
    """Return the parameters by which a library passes objects of its own to a function, with their classes.

    Args:
        function: the function.
        declared: the parameters that the model knows.
        project: whose classes are no contexts.
    """
    names, variadic = parameter_names(function.__code__)
    return {
        name: classes
        for name in dict.fromkeys((*names, *filter(None, variadic)))
        if name in function.__annotations__
        and name not in declared
        and (classes := [*_libraries(_classes(function.__annotations__[name], function), project)])
    }


def _changes(classes: list[type], rules: Rules) -> Iterator[str]:
    """Yield the paths into an object of one of these classes that a tool may change, as packs say it."""
    for cls in classes:
        for base in bases_of(cls):
            module = text(base, "__module__")
            name = f"{module}:{text(base, '__qualname__')}"
            for pack in with_imported(rules, module).packs:
                for context in pack.contexts:
                    if context.cls == name:
                        yield from context.changes


def _libraries(classes: Iterator[type], project: Project) -> Iterator[type]:
    """Yield those classes that are of libraries."""
    for cls in classes:
        name = text(cls, "__module__")
        module = sys.modules.get(name)
        file = None if module is None else dictionary_of(module).get("__file__")  # type: ignore[union-attr]
        if (
            type(file) is str
            and name.partition(".")[0] not in sys.stdlib_module_names
            and not project.owns(file)
        ):
            yield cls


def _classes(annotation: Any, function: FunctionType, depth: int = 0) -> Iterator[type]:
    """Yield the classes that an annotation names, also as text. No code of the program runs."""
    if depth > _DEEPEST:
        return
    if issubclass(type(annotation), type):
        yield annotation
    elif type(annotation) is str:
        for name in _NAMES.findall(annotation):
            value = _named(name, function.__globals__)
            if value is not None:
                yield from _classes(value, function, depth + 1)
    elif annotation is not None:
        attributes = dictionary_of(annotation) or {}
        origin, arguments = (
            attributes.get(name) or slot(annotation, name) for name in ("__origin__", "__args__")
        )
        for value in (origin, *(arguments if type(arguments) is tuple else ())):
            yield from _classes(value, function, depth + 1)


def _named(path: str, space: dict[str, Any]) -> Any:
    """Return what a dotted name of a module means there; None if it can't be read without running code."""
    value: Any = None
    for index, name in enumerate(path.split(".")):
        if index and not issubclass(type(value), ModuleType):
            return None
        space = (dictionary_of(value) or {}) if index else space
        value = space.get(name)
    return value
