"""The audit events by which state is opened, changed or listed. Apart, for a recording asks for them as it starts."""

from __future__ import annotations

CHANGED_PATHS: dict[str, tuple[int, ...]] = {
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.link": (1,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.mkdir": (0,),
    "os.rmdir": (0,),
    "shutil.rmtree": (0,),
}
"""Events by which a file is changed that is not opened, and which of their arguments are paths."""

LISTS = frozenset({"os.listdir", "os.scandir"})

STATE_EVENTS = frozenset({"open", "sqlite3.connect", *CHANGED_PATHS, *LISTS})
