"""Import the libraries of a program before its replays are forked, so that none of them has to."""

from __future__ import annotations

import ast
import gc
import importlib.util
import warnings
from collections.abc import Callable, Sequence

from autochron._runtime.unpatched import os
from autochron.project import read_source


def imports_of(path: str | None, owns: Callable[[str], bool]) -> list[str]:
    """Return the third-party modules that a program's file imports at its top level.

    They are imported before the first fork, so that the first replay does not have to.
    """
    source = None if path is None else read_source(path)
    try:
        body = [] if source is None else quiet_parse(source).body
    except (SyntaxError, ValueError, RecursionError):  # the replay reports it
        return []
    names = [alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
    names += [
        node.module for node in body if isinstance(node, ast.ImportFrom) and node.module and not node.level
    ]
    folder = os.path.dirname(os.path.realpath(path or ""))
    return [name for name in dict.fromkeys(names) if _is_third_party(name.partition(".")[0], folder, owns)]


def _is_third_party(package: str, folder: str, owns: Callable[[str], bool]) -> bool:
    """Return whether a package is not the project's, and not shadowed by a file or folder beside the program."""
    if any(os.path.exists(os.path.join(folder, name)) for name in (package, f"{package}.py")):
        return False
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return False
    places = () if spec is None else (spec.origin or "", *(spec.submodule_search_locations or ()))
    return spec is not None and not any(owns(place) for place in places)


def preload(modules: Sequence[str]) -> None:
    """Import modules that the program imports, so that each fork finds them loaded."""
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException:  # noqa: S112 - the program can import it its own way in each replay
            continue
    # So that the collector of a fork skips these objects: to traverse them would copy their memory pages.
    gc.freeze()


def quiet_parse(source: bytes) -> ast.Module:
    """Parse a source of which Python has warned before.

    Raises:
        SyntaxError, ValueError, RecursionError: it can't be parsed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)
