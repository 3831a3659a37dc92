"""Open files with other content for the lines that are perturbed."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

from autochron._runtime import unpatched
from autochron._runtime.unpatched import os
from autochron.detect.watch.patches import only_writes
from autochron.impact.alternative_files import other_bytes, with_words
from autochron.impact.varied_call import LEAST

_INVENTED = (b"{}\n", b"1\n", b"", b"other\n")
"""Contents of a file that is not there."""
_MOST = 4_000_000
"""The largest file, in bytes, of which another content is made."""


class SiteVariants(Protocol):
    """What tells which sites are perturbed: `tape.Perturbing`."""

    variants: Any
    words: Any
    replaceable: set[str]
    varied: set[str]


class OpenedFile:
    """Opens the files of one line, with other content where the line is perturbed."""

    __slots__ = ("_folder", "_key", "_owner")

    def __init__(self, owner: SiteVariants, key: str, folder: str) -> None:
        """Take what is perturbed, the site's key, and the folder in which files with other content are written."""
        self._owner = owner
        self._key = key
        self._folder = folder

    def __call__(self, original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        owner, key = self._owner, self._key
        owner.replaceable.add(key)
        variant = owner.variants.get(key)
        try:
            opened = original(*args, **kwargs)
        except FileNotFoundError:
            if variant is None:
                raise
            invented = self._invented(original, args, kwargs, variant)
            if invented is None:
                raise
            owner.varied.add(key)
            return invented
        if variant is None:
            return opened
        changed = self._changed(opened, variant, kwargs.get("newline", args[5] if len(args) > 5 else None))
        if changed is None:
            return opened
        owner.varied.add(key)
        return changed

    def _invented(
        self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], variant: int
    ) -> Any:
        """Return a file where there is none, as another run may find one; None where none can be made."""
        try:
            path = self._written(_INVENTED[variant % len(_INVENTED)])
        except OSError:
            return None
        try:
            owner = getattr(original, "__self__", None)
            if owner is not None and not isinstance(owner, ModuleType):
                return open(path, *args, **kwargs)  # `Path.open`, whose path is no argument
            if args:
                return original(path, *args[1:], **kwargs)
            return original(**{**kwargs, "file": path})
        finally:
            os.unlink(path)

    def _written(self, content: bytes) -> str:
        """Write a file, and return its path."""
        path = os.path.join(self._folder, f"content-{unpatched.getpid()}-{next(_NUMBERS)}")
        with io.FileIO(path, "w") as file:
            file.write(content)
        return path

    def _changed(self, opened: Any, variant: int, newline: str | None) -> Any:
        """Return the same kind of file with other content; None where it can't be read from its beginning to its end."""
        raw = opened.buffer if isinstance(opened, io.TextIOWrapper) else opened
        if not isinstance(raw, io.BufferedReader | io.BufferedRandom) or not raw.seekable():
            return None
        try:
            content = raw.read(_MOST + 1)
            raw.seek(0)
            if len(content) > _MOST:
                return None
            words = self._owner.words.get(self._key, ())
            is_worded = variant == LEAST and words
            path = self._written(with_words(content, words) if is_worded else other_bytes(content, variant))
        except Exception:  # the program must not see an error of ours
            return None
        file: Any = io.FileIO(path)
        os.unlink(path)
        file.name = opened.name
        changed: Any = io.BufferedReader(file)
        if isinstance(opened, io.TextIOWrapper):
            mode = opened.mode
            changed = io.TextIOWrapper(changed, opened.encoding, opened.errors, newline)
            changed.mode = mode
        opened.close()
        return changed


_NUMBERS = itertools.count()


def reads(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether the arguments of `open` open a file by its name to read it."""
    path = args[0] if args else kwargs.get("file")
    mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
    return not isinstance(path, int) and not only_writes(mode) and isinstance(mode, str) and "+" not in mode
