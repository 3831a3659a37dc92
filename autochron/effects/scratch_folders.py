"""Where scratch folders are, and how they are removed.

Each is named by the process that made it, so that those of a process that was killed are found.
"""

from __future__ import annotations

from functools import lru_cache

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.undisturbed import undisturbed


def new_folder() -> str:
    """Return the path of a new scratch folder of this process, which is not made yet."""
    return f"{_name_of(unpatched.getpid())}{unpatched.urandom(8).hex()}"


def discard_of(process: int) -> None:
    """Remove the scratch folders of a process that was killed."""
    place, name = os.path.split(_name_of(process))
    with undisturbed():
        for each in os.listdir(place):
            if each.startswith(name):
                remove_folder(os.path.join(place, each))


def remove_folder(path: str) -> None:
    """Remove a folder with all that lies below it."""
    import shutil  # lazy: 4 ms that most replays save

    shutil.rmtree(path, ignore_errors=True)


def _name_of(process: int) -> str:
    """Return how the paths of a process's scratch folders begin."""
    return f"{_resolved(unpatched.temporary_folder())}/autochron-scratch-{process}-"


@lru_cache(maxsize=8)
def _resolved(folder: str) -> str:
    """Return the path of the folder for temporary files without links: looked up once, for each replay needs it."""
    return os.path.realpath(folder).rstrip("/")
