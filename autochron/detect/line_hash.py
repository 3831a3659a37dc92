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
    """Return the hash of a line: the first 12 hex digits of the SHA-256, without the white space around the line."""
    digest: str = sha256(line.strip().encode("utf-8", "surrogatepass")).hexdigest()
    return digest[:_LENGTH]


def line_hash(path: str, line: int) -> str:
    """Return the hash of a line of a file; an empty text if there is no such line, or the file can't be read."""
    lines = source_lines(path)
    return hash_of(lines[line - 1]) if 0 < line <= len(lines) else ""


def find_line(path: str, line: int, hash: str) -> int | None:
    """Find the line with this hash that is nearest to `line`.

    Returns:
        Its number, the earlier of two that are equally near; None if no line has the hash.
    """
    matches = [number for number, text in enumerate(source_lines(path), start=1) if hash_of(text) == hash]
    return min(matches, key=lambda number: (abs(number - line), number), default=None)


def source_lines(path: str) -> tuple[str, ...]:
    """Return the lines of a source file as Python counts them; no lines if it can't be read."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ()
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=256)
def _read(path: str, _changed: int, _size: int) -> tuple[str, ...]:
    """Return the lines of a file. The cache reads it again only if its time or size has changed."""
    import tokenize  # lazy: a recorded program needs it only at its end

    try:
        # Not str.splitlines: it also splits at form feeds and the like, which Python does not count as line breaks.
        with tokenize.open(path) as file:
            return tuple(file.read().split("\n"))
    except (OSError, SyntaxError, ValueError):
        return ()
