"""Find the line of each table, key and element of a TOML document, which tomli does not return.

Only for documents that tomli has accepted: nothing is validated here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TypeAlias

import msgspec

from autochron._runtime.lazy import late

KeyPath: TypeAlias = tuple[str | int, ...]
"""The path from the document's root: `("boundary", 0, "when", "options.url")`."""

_BLANK = late(r"(?:[ \t\r\n]+|#[^\n]*)*")
_BARE = late(r"[A-Za-z0-9_-]+")
_STRING = late(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = late(r"[^,\]}#\n]+")


def find_lines(text: str) -> dict[KeyPath, int]:
    """Return the line of everything in a TOML document, from 1."""
    return _TextScan(text).document()


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """Return the line of a path, or of the innermost table around it; 1 if there is none."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


class _TextScan:
    """One pass over a document. Each method reads from `_position` on, and moves that behind what it has read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._starts = [match.end() for match in re.finditer("\n", text)]
        self._lines: dict[KeyPath, int] = {}
        self._counts: dict[KeyPath, int] = {}

    def document(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._blank():
            if self._next() == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _header(self) -> KeyPath:
        start = self._position
        array = self._text.startswith("[[", start)
        self._position += 2 if array else 1
        keys = self._key()
        self._position = self._text.index("]", self._position) + (2 if array else 1)
        path: KeyPath = ()
        for key in keys[:-1]:
            path = self._latest((*path, key))
        path = (*path, keys[-1])
        if array:
            self._note(path, start)
            self._counts[path] = self._counts.get(path, 0) + 1
        path = self._latest(path)
        self._note(path, start)
        return path

    def _latest(self, path: KeyPath) -> KeyPath:
        """Return the last element of an array of tables, or the path itself."""
        count = self._counts.get(path)
        return path if count is None else (*path, count - 1)

    def _pair(self, table: KeyPath) -> None:
        start = self._position
        path = table
        for key in self._key():
            path = (*path, key)
            self._note(path, start)
        self._position = self._text.index("=", self._position) + 1
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        self._blank()
        match self._next():
            case '"' | "'":
                self._skip(_STRING)
            case "[":
                self._elements(path)
            case "{":
                self._inline(path)
            case _:
                self._skip(_SCALAR)

    def _elements(self, path: KeyPath) -> None:
        self._position += 1
        index = 0
        while self._blank() and self._next() != "]":
            if self._next() == ",":
                self._position += 1
                continue
            self._note((*path, index), self._position)
            self._value((*path, index))
            index += 1
        self._position += 1

    def _inline(self, path: KeyPath) -> None:
        self._position += 1
        while self._blank() and self._next() != "}":
            if self._next() == ",":
                self._position += 1
            else:
                self._pair(path)
        self._position += 1

    def _key(self) -> list[str]:
        keys = []
        while True:
            self._blank()
            start = self._position
            if self._next() in {'"', "'"}:
                self._skip(_STRING)
                keys.append(_unquoted(self._text[start : self._position]))
            else:
                self._skip(_BARE)
                keys.append(self._text[start : self._position])
            self._blank()
            if self._next() != ".":
                return keys
            self._position += 1

    def _blank(self) -> bool:
        """Skip blanks, line ends and comments, and return whether anything is left."""
        self._skip(_BLANK)
        return self._position < len(self._text)

    def _next(self) -> str:
        return self._text[self._position : self._position + 1]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._position)
        if match is None or (match.end() == self._position and pattern is not _BLANK):
            raise ValueError(f"no TOML at offset {self._position}")
        self._position = match.end()

    def _note(self, path: KeyPath, position: int) -> None:
        self._lines.setdefault(path, bisect_right(self._starts, position) + 1)


def _unquoted(key: str) -> str:
    if key.startswith("'"):
        return key[1:-1]
    try:
        return msgspec.json.decode(key, type=str)
    except msgspec.DecodeError:
        # An escape that JSON does not have, such as \U0001F600.
        import tomli  # lazy: imported already if a document was parsed

        return next(iter(tomli.loads(f"{key} = 0")))
