"""What the scan made of sources, kept by what is in them, so that a source which hasn't changed isn't read again."""

from __future__ import annotations

import hashlib
import sys

import msgspec
from msgspec import Struct

from autochron._runtime import unpatched
from autochron._runtime.own_folder import make_folder
from autochron._runtime.unpatched import os
from autochron.detect.scan.scan import ScannedCall

NAME = "check.msgpack"
_MOST = 20_000
"""Sources that are remembered."""


class _Content(Struct, frozen=True):
    """The file."""

    version: str
    seen: dict[str, list[ScannedCall]]
    """By digest, those that were asked for last at the end."""


class Cache:
    """The findings of sources by digest, in one file of a folder; without a folder nothing is kept.

    A file that can't be read, is broken or was written by another version is as good as none.
    """

    def __init__(self, folder: str | None) -> None:
        self._path = os.path.join(folder, NAME) if folder is not None else None
        self._version = _version()
        self._seen = self._read()
        self._used: dict[str, list[ScannedCall]] = {}
        self._is_new = False

    def _read(self) -> dict[str, list[ScannedCall]]:
        if self._path is None:
            return {}
        try:
            with open(self._path, "rb") as file:
                content = msgspec.msgpack.decode(file.read(), type=_Content)
        except (OSError, ValueError):  # msgspec's errors are ValueErrors
            return {}
        return content.seen if content.version == self._version else {}

    def get(self, key: str) -> list[ScannedCall] | None:
        """Return what was found in a source."""
        found = self._seen.get(key)
        if found is not None:
            self._used[key] = found
        return found

    def put(self, key: str, seen: list[ScannedCall]) -> None:
        """Keep what was found in a source."""
        self._used[key] = seen
        self._is_new = True

    def write(self) -> None:
        """Write what is new, all at once; where that fails, the next time has more to do."""
        if self._path is None or not self._is_new:
            return
        every = [
            *((key, seen) for key, seen in self._seen.items() if key not in self._used),
            *self._used.items(),
        ]
        data = msgspec.msgpack.encode(_Content(self._version, dict(every[-_MOST:])))
        beside = f"{self._path}.{unpatched.getpid()}"
        try:
            make_folder(os.path.dirname(self._path))
            with open(beside, "wb") as file:
                file.write(data)
            os.replace(beside, self._path)
        except OSError:
            try:
                os.unlink(beside)
            except OSError:
                pass


def key_of(source: bytes, package: str) -> str:
    """Return what a source's findings are kept by; relative imports mean something else in another package."""
    digest = hashlib.sha256(source)
    digest.update(b"\0" + package.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _version() -> str:
    """Distinguish one state of the scan and the catalogue from another, also where someone works on them."""
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        for folder in (top, os.path.join(top, "scan")):
            for name in sorted(os.listdir(folder)):
                if name.endswith(".py"):
                    with open(os.path.join(folder, name), "rb") as file:
                        digest.update(file.read())
    except OSError:  # in an archive, whose place has the version in it more often than not
        digest.update(top.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
