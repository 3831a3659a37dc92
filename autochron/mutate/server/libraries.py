"""Which modules belong to libraries, so that a mutant does not change them."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Collection

from autochron._runtime.unpatched import os

_FOLDERS = tuple(
    sorted(
        {
            os.path.realpath(sysconfig.get_path(name)) + os.sep
            for name in ("stdlib", "platstdlib", "purelib", "platlib")
        }
    )
)


def is_in_library(path: str) -> bool:
    """Return whether a file belongs to a library."""
    return os.path.realpath(path).startswith(_FOLDERS)


def is_library(name: str, changed: Collection[str] = ()) -> bool:
    """Return whether a module belongs to a library that has no file which is changed.

    Args:
        name: the dotted name of the module.
        changed: the real paths of the files that mutants change.
    """
    top = name.partition(".")[0]
    module = sys.modules.get(top)
    file = getattr(module, "__file__", None) if module is not None else _origin_of(top)
    if file is None:
        return module is not None or top in sys.builtin_module_names
    is_of_library = is_in_library(file)
    file = os.path.realpath(file)
    folder = os.path.dirname(file)
    is_package = os.path.basename(file).startswith("__init__.")
    if file in changed or (is_package and any(path.startswith(folder + os.sep) for path in changed)):
        return False
    return is_of_library


def _origin_of(name: str) -> str | None:
    from importlib.util import find_spec  # lazy: used before the forks only

    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    return None if spec is None else spec.origin
