"""Names of temporary files and folders that are the same in each replay, except at a perturbed line.

They are made in a folder that each replay finds empty, so a name that another replay has left behind changes nothing.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.detect.catalogue import MAKING, Source

if TYPE_CHECKING:
    from autochron.impact.opened_files import SiteVariants

_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


class _DrawnNames:
    """Candidates for names, as `tempfile` draws them."""

    def __init__(self, seed: str) -> None:
        self._generator = random.Random(seed)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        return "".join(self._generator.choices(_CHARACTERS, k=8))


def is_named(source: Source) -> bool:
    """Return whether a source makes a file or a folder with a drawn name."""
    return source.call in MAKING and source.call.startswith("tempfile.")


def hold_names(folder: str) -> None:
    """Draw the same names from now on, for files in a folder that is emptied."""
    if os.path.lexists(folder):
        # Not removed: a program may have left what can't be. All goes at the end.
        os.rename(folder, f"{folder}-{unpatched.getpid()}")
    os.mkdir(folder)
    tempfile.tempdir = folder
    tempfile._name_sequence = _DrawnNames("")  # type: ignore[attr-defined]  # noqa: SLF001


class NamedAnew:
    """Makes the temporary files of one line. Each line draws its own names, other ones where it is perturbed."""

    __slots__ = ("_calls", "_key", "_owner")

    def __init__(self, owner: SiteVariants, key: str) -> None:
        self._owner = owner
        self._key = key
        self._calls = 0

    def __call__(self, original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        owner, key = self._owner, self._key
        owner.replaceable.add(key)
        variant = owner.variants.get(key)
        if variant is not None:
            owner.varied.add(key)
        self._calls += 1
        before = tempfile._name_sequence  # type: ignore[attr-defined]  # noqa: SLF001
        tempfile._name_sequence = _DrawnNames(f"{key} {self._calls} {variant}")  # type: ignore[attr-defined]  # noqa: SLF001
        try:
            return original(*args, **kwargs)
        finally:
            tempfile._name_sequence = before  # type: ignore[attr-defined]  # noqa: SLF001
