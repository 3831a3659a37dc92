"""Cache the findings of sources by a digest of their content, so that an unchanged source is not scanned again."""

from __future__ import annotations

import hashlib
import sys

import msgspec
from msgspec import Struct

from autochron._runtime import unpatched
from autochron._runtime.own_folder import make_folder
from autochron._runtime.unpatched import os
from autochron.detect.scan.found_calls import ScannedCall

NAME = "check.msgpack"
_MOST = 20_000
"""The most sources that are kept."""


class _Content(Struct, frozen=True):
    """The content of the cache file."""

    version: str
    seen: dict[str, list[ScannedCall]]
    """The findings by digest. Those that were used last are at the end."""


class Cache:
    """The findings of sources by digest, in one file of a folder. Without a folder nothing is kept.

    A file that is broken, unreadable or of another version counts as empty.
    """

    def __init__(self, folder: str | None) -> None:
        self._path = os.path.join(folder, NAME) if folder is not None else None
        self._version = _version()
        self._cached = self._read()
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
        """Return the findings of a source; None if they are not in the cache."""
        calls = self._cached.get(key)
        if calls is not None:
            self._used[key] = calls
        return calls

    def put(self, key: str, calls: list[ScannedCall]) -> None:
        """Keep the findings of a source."""
        self._used[key] = calls
        self._is_new = True

    def write(self) -> None:
        """Write the file atomically if there is anything new. A failure is ignored: the next check scans more."""
        if self._path is None or not self._is_new:
            return
        entries = [
            *((key, calls) for key, calls in self._cached.items() if key not in self._used),
            *self._used.items(),
        ]
        data = msgspec.msgpack.encode(_Content(self._version, dict(entries[-_MOST:])))
        temporary = f"{self._path}.{unpatched.getpid()}"
        try:
            make_folder(os.path.dirname(self._path))
            with open(temporary, "wb") as file:
                file.write(data)
            os.replace(temporary, self._path)
        except OSError:
            try:
                os.unlink(temporary)
            except OSError:
                pass


def key_of(source: bytes, package: str, known: bytes = b"") -> str:
    """Return the key of a source.

    Args:
        source: the source.
        package: its package, because relative imports depend on it.
        known: the digest of the sources that the project's rules name.
    """
    digest = hashlib.sha256(source)
    digest.update(known)
    digest.update(b"\0" + package.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _version() -> str:
    """Return a digest of the scan and the catalogue, so that any change to their code empties the cache."""
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        for folder in (top, os.path.join(top, "scan"), os.path.join(top, "scan", "tables")):
            for name in sorted(os.listdir(folder)):
                if name.endswith((".py", ".toml")):
                    with open(os.path.join(folder, name), "rb") as file:
                        digest.update(file.read())
    except OSError:  # in an archive, whose path mostly has the version in it
        digest.update(top.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
