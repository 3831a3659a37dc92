"""Name the audit events that open, change or list files, and our modules that stand in for functions that raise them.

These names are in a module of their own, because each recording needs them at its start and hardly anything else of
this package.
"""

from __future__ import annotations

from autochron._runtime.unpatched import os
from autochron.effects.undisturbed import undisturbed

CHANGED_PATHS: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.remove": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.mkdir": ((0, 2),),
    "os.rmdir": ((0, 1),),
    "shutil.rmtree": ((0, 1),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    "os.setxattr": ((0, None),),
    "os.removexattr": ((0, None),),
}
"""Events that change a file without opening it.

Each has pairs of indexes into the event's arguments: of a path, and of the descriptor of the folder that a relative
path starts from (None if there is no such argument).
"""

FOLLOWS_LINKS = frozenset(
    {"os.chmod", "os.chown", "os.removexattr", "os.setxattr", "os.truncate", "os.utime"}
)
"""Events of `CHANGED_PATHS` that change the target of a symbolic link and not the link."""

LISTS = frozenset({"os.listdir", "os.scandir"})
"""Events that list a folder."""

STATE_EVENTS = frozenset({"open", "sqlite3.connect", *CHANGED_PATHS, *LISTS})

TEMPORARY_EVENTS = frozenset({"tempfile.mkstemp", "tempfile.mkdtemp"})
"""Events of a new temporary file or folder. Its name is random, so it is no part of the program's state."""

SIGNAL_EVENTS = frozenset({"os.kill", "os.killpg"})

STAND_INS = frozenset(
    {
        "autochron._runtime.audit",
        "autochron.effects.redirected_databases",
        "autochron.effects.redirected_files",
        "autochron.effects.redirected_folders",
        "autochron.isolation.sqlite",
    }
)
"""Our modules whose functions replace functions that a program calls, and then call the original."""


def path_of_descriptor(descriptor: int) -> str | None:
    """Return the path that a descriptor is open on; None if it has none, or if the system has no `/proc`."""
    with undisturbed():
        try:
            path = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:  # closed, or no Linux
            return None
        return path if path.startswith("/") and os.path.lexists(path) else None
