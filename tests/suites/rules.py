"""Write the rules that a suite is recorded by.

Mode `packs` has none of its own: the packs apply as they do for anyone. Mode `woven` names every definition of the library.
A `define` would not do: it leaves out what is private, a dunder or nested unless that is written out.
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
    """Return a rule file's text."""
    text = HEAD.format(root=json.dumps(str(source)))
    if mode == "woven":
        text += BOUNDARY.format(
            targets="\n".join(f"  {json.dumps(each)}," for each in targets(suite, source))
        )
    return text


def targets(suite: Suite, source: Path) -> list[str]:
    """Return every definition of the modules that are to be woven, as `module:qualified name`."""
    found = [
        f"{module}:{qualname}"
        for root in suite.roots
        for module, file in modules(source / root)
        if is_woven(suite, module)
        for qualname in qualnames(file)
    ]
    return list(dict.fromkeys(found))


def is_woven(suite: Suite, module: str) -> bool:
    """Return whether a suite's table has a module woven."""
    fits = [any(dotted_glob(glob).fits(module) for glob in globs) for globs in (suite.weave, suite.leave)]
    return fits == [True, False]


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield each module below a folder with its file."""
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
        except (SyntaxError, ValueError):  # a template, or for another Python
            return
    for qualname, _ in definitions(code):
        if all(part.isidentifier() for part in qualname.replace("<locals>", "locals").split(".")):
            yield qualname
