"""Write the rules with which a suite is recorded.

Mode `packs` has no rules of its own: the packs apply as for any user. Mode `woven` names every definition of the library,
because `define` leaves out private, dunder and nested functions unless they are written out.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

from autochron.matching.definitions import definitions
from autochron.rules.globs import dotted_glob
from tests.suites.table import Suite

HEAD = """\
version = 1
root = {root}
project = ["."]
"""
BOUNDARY = """
[[boundary]]
name = "{{__qualname__}}"
kind = "tool"
target = [
{targets}
]
"""


def rules_of(suite: Suite, mode: str, source: Path) -> str:
    """Return the text of a suite's rule file."""
    text = HEAD.format(root=json.dumps(str(source)))
    if mode == "woven":
        text += BOUNDARY.format(
            targets="\n".join(f"  {json.dumps(target)}," for target in targets(suite, source))
        )
    return text


def targets(suite: Suite, source: Path) -> list[str]:
    """Return every definition of the modules to weave, as `module:qualified name`."""
    names = [
        f"{module}:{qualname}"
        for root in suite.roots
        for module, file in modules(source / root)
        if is_woven(suite, module)
        for qualname in qualnames(file)
    ]
    return list(dict.fromkeys(names))


def is_woven(suite: Suite, module: str) -> bool:
    """Return whether a suite's table selects a module for weaving."""
    fits = [any(dotted_glob(glob).fits(module) for glob in globs) for globs in (suite.weave, suite.leave)]
    return fits == [True, False]


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and file of each module below a folder."""
    for file in sorted(root.rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and all(part.isidentifier() for part in parts):
            yield ".".join(parts), file


def qualnames(file: Path) -> Iterator[str]:
    """Yield the qualified name of each function that a file defines, as this Python names it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            code = compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):  # a template, or code for another Python version
            return
    for qualname, _ in definitions(code):
        if all(part.isidentifier() for part in qualname.replace("<locals>", "locals").split(".")):
            yield qualname
