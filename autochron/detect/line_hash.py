"""Hashes of source lines, by which a site is found again after edits above it."""

from __future__ import annotations

import sys
from functools import lru_cache

from autochron._runtime.unpatched import os

# Not hashlib: it loads OpenSSL, 3 ms at the start of every run.
if sys.version_info >= (3, 12):
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]  # typeshed has no stub for it
else:
    from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]

_LENGTH = 12


def hash_of(line: str) -> str:
    """Return the first 12 hex digits of the SHA-256 of a line without the space around it."""
    found: str = sha256(line.strip().encode("utf-8", "surrogatepass")).hexdigest()
    return found[:_LENGTH]


def line_hash(path: str, line: int) -> str:
    """Return the hash of a line of a file; empty where there is no such line, or no source to read."""
    lines = source_lines(path)
    return hash_of(lines[line - 1]) if 0 < line <= len(lines) else ""


def find_line(path: str, line: int, hash: str) -> int | None:
    """Return the line nearest to `line` that has this hash, the earlier of two; None where none has."""
    found = [number for number, text in enumerate(source_lines(path), start=1) if hash_of(text) == hash]
    return min(found, key=lambda number: (abs(number - line), number), default=None)


def source_lines(path: str) -> tuple[str, ...]:
    """Return the lines of a source as Python counts them; none where it can't be read."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ()
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _read(path: str, _changed: int, _size: int) -> tuple[str, ...]:
    """Read a file once for each of its states."""
    import tokenize  # lazy: a recorded program needs it at its end only

    try:
        # Not str.splitlines: it breaks at form feeds and the like, where Python counts no line.
        with tokenize.open(path) as file:
            return tuple(file.read().split("\n"))
    except (OSError, SyntaxError, ValueError):
        return ()
