"""Set-up that all trials share: it is done once, before the first fork."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from autochron._runtime.unpatched import os
from autochron.redaction.redactor import Redactor

if TYPE_CHECKING:
    from autochron.mutate.protocol import ServerTask
    from autochron.pytest_plugin.sessions import ReplayedTest


def modules_imported_by(work: Callable[[], object], before: set[str]) -> dict[str, str]:
    """Do some work, and return the modules that it has imported.

    Args:
        work: is called once.
        before: the names of the modules that were loaded already.

    Returns:
        By name, the file of each module; empty where it has none.
    """
    work()
    return {name: file_of(name) for name in list(sys.modules) if name not in before}


def file_of(module: str) -> str:
    """Return the file of a loaded module; empty where it has none, or is not loaded."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return file if isinstance(file, str) else ""


def preload(modules: Iterable[str], folder: str) -> None:
    """Import modules, so that a fork finds them loaded.

    Left out are the modules of the incident's own folder, which a mutant may change. An import that fails is ignored.

    Args:
        modules: the names of the modules that a trial has imported.
        folder: the incident's folder.
    """
    home = os.path.realpath(folder) + os.sep
    for name in modules:
        top = sys.modules.get(name.partition(".")[0])
        file = getattr(top, "__file__", None)
        if file and os.path.realpath(file).startswith(home):
            continue
        with suppress(BaseException):  # the trial has imported it in another way, and will again
            importlib.import_module(name)


def prepare_masking(test: ReplayedTest) -> None:
    """Load and compile what masks inputs.

    A trial masks its model inputs, because they differ from the recorded ones.
    """
    record, _ = test.handle.planned()
    redactor = Redactor()
    for envelope in record:
        redactor.mask(envelope.input)


def pytest_arguments(task: ServerTask) -> list[str]:
    """Return the command line for pytest."""
    return ["-q", "-s", "--no-header", "-p", "no:cacheprovider", "-W", "ignore", *task.paths]
