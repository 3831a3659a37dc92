"""The audit events by which state is opened, changed or listed, and the modules that pass such calls on.

Apart from the rest, for a recording asks for them as it starts.
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
"""Events by which a file is changed that is not opened: which of their arguments are paths, and which the folders that
these start from, as descriptors."""

FOLLOWS_LINKS = frozenset(
    {"os.chmod", "os.chown", "os.removexattr", "os.setxattr", "os.truncate", "os.utime"}
)
"""Those of them that change what a symbolic link leads to, and not the link."""

LISTS = frozenset({"os.listdir", "os.scandir"})

STATE_EVENTS = frozenset({"open", "sqlite3.connect", *CHANGED_PATHS, *LISTS})

TEMPORARY_EVENTS = frozenset({"tempfile.mkstemp", "tempfile.mkdtemp"})
"""Events that tell of a temporary file or folder, whose name is drawn by chance: it is nobody's."""

SIGNAL_EVENTS = frozenset({"os.kill", "os.killpg"})

STAND_INS = frozenset(
    {
        "autochron._runtime.audit",
        "autochron.effects.redirected_databases",
        "autochron.effects.redirected_files",
        "autochron.effects.redirected_folders",
    }
)
"""Our modules whose functions stand between a program and the function that it calls."""


def path_of_descriptor(descriptor: int) -> str | None:
    """Return the path of the file or folder that a descriptor is open on; None where it has none, or where nobody tells."""
    with undisturbed():
        try:
            path = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:  # closed, or no Linux
            return None
        return path if path.startswith("/") and os.path.lexists(path) else None
