"""Read a TOML table with checks. Each refusal names the file, the line and the nearest valid spelling."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar

from msgspec import Struct

from autochron.errors import RuleError
from autochron.model import Place
from autochron.rules.lines import KeyPath, find_lines, line_of
from autochron.rules.nearest import hint

T = TypeVar("T")

_TYPE_NAMES = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "a table",
}


Form: TypeAlias = Literal[
    "text", "texts", "text or texts", "flag", "integer", "conditions", "table", "tables", "flag or tables"
]
"""The form of a key's value; `conditions` is that of `when`."""


class TableKey(Struct, frozen=True):
    """What a table of a rule file may have under one key.

    The loader refuses keys that no such value declares, and the schema for editors is made of them.
    """

    form: Form
    about: str
    options: tuple[str, ...] = ()
    """The values that a text may have, or each text of an array; empty for any."""
    table: str = ""
    """The name of the tables that it holds, for the forms with tables."""
    is_required: bool = False


class RuleText:
    """The text of one rule file."""

    def __init__(self, file: str, text: str, tables: dict[KeyPath, int] | None = None) -> None:
        self.file = file
        self._text = text
        self._tables = tables or {}
        self._lines: dict[KeyPath, int] | None = None

    def place(self, path: KeyPath) -> Place:
        """Return the place of a table, key or element; only for those that are not in `tables` is the text scanned."""
        if path in self._tables:
            return Place(self.file, self._tables[path])
        if self._lines is None:
            self._lines = find_lines(self._text)
        return Place(self.file, line_of(self._lines, path))

    def refuse(self, path: KeyPath, message: str) -> NoReturn:
        """Raise RuleError with the place of a path."""
        raise RuleError(f"{self.place(path)}: {message}")


class Table:
    """One table of a rule file. Each reading method returns a checked value, or refuses it with a RuleError."""

    def __init__(self, source: RuleText, path: KeyPath, values: Mapping[str, Any], title: str) -> None:
        self.source = source
        self.path = path
        self.values = values
        self.title = title
        """The table's name in messages: `[[boundary]]`."""

    def __contains__(self, key: str) -> bool:
        return key in self.values

    @property
    def place(self) -> Place:
        return self.source.place(self.path)

    def refuse(self, key: str | None, message: str) -> NoReturn:
        """Raise RuleError for a key, or for the table itself."""
        self.source.refuse(self.path if key is None else (*self.path, key), message)

    def check_keys(self, allowed: Mapping[str, TableKey]) -> None:
        """Refuse a key that is not allowed."""
        for key in self.values:
            if key not in allowed:
                self.refuse(key, f"{self.title} has no key `{key}`{hint(allowed, key)}")

    def text(self, key: str, default: str | None = None) -> str | None:
        """Read a string."""
        return self._typed(key, str) if key in self.values else default

    def required(self, key: str, remedy: str) -> str:
        """Read a string that must be there and not empty; `remedy` ends the message if it isn't."""
        if key not in self.values:
            self.refuse(None, f"{self.title} has no `{key}`; {remedy}")
        text = self._typed(key, str)
        if not text.strip():
            self.refuse(key, f"`{key}` is empty; {remedy}")
        return text

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Read a boolean."""
        return self._typed(key, bool) if key in self.values else default

    def texts(self, key: str, *, single: bool = False) -> tuple[str, ...]:
        """Read an array of strings; `single` also allows one string."""
        value = self.values.get(key, [])
        if single and isinstance(value, str):
            value = [value]
        if not isinstance(value, list):
            wanted = "a string or an array of strings" if single else "an array of strings"
            self.refuse(key, f"`{key}` must be {wanted}, and is {type_name(value)}")
        for index, item in enumerate(value):
            if not isinstance(item, str):
                self.source.refuse(
                    (*self.path, key, index), f"`{key}` must hold strings only, and holds {type_name(item)}"
                )
        return tuple(value)

    def choice(self, key: str, options: Sequence[str], value: str) -> str:
        """Return a value of a key if it is one of the options."""
        if value not in options:
            self.refuse(key, f"`{key}` is `{value}`{hint(options, value)}")
        return value

    def table(self, key: str, title: str) -> Table:
        """Read a table; an empty one if there is none."""
        return Table(
            self.source, (*self.path, key), self._typed(key, dict) if key in self.values else {}, title
        )

    def tables(self, key: str, title: str) -> list[Table]:
        """Read an array of tables."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.refuse(
                key, f"`{key}` must be an array of tables, written {title}, and is {type_name(value)}"
            )
        return [Table(self.source, (*self.path, key, index), item, title) for index, item in enumerate(value)]

    def parsed(self, key: str, text: str, parse: Callable[[str], T]) -> T:
        """Return the parsed value of a key; `parse` raises ValueError with a predicate such as "is empty"."""
        try:
            return parse(text)
        except ValueError as error:
            self.refuse(key, f"`{key}` `{text}` {error}")

    def _typed(self, key: str, wanted: type[T]) -> T:
        value = self.values[key]
        if type(value) is not wanted:
            self.refuse(key, f"`{key}` must be {_TYPE_NAMES[wanted]}, and is {type_name(value)}")
        return value


def type_name(value: Any) -> str:
    """Return the name of a value's TOML type, with an article."""
    return _TYPE_NAMES.get(type(value), "a date or time")


def parse_toml(
    shown: str, text: str, tables: dict[KeyPath, int] | None = None
) -> tuple[RuleText, dict[str, Any]]:
    """Parse a TOML document.

    Args:
        shown: the file's name in messages.
        text: the document.
        tables: lines that are known already, by path.

    Raises:
        RuleError: the document is not valid TOML.
    """
    import tomli  # lazy: 2 to 8 ms that a run without rules and packs saves

    try:
        values = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        hint = _quotes_missing(text, error.lineno, error.colno) if error.msg == "Invalid value" else ""
        raise RuleError(f"{shown}:{error.lineno}: {error.msg} at column {error.colno}{hint}") from error
    return RuleText(shown, text, tables), values


def _quotes_missing(text: str, line: int, column: int) -> str:
    """Return the end of a message for a value that looks like text without quotes; empty for another one."""
    begin = text.split("\n")[line - 1][column - 1 :]
    word = re.match(r"[A-Za-z_./~*$<][^\s,\]}#\"']*", begin)
    return "" if word is None else f'; text needs quotes: "{word[0]}"'
