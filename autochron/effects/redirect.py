"""Redirect calls that name a path to the scratch folder of a replay.

Stand-ins replace `open`, the functions of `os` that take a path, and `sqlite3.connect`. Each decides where the path is
read or written, and calls the original with that place. `pathlib`, `shutil`, `glob`, `tempfile`, `shelve`, SQLAlchemy
and aiosqlite all call these functions. The stand-ins are installed once, at the first replay that needs them, also
under the names by which other modules have imported the originals. They stay: without a scratch folder in force each
costs one test and one call.

Two ways past them remain: a C library that opens a file by itself, and a reference to an original that is no global of
a module. A replay's audit hook (`isolation`) refuses a change that gets past, if Python audits it.

Rejected: a mount namespace, which would redirect everything, but which many containers forbid and which a process with
threads can't enter. Changing the C functions in place, which is unsafe.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from autochron._runtime.unpatched import os, program_os
from autochron.effects import redirected_databases, redirected_files, redirected_folders, redirection
from autochron.effects.redirection import Redirection, locate

__all__ = ["Redirection", "locate", "prepare", "put_in_force"]

_CLASSES_OF = frozenset({"glob", "pathlib", "pathlib._abc", "pathlib._local", "tempfile"})
"""Modules whose classes hold functions of `os` as attributes."""

_installed = False


def put_in_force(scope: Redirection | None) -> None:
    """Set which scratch folder calls are redirected to; None ends the redirection.

    The first scope installs the stand-ins.
    """
    if scope is not None:
        _install()
    redirection.put_in_force(scope)


def prepare() -> None:
    """Install the stand-ins now, for the forks of this process."""
    _install()


_WRAPPERS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    **dict.fromkeys(
        ("stat", "lstat", "access", "readlink", "statvfs", "getxattr", "listxattr", "pathconf"),
        redirected_files.looking,
    ),
    **dict.fromkeys(
        ("chmod", "lchmod", "chown", "lchown", "utime", "truncate", "setxattr", "removexattr"),
        redirected_files.altering,
    ),
    **dict.fromkeys(("chflags", "lchflags"), redirected_files.altering),
    **dict.fromkeys(("mkdir", "mkfifo", "mknod"), redirected_files.making),
    **dict.fromkeys(("remove", "unlink", "rmdir"), redirected_files.removing),
    **dict.fromkeys(("rename", "replace"), redirected_files.moving),
    **dict.fromkeys(("link", "symlink"), redirected_files.linking),
    "open": redirected_files.opened_by_os,
    "listdir": redirected_folders.listing,
    "scandir": redirected_folders.scanning,
}
"""By name of a function of `os`: makes its stand-in from the original."""

_stand_ins: dict[int, tuple[Any, Callable[..., Any]]] = {}
"""By the id of an original: the original and its stand-in."""


def _install() -> None:
    """Replace the originals with their stand-ins in every module that holds them."""
    global _installed  # noqa: PLW0603 - the functions are replaced once in a process
    if _installed:
        return
    _installed = True
    _stand_in(builtins.open, redirected_files.opened)
    for name, wrapper in _WRAPPERS.items():
        original = getattr(program_os, name, None)
        if original is not None:
            stand_in = _stand_in(original, wrapper)
            for group in (
                os.supports_dir_fd,
                os.supports_fd,
                os.supports_follow_symlinks,
                os.supports_effective_ids,
            ):
                if original in group:
                    group.add(stand_in)
    for module in list(sys.modules.values()):
        _adopt(module)
    _redirect_databases()


def _redirect_databases() -> None:
    """Replace `sqlite3.connect` in every module that holds it, so also for programs that import `sqlite3` later."""
    import sqlite3  # lazy: few replays have a scratch copy

    if id(sqlite3.connect) in {id(stand_in) for _, stand_in in _stand_ins.values()}:
        return
    _stand_in(sqlite3.connect, redirected_databases.connecting)
    for module in list(sys.modules.values()):
        _adopt(module)


def _stand_in(original: Any, wrapper: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
    """Return the stand-in of a function; it is made once."""
    if id(original) not in _stand_ins:
        _stand_ins[id(original)] = (original, wrapper(original))
    return _stand_ins[id(original)][1]


_KEEPS = frozenset({"posix", "importlib._bootstrap_external", "zipimport"})
"""Modules that Python's import system uses. Imports are not redirected."""


def _adopt(module: Any) -> None:
    """Replace the originals among a module's globals, and in the classes of some modules."""
    name = getattr(module, "__name__", None)
    if not isinstance(module, ModuleType) or name in _KEEPS or str(name).startswith("autochron."):
        return
    for key, value in list(vars(module).items()):
        entry = _stand_ins.get(id(value))
        if entry is not None and entry[0] is value:
            setattr(module, key, entry[1])
        elif name in _CLASSES_OF and isinstance(value, type):
            for attribute, member in list(vars(value).items()):
                function = member.__func__ if isinstance(member, staticmethod) else None
                entry = None if function is None else _stand_ins.get(id(function))
                if entry is not None and entry[0] is function:
                    setattr(value, attribute, staticmethod(entry[1]))
