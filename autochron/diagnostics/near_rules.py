"""Find the rule that nearly matches a function, and the reason why it does not, for a report of an uncovered effect."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

from autochron.model import Define, Rules, Target
from autochron.rules.globs import dotted_glob, with_methods


def near_rule(rules: Rules, function: str) -> str:
    """Return the first rule that names the function's module or name, with the reason why it does not match.

    Args:
        rules: the rules in force.
        function: `module:qualified name`.

    Returns:
        `define "tools:*" (autochron.toml:7) does not fit tools:_send: a glob skips what is private`, or an empty text.
    """
    module, _, qualname = function.partition(":")
    for rule in rules.boundaries:
        selector = rule.selector
        reason = None
        if isinstance(selector, Define):
            reason = _define_reason(selector, module, qualname)
        elif isinstance(selector, Target):
            reason = _target_reason(str(selector).partition(":")[2], qualname)
        if reason is not None:
            return f'"{selector}" ({rule.place}) does not fit {function}: {reason}'
    return ""


def _define_reason(selector: Define, module: str, qualname: str) -> str | None:
    """Return why a `define` does not match a function; None if it is not near, or leaves no reason."""
    fits_module = dotted_glob(selector.modules).fits(module)
    if dotted_glob(selector.qualnames, careful=True).fits(qualname):
        if not fits_module:
            return None if not selector.qualnames.strip("*.") else f"it is defined in {module}"
        if any(dotted_glob(glob).fits(qualname) for glob in selector.exclude):
            return "`exclude` names it"
        if _is_lambda(module, qualname):
            return f"a glob skips lambdas; write `{qualname}` in its place"
        return "what ran is another object than the module's own: it was made by exec, copied or put in later"
    if not fits_module:
        return None
    return (
        _skipped_by_globs(qualname) or left_out(selector, qualname) or f"it is not named {selector.qualnames}"
    )


def left_out(selector: Define, qualname: str) -> str | None:
    """Return that a pattern leaves a method out, with the one that takes it; None if that is not why it doesn't fit."""
    pattern = with_methods(selector.qualnames)
    if pattern is None or not dotted_glob(pattern, careful=True).fits(qualname):
        return None
    return f"it leaves out methods; write `{selector.modules}:{pattern}`"


def _is_lambda(module: str, qualname: str) -> bool:
    """Return whether a name in a loaded module refers to a lambda."""
    value: Any = sys.modules.get(module) or sys.modules.get("__main__")
    for part in qualname.split("."):
        value = vars(value).get(part) if isinstance(value, ModuleType | type) else None
    return isinstance(value, FunctionType) and value.__name__ == "<lambda>"


def _target_reason(wanted: str, qualname: str) -> str | None:
    """Return why a `target` does not match a function; None if it is not near."""
    if wanted.rpartition(".")[2] == qualname.rpartition(".")[2] and wanted != qualname:
        return "it is another definition of that name; of derived classes it is `define` with a `+`: `Base+.name`"
    return None


def _skipped_by_globs(qualname: str) -> str | None:
    """Return why globs skip a qualified name; None if they do not."""
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
