"""What every trial would have to do is done once, before there are any."""

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


def imported(work: Callable[[], object], before: set[str]) -> dict[str, str]:
    """Do some work; gives the modules that it has imported, with their files."""
    work()
    return {name: file_of(name) for name in list(sys.modules) if name not in before}


def file_of(module: str) -> str:
    """Return the file of a module that is loaded; empty where it has none."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return file if isinstance(file, str) else ""


def preload(modules: Iterable[str], folder: str) -> None:
    """Import what a trial has imported, for each to find it; not what is the incident's own, or has no file."""
    home = os.path.realpath(folder) + os.sep
    for name in modules:
        top = sys.modules.get(name.partition(".")[0])
        file = getattr(top, "__file__", None)
        if file and os.path.realpath(file).startswith(home):
            continue
        with suppress(BaseException):  # the trial has imported it in another way, and does so again
            importlib.import_module(name)


def warm(play: ReplayedTest) -> None:
    """Have read and compiled what masks inputs: each trial gives its model something else than was recorded."""
    record, _ = play.handle.planned()
    redactor = Redactor()
    for each in record:
        redactor.mask(each.input)


def words_of(asked: ServerTask) -> list[str]:
    """Return what pytest is told."""
    return ["-q", "-s", "--no-header", "-p", "no:cacheprovider", "-W", "ignore", *asked.paths]
