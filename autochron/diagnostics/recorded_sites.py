"""Find the definitions of recorded sites in the project's source as it is now."""

from __future__ import annotations

import ast
from typing import Any

from autochron._runtime.unpatched import os
from autochron.diagnostics.rule_survey import compiled
from autochron.matching.definitions import definitions
from autochron.model import Envelope, Place
from autochron.project import read_source


def place_of(root: str, site: str) -> str:
    """Say where the definition of a site stands today: `issue_refund, agent.py:51`."""
    file, _, label = parts_of(site)
    place = definition_of(root, site)
    if place is None:
        return label if file.endswith(".py") else f"{label} of the library {file.partition('.')[0]}"
    return f"{label}, {place}"


def parts_of(site: str) -> tuple[str, str, str]:
    """Return file or module, qualified name of the definition, and what to call it, of a recorded site."""
    file, _, rest = site.removeprefix("@").partition(":")
    qualname, arrow, pattern = rest.partition(" → ")
    return file, qualname, f"{pattern} in {qualname}" if arrow else qualname


def is_gone(root: str, site: str) -> bool:
    """Return whether a recorded site was a definition of the project's that its source no longer has."""
    file, _, label = parts_of(site)
    return file.endswith(".py") and " in " not in label and definition_of(root, site) is None


def misfit(root: str, envelope: Envelope) -> str | None:
    """Return why a function of the project no longer takes the recorded arguments; None if it does.

    Such a call fails before the function begins, and a library that makes it may pass the error on as an answer.
    """
    file, qualname, _ = parts_of(envelope.site)
    place = definition_of(root, envelope.site)
    source = None if place is None else read_source(os.path.join(root, file))
    if source is None or place is None:
        return None
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        first = min(node.lineno, *(each.lineno for each in node.decorator_list), node.lineno)
        if first == place.line and node.name == qualname.rpartition(".")[2]:
            return _misfit(node.args, envelope.arguments, is_method="." in qualname)
    return None


def _misfit(taken: ast.arguments, given: dict[str, Any], *, is_method: bool) -> str | None:
    """Return what keeps a function with these parameters from taking arguments by name."""
    positional = [each.arg for each in (*taken.posonlyargs, *taken.args)]
    required = positional[: len(positional) - len(taken.defaults)]
    required += [
        each.arg for each, default in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if default is None
    ]
    if is_method:
        required = required[1:]
    for name in required:
        if name not in given:
            return f"{name} has no default"
    known = {*positional, *(each.arg for each in taken.kwonlyargs)}
    known |= {each.arg for each in (taken.vararg, taken.kwarg) if each is not None}
    for name, value in given.items():
        # What stood for `*args` and `**kwargs` may have held nothing.
        if name not in known and taken.kwarg is None and value not in ([], {}):
            return f"it has no parameter {name}"
    return None


def definition_of(root: str, site: str) -> Place | None:
    """Find the definition of a recorded site in the project's source as it is now; a call's is what it stands in."""
    file, qualname, _ = parts_of(site)
    code = compiled(os.path.join(root, file)) if file.endswith(".py") else None
    if code is None:
        return None
    return next(
        (Place(file, each.co_firstlineno) for name, each in definitions(code) if name == qualname), None
    )
