"""Name and remove scratch folders.

The name of a folder contains the id of the process that made it, so that the folders of a killed process can be found.
"""

from __future__ import annotations

from functools import lru_cache

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.effects.undisturbed import undisturbed


def new_folder() -> str:
    """Return the path of a new scratch folder of this process. The folder is not created."""
    return f"{_name_of(unpatched.getpid())}{unpatched.urandom(8).hex()}"


def discard_of(process: int) -> None:
    """Remove the scratch folders of a process that was killed."""
    parent, prefix = os.path.split(_name_of(process))
    with undisturbed():
        for name in os.listdir(parent):
            if name.startswith(prefix):
                remove_folder(os.path.join(parent, name))


def remove_folder(path: str) -> None:
    """Remove a folder with everything below it; errors are ignored."""
    import shutil  # lazy: 4 ms that most replays save

    shutil.rmtree(path, ignore_errors=True)


def _name_of(process: int) -> str:
    """Return the common prefix of the paths of a process's scratch folders."""
    return f"{_resolved(unpatched.temporary_folder())}/autochron-scratch-{process}-"


@lru_cache(maxsize=8)
def _resolved(folder: str) -> str:
    """Return the path of the folder for temporary files with links resolved; cached, because each replay needs it."""
    return os.path.realpath(folder).rstrip("/")
