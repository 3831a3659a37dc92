"""Calls that name a path, redirected to the scratch folder of a replay.

In the place of `open`, of the functions of `os` that take a path, and of `sqlite3.connect` stand functions that look where a
path is to be read or written. `pathlib`, `shutil`, `glob`, `tempfile`, `shelve`, SQLAlchemy and aiosqlite come by these. They
are put in place once, at the first replay that needs them, also where a module has imported one of them by name, and stay:
without a scratch folder in force each costs a test and a call.

Not seen is a library of C that opens a file by itself, and a reference to one of these functions that no module holds under
a name of its own. A change that gets past is refused by the audit hook of a replay (`isolation`), where Python audits it.

Rejected: a mount namespace, which redirects everything, but which many containers forbid and a process with threads can't
enter; changing the C functions in place, which is unsafe.
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

__all__ = ["Redirection", "locate", "put_in_force"]

_CLASSES_OF = frozenset({"glob", "pathlib", "pathlib._abc", "pathlib._local", "tempfile"})
"""Modules whose classes hold functions of `os` under names of their own."""

_installed = False


def put_in_force(what: Redirection | None) -> None:
    """Redirect calls to a scratch folder from now on, or no longer.

    The functions are put in place with the first one.
    """
    if what is not None:
        _install()
    redirection.put_in_force(what)


_WAYS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
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

_stand_ins: dict[int, tuple[Any, Callable[..., Any]]] = {}
"""By the id of an original: it, and what stands in its place."""


def _install() -> None:
    """Put what redirects in the place of what it stands for, in each module that holds it."""
    global _installed  # noqa: PLW0603 - as above
    if _installed:
        return
    _installed = True
    _stand_in(builtins.open, redirected_files.opened)
    for name, way in _WAYS.items():
        original = getattr(program_os, name, None)
        if original is not None:
            made = _stand_in(original, way)
            for group in (
                os.supports_dir_fd,
                os.supports_fd,
                os.supports_follow_symlinks,
                os.supports_effective_ids,
            ):
                if original in group:
                    group.add(made)
    for module in list(sys.modules.values()):
        _adopt(module)
    _redirect_databases()


def _redirect_databases() -> None:
    """Redirect `sqlite3.connect`, also where the program imports that module later."""
    import sqlite3  # lazy: few replays have a scratch copy

    if id(sqlite3.connect) in {id(made) for _, made in _stand_ins.values()}:
        return
    _stand_in(sqlite3.connect, redirected_databases.connecting)
    for module in list(sys.modules.values()):
        _adopt(module)


def _stand_in(original: Any, way: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
    if id(original) not in _stand_ins:
        _stand_ins[id(original)] = (original, way(original))
    return _stand_ins[id(original)][1]


_KEEPS = frozenset({"posix", "importlib._bootstrap_external", "zipimport"})
"""Modules by which Python itself imports, which need no scratch folder."""


def _adopt(module: Any) -> None:
    """Put what redirects where a module holds an original under a name of its own."""
    name = getattr(module, "__name__", None)
    if not isinstance(module, ModuleType) or name in _KEEPS or str(name).startswith("autochron."):
        return
    for key, value in list(vars(module).items()):
        known = _stand_ins.get(id(value))
        if known is not None and known[0] is value:
            setattr(module, key, known[1])
        elif name in _CLASSES_OF and isinstance(value, type):
            for attribute, held in list(vars(value).items()):
                inner = held.__func__ if isinstance(held, staticmethod) else None
                known = None if inner is None else _stand_ins.get(id(inner))
                if known is not None and known[0] is inner:
                    setattr(value, attribute, staticmethod(known[1]))
