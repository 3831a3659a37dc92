"""Find the definitions of recorded sites in the project's present source."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from autochron.diagnostics.rule_survey import compiled
from autochron.diagnostics.tool_definitions import ToolDefinition, find_definitions
from autochron.inputs import RECEIVERS
from autochron.matching.definitions import definitions
from autochron.model import Envelope, Place
from autochron.project import Project, path_of, read_source


def place_of(root: str, envelope: Envelope, code: Callable[[str], str] = str) -> str:
    """Return a text that says where the code of a crossing is in the project now, such as `issue_refund, agent.py:51`.

    A crossing in a library is no place for a fix. So of a tool that a library calls, these are the project's definitions of
    that name.

    Args:
        root: the folder of the project.
        envelope: the crossing.
        code: formats names and places as code, such as in Markdown.
    """
    file, _, label = parts_of(envelope.site)
    if not file.endswith(".py"):
        tools = tools_of(root, envelope)
        found = " or ".join(f"{code(tool.qualname)}, {code(f'{tool.file}:{tool.line}')}" for tool in tools)
        library = code(file.partition(".")[0])
        return (
            found or f"the project's code around {code(envelope.name)} (it crosses in the library {library})"
        )
    place = definition_of(root, envelope.site)
    return code(label) if place is None else f"{code(label)}, {code(str(place))}"


def tools_of(root: str, envelope: Envelope) -> tuple[ToolDefinition, ...]:
    """Return the project's definitions that a tool which crossed in a library may be; none for other crossings."""
    if envelope.kind != "tool" or envelope.site.partition(":")[0].endswith(".py"):
        return ()
    return find_definitions(Project((root,), root), {envelope.name: None})[envelope.name]


def parts_of(site: str) -> tuple[str, str, str]:
    """Split a recorded site.

    Returns:
        The file, or the module for a library; the qualified name of the definition; and the label: for a bound call its
        pattern and the definition it is in, else the qualified name.
    """
    file, _, rest = site.removeprefix("@").partition(":")
    qualname, arrow, pattern = rest.partition(" → ")
    return file, qualname, f"{pattern} in {qualname}" if arrow else qualname


def is_gone(root: str, site: str) -> bool:
    """Return whether a recorded site was a definition in the project that the source no longer has."""
    file, _, label = parts_of(site)
    return file.endswith(".py") and " in " not in label and definition_of(root, site) is None


def misfit(root: str, envelope: Envelope) -> str | None:
    """Return why a function of the project no longer takes the recorded arguments; None if it does.

    The call of such a function fails before its body begins, and a library that makes the call may return the error as
    an answer to the model.

    Args:
        root: the folder of the project.
        envelope: a recorded crossing of the function.
    """
    file, qualname, _ = parts_of(envelope.site)
    place = definition_of(root, envelope.site)
    source = None if place is None else read_source(path_of(root, file))
    if source is None or place is None:
        return None
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        first = min(node.lineno, *(decorator.lineno for decorator in node.decorator_list), node.lineno)
        if first == place.line and node.name == qualname.rpartition(".")[2]:
            return _misfit(node, qualname, envelope.arguments)
    return None


def _misfit(
    node: ast.FunctionDef | ast.AsyncFunctionDef, qualname: str, arguments: dict[str, Any]
) -> str | None:
    """Return why a function does not take arguments by name; None if it does."""
    parameters = node.args
    positional = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    required = positional[: len(positional) - len(parameters.defaults)]
    required += [
        parameter.arg
        for parameter, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
        if default is None
    ]
    receiver = _receiver(node, qualname)
    for name in required:
        if name not in arguments and name != receiver:
            return f"{name} has no default"
    names = {*positional, *(parameter.arg for parameter in parameters.kwonlyargs)}
    names |= {rest.arg for rest in (parameters.vararg, parameters.kwarg) if rest is not None}
    for name, value in arguments.items():
        # Recorded `*args` and `**kwargs` may have been empty.
        if name not in names and parameters.kwarg is None and value not in ([], {}):
            return f"it has no parameter {name}"
    return None


def _receiver(node: ast.FunctionDef | ast.AsyncFunctionDef, qualname: str) -> str | None:
    """Return the name of the parameter that a call by name need not pass; None if there is none.

    That is the first parameter of a method, which Python passes. A static method and a function in a function have none. But
    a recording leaves out a first parameter that is called like a receiver, so nothing is known of it.
    """
    first = next((parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)), None)
    owner = qualname.rpartition(".")[0]
    decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    is_passed = owner != "" and not owner.endswith("<locals>") and "staticmethod" not in decorators
    is_left_out = owner != "" and first in RECEIVERS
    return first if is_passed or is_left_out else None


def definition_of(root: str, site: str) -> Place | None:
    """Find the definition of a recorded site in the project's present source; for a bound call, the one around it."""
    file, qualname, _ = parts_of(site)
    code = compiled(path_of(root, file)) if file.endswith(".py") else None
    if code is None:
        return None
    return next(
        (Place(file, inner.co_firstlineno) for name, inner in definitions(code) if name == qualname), None
    )
