"""Which rule nearly fits a function, and why it does not: for a report that names what escaped."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

from autochron.model import Define, Rules, Target
from autochron.rules.globs import dotted_glob


def near_rule(rules: Rules, function: str) -> str:
    """Return the first rule of the project that names the function's module or name, with what keeps it from fitting.

    Args:
        rules: the rules in force.
        function: `module:qualified name`.

    Returns:
        `define "tools:*" (autochron.toml:7) does not fit tools:_send: a glob skips what is private`, or an empty text.
    """
    module, _, qualname = function.partition(":")
    for rule in rules.boundaries:
        selector = rule.selector
        why = None
        if isinstance(selector, Define):
            why = _against_define(selector, module, qualname)
        elif isinstance(selector, Target):
            why = _against_name(str(selector).partition(":")[2], qualname)
        if why is not None:
            return f'"{selector}" ({rule.place}) does not fit {function}: {why}'
    return ""


def _against_define(selector: Define, module: str, qualname: str) -> str | None:
    fits_module = dotted_glob(selector.modules).fits(module)
    if dotted_glob(selector.qualnames, careful=True).fits(qualname):
        if not fits_module:
            return None if not selector.qualnames.strip("*.") else f"it is defined in {module}"
        if any(dotted_glob(each).fits(qualname) for each in selector.exclude):
            return "`exclude` names it"
        if _is_lambda(module, qualname):
            return f"a glob skips lambdas; write `{qualname}` in its place"
        return "what ran is another object than the module's own: it was made by exec, copied or put in later"
    if not fits_module:
        return None
    return _shape(qualname) or f"it is not named {selector.qualnames}"


def _is_lambda(module: str, qualname: str) -> bool:
    """Return whether a name of a module that is loaded stands for a lambda."""
    found: Any = sys.modules.get(module) or sys.modules.get("__main__")
    for part in qualname.split("."):
        found = vars(found).get(part) if isinstance(found, ModuleType | type) else None
    return isinstance(found, FunctionType) and found.__name__ == "<lambda>"


def _against_name(wanted: str, qualname: str) -> str | None:
    if wanted.rpartition(".")[2] == qualname.rpartition(".")[2] and wanted != qualname:
        return "it is another definition of that name; of derived classes it is `define` with a `+`: `Base+.name`"
    return None


def _shape(qualname: str) -> str | None:
    """Say what a glob skips."""
    parts = qualname.split(".")
    name = parts[-1]
    if "<lambda>" in parts:
        return "a rule names a lambda by what it is assigned to; give it a name by `def`"
    if qualname == "<module>":
        return "it is a module's own code; put it in a function"
    if "<locals>" in parts:
        return f"a glob skips what is nested in a function; write `{qualname}` in its place"
    if name.startswith("<"):
        return f"it runs in a {name.strip('<>')}"
    if name.startswith("__") and name.endswith("__"):
        return f"a glob skips dunders; write `{qualname}` in its place"
    if any(part.startswith("_") for part in parts):
        return f"a glob skips what is private; write `{qualname}` in its place"
    return None
